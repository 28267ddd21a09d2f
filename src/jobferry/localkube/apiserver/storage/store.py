"""The store: a log of revisions with compare-and-swap, ranges and watches.

All of it belongs to one event loop. Nothing but `put`, `delete`, `wait_for`, `settled`, `snapshot`,
opening and closing ever waits.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal, NamedTuple

from jobferry import log
from jobferry.clock import Clock, Timer
from jobferry.localkube.apiserver.storage.accepted import BLOCK, Accepted
from jobferry.localkube.apiserver.storage.entry import Change, Entry, Range, resource_of
from jobferry.localkube.apiserver.storage.errors import Closed, CommitFailed, Conflict
from jobferry.localkube.apiserver.storage.journal import (
    NOTHING,
    Contents,
    Journal,
    Memory,
    Record,
)
from jobferry.localkube.apiserver.storage.state import Row, State, Window
from jobferry.localkube.apiserver.storage.watch import Watch, Watchers

Encode = Callable[[int], bytes]
"""Makes the value of a write, given the revision that it will have."""

Durability = Literal["full", "normal"]
"""What a crash of the whole machine may cost; a crash of the process costs nothing.

    full    nothing that was acknowledged
    normal  the newest writes; after any crash watchers have to list anew
"""

WINDOW = Window()
BUFFER = 10_000
"""How many changes may wait for a watcher before it is cut off."""

_log = log.get(__name__)


class Stats(NamedTuple):
    """How large the store's queues are."""

    writing: int
    """Writes that are not durable yet."""

    watchers: int
    changes: int
    """How many changes history has."""

    size: int
    """How many bytes their values have."""


