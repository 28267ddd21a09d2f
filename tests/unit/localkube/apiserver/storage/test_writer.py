import asyncio
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from jobferry.localkube.apiserver.storage.accepted import BLOCK
from jobferry.localkube.apiserver.storage.entry import Entry
from jobferry.localkube.apiserver.storage.errors import CommitFailed, Conflict
from jobferry.localkube.apiserver.storage.journal import Record
from jobferry.localkube.apiserver.storage.state import Window
from jobferry.localkube.apiserver.storage.store import Storage
from jobferry.localkube.apiserver.storage.writer import (
    MOST_BYTES,
    MOST_ROWS,
    PIECE,
    _portions,
)
from tests.unit.localkube.apiserver.storage.faulty_disk import FaultyDisk
from tests.unit.localkube.apiserver.storage.storage_steps import (
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


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "objects.db"


@pytest.fixture
def disk() -> Iterator[FaultyDisk]:
    disk = FaultyDisk()
    yield disk
    disk.unregister()


async def test_writes_that_come_during_a_commit_share_the_next_one(
    path: Path, disk: FaultyDisk
) -> None:
    async with storage_at(path, disk=disk) as storage, asyncio.TaskGroup() as tasks:
        with disk.standing_still() as stuck:
            tasks.create_task(put(storage, A))
            await asyncio.to_thread(stuck.wait)
            before = disk.syncs
            writes = [tasks.create_task(put(storage, f"{JOBS}ns/{n}")) for n in range(50)]
            for _ in range(5):  # in several turns of the loop
                await turn()
                writes.append(tasks.create_task(put(storage, A)))
            await turn()
            assert storage.revision == 1
            assert not any(each.done() for each in writes)

        for each in writes:
            await each

        assert disk.syncs - before == 2
        assert storage.revision == 57


async def test_a_write_is_seen_and_acknowledged_only_once_it_is_on_the_disk(
    path: Path, disk: FaultyDisk
) -> None:
    async with storage_at(path, disk=disk) as storage, asyncio.TaskGroup() as tasks:
        watch = storage.watch(JOBS, after=1)
        with disk.standing_still() as stuck:
            write = tasks.create_task(put(storage, A))
            await asyncio.to_thread(stuck.wait)
            await turn()
            assert not write.done()
            assert storage.get(A) is None
            assert watch.take() == []

        await write
        assert shown(watch.take()) == [(2, A, False)]


@pytest.mark.parametrize("fault", ["is_full", "is_failing"])
async def test_writes_fail_while_the_disk_does_and_succeed_once_it_does_not(
    path: Path, disk: FaultyDisk, fault: str
) -> None:
    async with storage_at(path, disk=disk) as storage:
        before = await put(storage, A)
        setattr(disk, fault, True)

        for _ in range(3):
            for write in (put(storage, A, 2), delete(storage, A, 2), put(storage, B, 0)):
                with pytest.raises(CommitFailed, match="disk"):
                    await write
        assert storage.get(A) is storage.accepted(A) is before
        assert keys(storage.range(JOBS).entries) == [A]

        setattr(disk, fault, False)
        assert (await put(storage, A, 2)).revision == 12
        assert (await put(storage, B, 0)).revision == 13

    async with storage_at(path) as storage:
        assert shown(storage.watch(JOBS, after=1).take()) == [
            (2, A, False),
            (12, A, False),
            (13, B, False),
        ]


async def test_what_built_on_a_failed_write_fails_with_it_and_gets_nowhere(
    path: Path, disk: FaultyDisk
) -> None:
    async with storage_at(path, disk=disk) as storage:
        await put(storage, A)
        with disk.standing_still() as stuck:
            writes = [asyncio.ensure_future(put(storage, A, 2))]
            await asyncio.to_thread(stuck.wait)
            disk.is_failing = True
            writes += [asyncio.ensure_future(put(storage, A, 3))]
            await turn()
            writes += [asyncio.ensure_future(put(storage, B, 0))]
            await turn()
        results = await asyncio.gather(*writes, return_exceptions=True)
        disk.is_failing = False

        assert [type(each) for each in results] == [CommitFailed] * 3
        assert (await put(storage, A, 2)).revision == 6

    async with storage_at(path) as storage:
        assert shown(storage.watch(JOBS, after=1).take()) == [(2, A, False), (6, A, False)]


async def test_writes_sent_before_the_failure_is_known_are_not_stored_behind_its_back(
    path: Path, disk: FaultyDisk
) -> None:
    async with storage_at(path, disk=disk) as storage:
        await put(storage, A)
        disk.is_full = True
        writes = [asyncio.ensure_future(put(storage, A, 2))]
        await turn()
        disk.is_full = False  # maybe before, maybe after the first is tried
        writes += [asyncio.ensure_future(put(storage, A, 3))]
        results = await asyncio.gather(*writes, return_exceptions=True)

        stored = [each.revision for each in results if isinstance(each, Entry)]
        assert stored in ([], [3, 4])
        assert all(isinstance(each, Entry | CommitFailed | Conflict) for each in results)
        entry = storage.get(A)
        assert entry is not None
        assert entry.revision == (stored or [2])[-1]


async def test_a_store_on_a_full_disk_can_be_opened_and_read(
    path: Path, disk: FaultyDisk
) -> None:
    async with storage_at(path) as storage:
        await put(storage, A)
    disk.is_full = True

    async with storage_at(path, disk=disk) as storage:
        assert keys(storage.range(JOBS).entries) == [A]
        with pytest.raises(CommitFailed, match="reserved"):
            await put(storage, A)

        disk.is_full = False
        assert (await _insist(storage, A)).revision == 3


async def test_a_store_can_be_closed_while_the_disk_fails(path: Path, disk: FaultyDisk) -> None:
    async with storage_at(path, disk=disk) as storage:
        await put(storage, A)
        disk.is_full = disk.is_failing = True

    async with storage_at(path) as storage:
        assert keys(storage.range(JOBS).entries) == [A]
        assert storage.revision == 1 + BLOCK, "as after a crash"


async def test_writes_under_way_are_finished_by_closing(path: Path, disk: FaultyDisk) -> None:
    async with storage_at(path, disk=disk) as storage:
        with disk.standing_still() as stuck:
            writes = [asyncio.ensure_future(put(storage, A))]
            await asyncio.to_thread(stuck.wait)
            writes += [asyncio.ensure_future(put(storage, A)) for _ in range(3)]
            await asyncio.sleep(0)

    assert [write.result().revision for write in writes] == [2, 3, 4, 5]
    async with storage_at(path) as storage:
        assert storage.revision == 5


async def test_more_revisions_are_reserved_long_before_they_are_needed(
    path: Path, disk: FaultyDisk
) -> None:
    async with storage_at(path, disk=disk) as storage:
        storage._accepted.last = BLOCK // 2
        await put(storage, A)
        await put(storage, A)  # half of them are left: it asks for more
        await put(storage, A)  # is done after that

        assert storage._accepted.ceiling == BLOCK // 2 + 2 + BLOCK


async def test_old_revisions_that_cannot_be_removed_are_removed_later(
    path: Path, disk: FaultyDisk
) -> None:
    async with storage_at(path, disk=disk) as storage:
        await asyncio.gather(*(put(storage, A) for _ in range(3 * PIECE)))
        disk.is_full = True
        storage.compact(through=storage.revision)
        with pytest.raises(CommitFailed):
            await put(storage, A)
        disk.is_full = False
        await put(storage, A)
        await put(storage, A)

    async with storage_at(path) as storage:
        assert storage.floor >= 2 * PIECE
        assert len(storage.watch(JOBS, after=storage.floor).take()) < 2 * PIECE


async def test_restored_history_is_compacted_where_the_window_became_smaller(
    path: Path,
) -> None:
    async with storage_at(path) as storage:
        await asyncio.gather(*(put(storage, A) for _ in range(3 * PIECE)))

    async with storage_at(path, window=Window(changes=5)) as storage:
        assert storage.floor == storage.revision - 5
        assert len(storage.watch(JOBS, after=storage.floor).take()) == 5


def test_a_commit_is_bounded_in_rows_and_in_bytes() -> None:
    def records(*sizes: int) -> list[Record]:
        return [Record(Entry(A, bytes(size), 2, 2), False, 0) for size in sizes]

    assert list(_portions(records(*[1] * (2 * MOST_ROWS + 3)))) == [MOST_ROWS, MOST_ROWS, 3]
    half = MOST_BYTES // 2
    assert list(_portions(records(half, half, 1, half, half, half))) == [2, 2, 2]
    assert list(_portions(records(1, 2 * MOST_BYTES, 1))) == [1, 1, 1]


async def _insist(storage: Storage, key: str) -> Entry:
    """Write again and again until it succeeds."""
    while True:
        with suppress(CommitFailed):
            return await put(storage, key)
        await turn()
