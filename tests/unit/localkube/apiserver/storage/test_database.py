import asyncio
import os
import shutil
import stat
import sys
from asyncio.subprocess import PIPE
from pathlib import Path

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobferry.localkube.apiserver.storage.accepted import BLOCK
from jobferry.localkube.apiserver.storage.database import (
    APPLICATION,
    PAGE,
    SCHEMA,
    open_database,
)
from jobferry.localkube.apiserver.storage.entry import Entry
from jobferry.localkube.apiserver.storage.errors import Compacted, InUse, Unusable
from jobferry.localkube.apiserver.storage.journal import Record
from jobferry.localkube.apiserver.storage.state import Window
from jobferry.localkube.apiserver.storage.store import Storage, open_storage
from jobferry.localkube.apiserver.storage.writer import PIECE
from jobferry.testing.clock import ManualClock
from tests.unit.localkube.apiserver.storage.faulty_disk import FaultyDisk
from tests.unit.localkube.apiserver.storage.storage_steps import (
    CLOCK,
    JOBS,
    delete,
    keys,
    put,
    shown,
    storage_at,
    turn,
)

A = JOBS + "ns/a"
B = JOBS + "ns/b"
C = JOBS + "ns/c"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "objects.db"


def crashed(path: Path, to: Path) -> Path:
    """Copy the files of an open database: what a crash at this moment would leave."""
    for end in ("", "-wal"):
        if (file := Path(f"{path}{end}")).exists():
            shutil.copy(file, f"{to}{end}")
    return to


def rows(path: Path) -> list[int]:
    """Return the revisions in a closed database."""
    connection = apsw.Connection(os.fspath(path))
    found = [row[0] for row in connection.execute("SELECT revision FROM log ORDER BY 1")]
    connection.close()
    return found


async def test_everything_is_there_after_a_restart(path: Path) -> None:
    async with storage_at(path) as storage:
        await put(storage, A)
        await put(storage, B)
        await put(storage, A)
        await delete(storage, B)
        before = storage.range(JOBS)

    async with storage_at(path) as storage:
        assert storage.revision == before.revision == 5
        after = storage.range(JOBS)
        assert [(e.key, e.value, e.revision, e.created) for e in after.entries] == [
            (A, b'{"revision":4}', 4, 2)
        ]
        assert (await put(storage, B, 0)).revision == 6


async def test_a_watcher_resumes_across_a_restart_and_loses_nothing(path: Path) -> None:
    async with storage_at(path) as storage:
        for step in (put, put, delete, put):
            await step(storage, A)

    async with storage_at(path) as storage:
        changes = storage.watch(JOBS, after=2).take()

        assert shown(changes) == [(3, A, False), (4, A, True), (5, A, False)]
        befores = [each.previous and each.previous.revision for each in changes]
        assert befores == [2, 3, None]
        assert [entry.revision for entry in storage.range(JOBS, at=3).entries] == [3]


async def test_nothing_acknowledged_is_lost_in_a_crash_and_no_revision_is_used_again(
    path: Path, tmp_path: Path
) -> None:
    async with storage_at(path) as storage:
        await put(storage, A)
        copy = crashed(path, tmp_path / "copy.db")
        await put(storage, A)  # what this wrote, the copy knows nothing of

    async with storage_at(copy) as storage:
        assert keys(storage.range(JOBS).entries) == [A]
        assert storage.revision == 1 + BLOCK, "whatever may have been given out lies below"
        assert shown(storage.watch(JOBS, after=1).take()) == [(2, A, False)]
        assert (await put(storage, A)).revision == 2 + BLOCK


async def test_nobody_goes_on_as_if_nothing_had_happened_where_writes_may_be_lost(
    path: Path, tmp_path: Path
) -> None:
    async with open_storage(path, clock=CLOCK, durability="normal") as storage:
        await put(storage, A)
        await put(storage, A)
        copy = crashed(path, tmp_path / "copy.db")

    for _ in range(2):
        async with storage_at(copy) as storage:
            with pytest.raises(Compacted):
                storage.watch(JOBS, after=3)
            assert [entry.revision for entry in storage.range(JOBS).entries] == [3]
    async with storage_at(path) as storage:
        assert shown(storage.watch(JOBS, after=2).take()) == [(3, A, False)], "closed properly"


@settings(max_examples=20)
@given(share=st.floats(0, 1))
def test_a_log_that_is_torn_anywhere_opens_with_what_was_whole(
    tmp_path_factory: pytest.TempPathFactory, share: float
) -> None:
    folder = tmp_path_factory.mktemp("torn")

    async def tear() -> Path:
        async with storage_at(folder / "objects.db") as storage:
            for _ in range(8):
                await put(storage, A)
            return crashed(folder / "objects.db", folder / "copy.db")

    async def look(copy: Path) -> None:
        async with storage_at(copy) as storage:
            changes = storage.watch(JOBS, after=1).take()
            assert [each.revision for each in changes] == list(range(2, 2 + len(changes)))
            assert all(each.revision < 10 for each in changes)
            last = storage.get(A)
            assert last is (changes[-1].entry if changes else None)
            await put(storage, A)

    copy = asyncio.run(tear())
    wal = Path(f"{copy}-wal")
    os.truncate(wal, int(wal.stat().st_size * share))
    asyncio.run(look(copy))