class Storage:
    """A revisioned map of keys to bytes; made by `open_storage`.

    A key has at least four parts, `/registry/batch/jobs/…`; the first three name its collection. Readers
    and watchers see durable writes only; a new write is compared with accepted ones.
    """

    def __init__(self, journal: Journal, *, clock: Clock, window: Window, buffer: int) -> None:
        self._journal = journal
        self._clock = clock
        self._window = window
        self._buffer = buffer
        self._state = State(window)
        self._accepted = Accepted(self._state, self._state.revision, 0)
        self._watchers = Watchers()
        self._outbox: list[Change] = []
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []
        self._timer: Timer | None = None
        self._reserving = False
        self._is_open = False
        self._has_ended = False
        self._is_failing = False

    @property
    def revision(self) -> int:
        """The newest durable revision: what readers see now."""
        return self._state.revision

    @property
    def floor(self) -> int:
        """The oldest revision that `range` can look back at and `watch` can begin after."""
        return self._state.floor

    def get(self, key: str) -> Entry | None:
        """Return the durable state of a key."""
        return self._state.get(key)

    def accepted(self, key: str) -> Entry | None:
        """Return the newest state of a key, durable or not: what a change of it is to build on."""
        return self._accepted.get(key)

    def accepted_below(self, prefix: str) -> list[Entry]:
        """Return the newest state of all keys below `prefix`, durable or not, in their order."""
        return self._accepted.range(prefix)

    def range(
        self, prefix: str, *, start: str = "", limit: int = 0, at: int | None = None
    ) -> Range:
        """Return what is below `prefix` (which ends in `/`) from the key `start` on.

        `at` asks for the state at a revision: `Compacted` if it is too old, `Future` if it is to come.
        """
        if not prefix.endswith("/"):
            raise ValueError(f"a prefix ends in a slash: {prefix!r}")
        return self._state.range(prefix, start=start, limit=limit, at=at)

    def counts(self) -> dict[str, int]:
        """Count the entries of each collection."""
        return self._state.counts()

    def stats(self) -> Stats:
        """Tell the sizes of what grows."""
        return Stats(
            writing=len(self._accepted),
            watchers=len(self._watchers),
            changes=self._state.changes,
            size=self._state.size,
        )

    async def put(self, key: str, encode: Encode, *, expected: int | None) -> Entry:
        """Write a key that is at the revision `expected` (0: absent; None: whatever it is).

        The comparison is made, the revision given and the value encoded before this waits for the first
        time. If the caller is cancelled after that, the write still happens. Raises `Conflict` or
        `CommitFailed`.
        """
        previous = self._accepted.expect(key, expected)
        return await self._write(key, encode, previous, deleted=False)

    async def delete(self, key: str, encode: Encode, *, expected: int | None) -> Entry:
        """Delete a key that is at the revision `expected`; as `put`.

        What is encoded is the last state that watchers are shown.
        """
        previous = self._accepted.expect(key, expected)
        if previous is None:
            raise Conflict(key, expected, previous)
        return await self._write(key, encode, previous, deleted=True)

    def watch(
        self, prefix: str, *, after: int, notify: Callable[[], None] | None = None
    ) -> Watch:
        """Watch what happens below `prefix` (or, without a slash at its end, to that very key).

        It begins with what happened after the revision `after`; raises `Compacted` if that is not kept
        any more. `notify` is called on the event loop when `take` has something again, or raises, and
        before the writer hears of it. If `notify` raises, that is logged and ends the watch.
        """
        self._check_open()
        backlog = self._state.since(prefix, after)
        watch = Watch(
            prefix,
            after=after,
            backlog=backlog,
            limit=self._buffer,
            notify=notify,
            leave=self._watchers.remove,
        )
        self._watchers.add(watch)
        return watch

    async def wait_for(self, revision: int) -> None:
        """Wait until readers see `revision`."""
        if revision <= self.revision:
            return
        self._check_open()
        reached = asyncio.get_running_loop().create_future()
        waiter = revision, reached
        self._waiting.append(waiter)
        try:
            await reached
        finally:
            if waiter in self._waiting:
                self._waiting.remove(waiter)

    @property
    def is_settled(self) -> bool:
        """Whether no write is under way."""
        return not self._accepted

    async def settled(self) -> None:
        """Wait until all that is accepted by now is durable; `CommitFailed` if it was lost."""
        if self._accepted:
            done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._accepted.wait_for_all(done)
            await done

    async def snapshot(self) -> Contents:
        """Return all that a store in memory needs to go on from here, once no write is under way."""
        while not self.is_settled:
            await self.settled()
        now, wall = self._clock.monotonic(), self._now()
        records = [
            Record(entry, deleted, wall - round((now - when) * 1000))
            for entry, deleted, when in self._state.rows(now)
        ]
        return Contents(records, self.revision, self.floor, self._accepted.last)

    def compact(self, through: int = 0) -> None:
        """Forget history that the window has no room for, and all through a revision.

        This happens by itself after writes and as time passes.
        """
        stale = self._state.compact(self._clock.monotonic(), through)
        if stale:
            self._journal.forget(stale)
        self._set_timer()

    async def start(self) -> None:
        """Take in what the journal holds."""
        contents = await self._journal.open(self)
        try:
            self._restore(contents)
        except BaseException:
            await self._journal.close(contents.revision)
            raise
        self._accepted = Accepted(self._state, contents.revision, contents.ceiling)
        self._is_open = True
        self.compact()

    async def close(self) -> None:
        """Finish the writes under way, then end; watchers and waiters get `Closed`."""
        self._is_open = False
        self._send()
        try:
            await self._journal.close(self._accepted.last)
        finally:
            self._end()

    def committed(self, changes: Sequence[Change]) -> None:
        """Hear from the journal that these are durable: show them, then let their writers go on."""
        if self._has_ended:
            return
        now = self._clock.monotonic()
        for change in changes:
            self._state.apply(change, now)
        try:
            self.compact()
            self._watchers.tell(changes)
        finally:
            self._accepted.settle(changes)
        if self._waiting:
            self._wake_waiting()
        if self._accepted.is_low:
            self._reserve()
        if self._is_failing:
            self._is_failing = False
            _log.info("Writes succeed again")

    def failed(self, error: Exception) -> None:
        """Hear from the journal that whatever is under way is lost."""
        self._note_failure(error)
        self._outbox.clear()
        self._accepted.fail(lambda: _commit_failed(error))
        self._journal.resume()

    def reserved(self, ceiling: int | Exception) -> None:
        """Hear from the journal which revisions are free."""
        self._reserving = False
        if isinstance(ceiling, Exception):
            self._note_failure(ceiling)
        else:
            self._accepted.ceiling = ceiling

    def _end(self) -> None:
        self._has_ended = True
        self._accepted.fail(lambda: CommitFailed("the store was closed"))
        closed = Closed("the store was closed")
        self._watchers.close(closed)
        for _, reached in self._waiting:
            if not reached.done():
                reached.set_exception(closed)
        if self._timer is not None:
            self._timer.cancel()

    def _note_failure(self, error: Exception) -> None:
        """Say it once, not for each of a thousand writes."""
        if not self._is_failing:
            self._is_failing = True
            _log.warning("Writes fail", error=error, hint=CommitFailed.hint)

    async def _write(
        self, key: str, encode: Encode, previous: Entry | None, *, deleted: bool
    ) -> Entry:
        self._check_open()
        resource_of(key)  # raises before a revision is spent
        if self._accepted.last >= self._accepted.ceiling:
            self._reserve()
        revision = self._accepted.next()
        created = previous.created if previous is not None else revision
        entry = Entry(key, encode(revision), revision, created)
        change = Change(entry, previous, deleted)
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()
        self._accepted.add(change, done)
        if not self._outbox:
            # Whatever else is written in this turn of the loop goes with it.
            loop.call_soon(self._send)
        self._outbox.append(change)
        await done
        return entry

    def _send(self) -> None:
        if self._outbox:
            changes, self._outbox = self._outbox, []
            self._journal.append(changes, self._now())

    def _reserve(self) -> None:
        if not self._reserving:
            self._reserving = True
            self._journal.reserve(self._accepted.last + BLOCK)

    def _wake_waiting(self) -> None:
        for revision, reached in self._waiting:
            if revision <= self.revision and not reached.done():
                reached.set_result(None)

    def _restore(self, contents: Contents) -> None:
        """Make the records visible; their times are on the wall clock, history's are not."""
        now, wall = self._clock.monotonic(), self._now()
        rows = (
            Row(entry, deleted, now - max(0, wall - written) / 1000)
            for entry, deleted, written in contents.records
        )
        stale = self._state.restore(rows, revision=contents.revision, floor=contents.floor)
        self._journal.forget(stale)

    def _set_timer(self) -> None:
        """See to it that history goes even if nothing is written; not for each change by itself."""
        expiry = self._state.expiry()
        if self._timer is None and expiry is not None and self._is_open:
            delay = max(expiry - self._clock.monotonic(), self._window.age / 10)
            self._timer = self._clock.call_later(delay, self._expire)

    def _expire(self) -> None:
        self._timer = None
        self.compact()

    def _now(self) -> int:
        return int(self._clock.now().timestamp() * 1000)

    def _check_open(self) -> None:
        if not self._is_open:
            raise Closed("the store is closed")


