"""The SQLite file: the log of changes and where its numbers stand. Used by one thread only.

Nothing but INSERT and DELETE of whole rows by their revision: SQLite is used as a log that tidies itself.
The connection keeps the file locked for as long as it is open.
"""

import functools
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal

import apsw
import orjson

from jobferry.localkube.apiserver.storage.accepted import BLOCK
from jobferry.localkube.apiserver.storage.entry import Entry
from jobferry.localkube.apiserver.storage.errors import CommitFailed, InUse, Unusable
from jobferry.localkube.apiserver.storage.journal import Contents, Record
from jobferry.localkube.apiserver.storage.state import BEGINNING

APPLICATION = 0x4A46_4C4B
"""Marks our files ("JFLK"), so that nobody else's is ever written to."""

SCHEMA = 2
"""2: custom objects have keys of their own (`/custom/...`)."""

_CREATE = """
BEGIN IMMEDIATE;
CREATE TABLE log (
    revision INTEGER PRIMARY KEY,
    key TEXT NOT NULL,
    created INTEGER NOT NULL,
    deleted INTEGER NOT NULL,
    written INTEGER NOT NULL,  -- milliseconds since 1970
    value BLOB NOT NULL
) STRICT;
CREATE TABLE state (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    ceiling INTEGER NOT NULL,  -- no revision above it was ever given out
    floor INTEGER NOT NULL,    -- where history begins
    lossy INTEGER NOT NULL     -- whether commits are acknowledged before they are on the disk
) STRICT;
INSERT INTO state VALUES (1, ?, ?, 0);
PRAGMA application_id = %d;
PRAGMA user_version = %d;
COMMIT;
"""

PAGE = 16 << 10
"""Objects are a few KB: with smaller pages each would take pages of its own (measured: 1.4 x the CPU)."""

_CHECKPOINT_PAGES = (8 << 20) // PAGE
_LARGEST_WAL = 64 << 20
"""What a burst of writes may leave on the disk beside the database."""


class Database:
    """An open file. Every method but `load` is one transaction: `CommitFailed` means it left no trace."""

    def __init__(self, connection: apsw.Connection, *, path: Path, lossy: bool) -> None:
        self._connection = connection
        self._path = path
        self._lossy = lossy
        self._floor = BEGINNING

    def load(self) -> Contents:
        """Read the whole log, and reserve revisions to go on with if the disk allows it."""
        with _explained(self._path):
            revision = self._load_state()
            records = self._load_records()
        ceiling = revision
        with suppress(CommitFailed):  # one can still read; a later attempt may succeed
            self.reserve(revision + BLOCK)
            ceiling += BLOCK
        return Contents(records, revision, self._floor, ceiling)

    def _load_state(self) -> int:
        row = self._connection.execute("SELECT ceiling, floor, lossy FROM state").get
        revision: int
        revision, self._floor, was_lossy = row
        if was_lossy:
            # It was not closed properly, and acknowledged writes may be missing. Nobody can tell which,
            # so whoever has seen them must not go on as if nothing had happened.
            self._floor = revision
        return revision

    def _load_records(self) -> list[Record]:
        rows = self._connection.execute(
            "SELECT revision, key, created, deleted, written, value FROM log ORDER BY revision"
        )
        return [
            Record(Entry(key, value, revision, created), bool(deleted), written)
            for revision, key, created, deleted, written, value in rows
        ]

    def commit(self, records: Sequence[Record]) -> None:
        """Add to the log, as one statement: Python's lock is let go and taken once, not for each row."""
        values: list[Any] = []
        for entry, deleted, written in records:
            values += (entry.revision, entry.key, entry.created, int(deleted), written)
            values.append(entry.value)
        with self._transaction():
            self._connection.execute(_insert(len(records)), values)

    def reserve(self, ceiling: int) -> None:
        """Make durable that revisions up to `ceiling` may have been given out."""
        with self._transaction():
            self._connection.execute(
                "UPDATE state SET ceiling = ?, floor = ?, lossy = ?",
                (ceiling, self._floor, int(self._lossy)),
            )

    def forget(self, revisions: Iterable[int], floor: int) -> None:
        """Remove rows; history begins at `floor` thereby."""
        floor = max(floor, self._floor)
        with self._transaction():
            self._connection.execute(
                "BEGIN IMMEDIATE;"
                "DELETE FROM log WHERE revision IN (SELECT value FROM json_each(?));"
                "UPDATE state SET floor = ?;"
                "COMMIT",
                (orjson.dumps(list(revisions)).decode(), floor),
            )
        self._floor = floor

    def close(self, last: int | None) -> None:
        """End; if `last` is given, leave that as the highest revision that was given out."""
        if last is not None:
            self._lossy = False
            with suppress(CommitFailed):  # then it is as after a crash, which loses nothing
                self.reserve(last)
        with suppress(apsw.Error):
            self._connection.close()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        try:
            # SQLite mostly does so by itself when something fails; else what failed would be stored
            # with what comes next.
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            yield
        except apsw.Error as error:
            raise CommitFailed(_said(error)) from error