async def test_history_that_grew_old_meanwhile_is_not_there_after_a_restart(path: Path) -> None:
    clock = ManualClock()
    window = Window(age=60)
    async with storage_at(path, clock=clock, window=window) as storage:
        await put(storage, A)
        clock.advance(40)
        await put(storage, A)
    later = ManualClock(clock.now())
    later.advance(30)

    async with storage_at(path, clock=later, window=window) as storage:
        assert storage.floor == 2
        await later.pass_time(36)
        assert storage.floor == 3


async def test_compaction_leaves_what_is_current_and_what_is_in_the_window(path: Path) -> None:
    async with storage_at(path, window=Window(changes=10)) as storage:
        await put(storage, B)
        writes = [write(storage, A) for _ in range(PIECE) for write in (put, delete)]
        await asyncio.gather(*writes)
        for _ in range(3):  # after each of these at least one piece is removed
            await put(storage, C)
        assert storage.floor == storage.revision - 10

    left = rows(path)
    assert left[0] == 2, "nobody changed it since"
    assert left[-10:] == list(range(storage.revision - 9, storage.revision + 1))
    assert len(left) < 1 + 10 + PIECE

    async with storage_at(path, window=Window(changes=10)) as storage:
        assert keys(storage.range(JOBS).entries) == [B, C]
        assert storage.floor >= storage.revision - 10
        assert len(storage.watch(JOBS, after=storage.floor).take()) == 10


async def test_the_file_is_for_its_owner_only(path: Path) -> None:
    async with storage_at(path) as storage:
        await put(storage, A)
        for file in (path, Path(f"{path}-wal")):
            assert stat.S_IMODE(file.stat().st_mode) == 0o600


async def test_a_database_is_opened_only_once_in_a_process(path: Path) -> None:
    async with storage_at(path):
        with pytest.raises(InUse, match="in use"):
            async with storage_at(path):
                pass


async def test_a_database_that_another_process_has_open_is_refused(path: Path) -> None:
    program = """
import sys, apsw
from pathlib import Path
from jobferry.localkube.apiserver.storage.database import open_database
database = open_database(Path(sys.argv[1]), "full")
print("open", flush=True)
sys.stdin.read()
"""
    other = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, path, stdin=PIPE, stdout=PIPE
    )
    try:
        assert other.stdout is not None
        assert await other.stdout.readline() == b"open\n"
        with pytest.raises(InUse) as caught:
            async with storage_at(path):
                pass
        assert caught.value.hint is not None
    finally:
        other.kill()
        await other.wait()
    async with storage_at(path) as storage:
        await put(storage, A)


def refused(path: Path, why: str) -> None:
    """Try to open a file in vain."""

    async def attempt() -> None:
        with pytest.raises(Unusable, match=why):
            async with storage_at(path):
                pass

    asyncio.run(attempt())


def test_a_file_that_is_no_database_is_refused_and_left_alone(path: Path) -> None:
    content = b"Dear diary, today I was nearly overwritten. " * 100
    path.write_bytes(content)

    refused(path, "is not a database")

    assert path.read_bytes() == content


def test_a_database_of_another_program_is_refused_and_left_alone(path: Path) -> None:
    connection = apsw.Connection(os.fspath(path))
    connection.execute("CREATE TABLE log (line TEXT)")
    connection.close()
    content = path.read_bytes()

    refused(path, "another program")

    assert path.read_bytes() == content
    assert sorted(path.parent.iterdir()) == [path]


def test_a_database_of_a_newer_version_is_refused(path: Path) -> None:
    connection = apsw.Connection(os.fspath(path))
    connection.pragma("application_id", APPLICATION)
    connection.pragma("user_version", SCHEMA + 1)
    connection.close()

    refused(path, "newer version")


def test_a_database_of_an_older_version_is_refused(path: Path) -> None:
    connection = apsw.Connection(os.fspath(path))
    connection.pragma("application_id", APPLICATION)
    connection.pragma("user_version", SCHEMA - 1)
    connection.close()

    refused(path, "older version")


async def test_a_damaged_database_is_refused(path: Path) -> None:
    async with storage_at(path) as storage:
        for number in range(200):
            await put(storage, f"{JOBS}ns/{number}")
    with path.open("r+b") as file:
        file.seek(PAGE)
        file.write(b"\xff" * PAGE * 2)

    with pytest.raises(Unusable, match="damaged"):
        async with storage_at(path):
            pass


@pytest.mark.parametrize("name", ["", "missing/objects.db"])
async def test_a_path_where_no_file_can_be_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(Unusable, match="cannot"):
        async with storage_at(tmp_path / name):
            pass


async def test_an_opening_that_is_given_up_leaves_the_file_free(path: Path) -> None:
    disk = FaultyDisk()
    with disk.standing_still() as stuck:
        opening = asyncio.ensure_future(_open(path, disk))
        await asyncio.to_thread(stuck.wait)
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening
    while True:
        try:
            async with storage_at(path) as storage:
                await put(storage, A)
            break
        except InUse:  # its thread is not done yet
            await turn()


async def _open(path: Path, disk: FaultyDisk) -> Storage:
    async with storage_at(path, disk=disk) as storage:
        return storage


def test_a_transaction_that_a_failure_left_open_does_not_swallow_the_next(path: Path) -> None:
    database = open_database(path, "full")
    database.load()
    database._connection.execute("BEGIN; INSERT INTO log VALUES (2, 'lost', 2, 0, 0, x'')")

    database.commit([Record(Entry(A, b"{}", 3, 3), False, 0)])

    assert not database._connection.in_transaction
    database.close(3)
    assert rows(path) == [3]