def _commit_failed(error: Exception) -> CommitFailed:
    failure = CommitFailed(f"the write was not stored: {error}")
    failure.__cause__ = error
    return failure


@asynccontextmanager
async def open_storage(
    path: Path | None,
    *,
    clock: Clock,
    durability: Durability = "full",
    window: Window = WINDOW,
    buffer: int = BUFFER,
    vfs: str = "",
    inline: bool = False,
    contents: Contents = NOTHING,
) -> AsyncIterator[Storage]:
    """Open the database at `path`, made if it is not there, during the block; None: memory only.

    A store in memory begins with `contents`, the snapshot of another. Raises `Unusable` if the file
    cannot serve. `vfs` names how SQLite reaches the disk, if not as usual; with `inline` no thread does it.
    """
    if path is None:
        journal: Journal = Memory(contents)
    elif contents is not NOTHING:
        raise ValueError("only a store in memory can begin with a snapshot")
    else:
        journal = _sqlite(path, durability, vfs, inline=inline)
    storage = Storage(journal, clock=clock, window=window, buffer=buffer)
    await storage.start()
    try:
        yield storage
    finally:
        await storage.close()


def _sqlite(path: Path, durability: Durability, vfs: str, *, inline: bool) -> Journal:
    from jobferry.localkube.apiserver.storage import database, writer  # noqa: PLC0415 (SQLite)

    def open_database() -> database.Database:
        return database.open_database(path, durability, vfs)

    return writer.Writer(open_database, inline=inline)