@functools.cache
def _insert(rows: int) -> str:
    return "INSERT INTO log VALUES " + ",".join(["(?,?,?,?,?,?)"] * rows)  # noqa: S608 (no input)


def open_database(path: Path, durability: Literal["full", "normal"], vfs: str = "") -> Database:
    """Open the file, made if it is not there; raise `Unusable` if it cannot serve."""
    _make_private(path)
    with _explained(path):
        connection = apsw.Connection(os.fspath(path), vfs=vfs or None)
    try:
        with _explained(path):
            _prepare(connection, path, durability)
    except BaseException:
        connection.close()
        raise
    return Database(connection, path=path, lossy=durability == "normal")


def _make_private(path: Path) -> None:
    """Make an empty file that only its owner can read: there are secrets in it."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        pass
    except OSError as error:
        raise Unusable(f"cannot make the database {path}: {error.strerror}") from error


def _prepare(connection: apsw.Connection, path: Path, durability: str) -> None:
    """Lock the file, make sure that it is ours, and set it up."""
    connection.pragma("locking_mode", "exclusive")
    is_new = _is_new(connection, path)
    connection.pragma("page_size", PAGE)  # of a new file
    connection.pragma("journal_mode", "wal")
    connection.pragma("synchronous", durability)
    connection.pragma("fullfsync", 1)  # where fsync alone does not reach the disk (macOS)
    connection.pragma("wal_autocheckpoint", _CHECKPOINT_PAGES)
    connection.pragma("journal_size_limit", _LARGEST_WAL)
    # Whoever is first to begin has the file.
    if is_new:
        connection.execute(_CREATE % (APPLICATION, SCHEMA), (BEGINNING, BEGINNING))
    else:
        connection.execute("BEGIN IMMEDIATE; COMMIT")


def _is_new(connection: apsw.Connection, path: Path) -> bool:
    """Tell an empty file from one of ours; raise if it is neither."""
    application = connection.pragma("application_id")
    version = connection.pragma("user_version")
    tables = connection.execute("SELECT count(*) FROM sqlite_schema").get
    if application == version == tables == 0:
        return True
    if application != APPLICATION:
        raise Unusable(f"{path} is a database of another program", hint="Give another path.")
    if version > SCHEMA:
        raise Unusable(
            f"{path} was written by a newer version of Jobferry (its format is {version})",
            hint="Use that version, or give another path.",
        )
    if version < SCHEMA:
        raise Unusable(
            f"{path} was written by an older version of Jobferry (its format is {version})",
            hint="Remove it, or give another path: it is not converted.",
        )
    return False


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Say in plain words why a file cannot be opened."""
    try:
        yield
    except (apsw.BusyError, apsw.LockedError) as error:
        raise InUse(
            f"the database {path} is in use",
            hint="Stop the other process that has it open, or give another path.",
        ) from error
    except apsw.NotADBError as error:
        raise Unusable(f"{path} is not a database", hint="Give another path.") from error
    except apsw.CorruptError as error:
        raise Unusable(
            f"the database {path} is damaged: {_said(error)}",
            hint="Restore it from a backup, or give another path to begin anew.",
        ) from error
    except apsw.Error as error:
        raise Unusable(f"cannot open the database {path}: {_said(error)}") from error


def _said(error: apsw.Error) -> str:
    """Return SQLite's words without the name of the class."""
    return str(error).partition(": ")[2] or str(error)
