"""One can wait for what is under way; with SQLite, too, a test knows when all has happened."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from jobferry.localkube.apiserver.storage.errors import CommitFailed
from jobferry.localkube.apiserver.storage.state import Window
from jobferry.localkube.apiserver.storage.store import open_storage
from jobferry.testing.clock import ManualClock, settle
from tests.unit.localkube.apiserver.storage.faulty_disk import FaultyDisk
from tests.unit.localkube.apiserver.storage.held_journal import HeldJournal
from tests.unit.localkube.apiserver.storage.storage_steps import (
    JOBS,
    PODS,
    delete,
    keys,
    put,
    storage_at,
    storage_on,
    turn,
)

A = JOBS + "ns/a"
B = JOBS + "ns/b"
C = JOBS + "other/c"


async def test_one_waits_for_all_that_is_accepted_and_for_nothing_later() -> None:
    journal = HeldJournal()
    async with storage_on(journal) as storage, asyncio.TaskGroup() as tasks:
        await storage.settled()
        tasks.create_task(put(storage, A))
        await turn()
        waiting = tasks.create_task(storage.settled())
        await turn()
        tasks.create_task(put(storage, B))
        await turn()
        assert not storage.is_settled
        assert not waiting.done()

        journal.commit()

        await waiting
        assert not storage.is_settled
        journal.commit()
        assert storage.is_settled


async def test_whoever_waits_for_a_write_that_is_lost_hears_so() -> None:
    journal = HeldJournal()
    async with storage_on(journal) as storage:
        tasks: list[asyncio.Future[Any]] = [asyncio.ensure_future(put(storage, A))]
        await turn()
        tasks += [asyncio.ensure_future(storage.settled()) for _ in range(2)]
        await turn()

        journal.fail()

        for each in tasks:
            with pytest.raises(CommitFailed):
                await each
        await storage.settled()


async def test_a_writer_that_is_cancelled_leaves_those_who_wait_for_its_write_alone() -> None:
    journal = HeldJournal()
    async with storage_on(journal) as storage:
        write = asyncio.ensure_future(put(storage, A))
        await turn()
        waiting = [asyncio.ensure_future(storage.settled()) for _ in range(2)]
        await turn()
        write.cancel()
        waiting[0].cancel()
        await turn()
        assert not waiting[1].done()

        journal.commit()

        await waiting[1]
        assert storage.get(A) is not None


async def test_the_newest_state_below_a_prefix_is_known_before_it_is_durable() -> None:
    journal = HeldJournal()
    async with storage_on(journal) as storage, asyncio.TaskGroup() as tasks:
        for key in (A, C, PODS + "ns/p"):
            tasks.create_task(put(storage, key))
        await turn()
        journal.commit()
        before = storage.accepted_below(JOBS)
        assert keys(before) == [A, C]

        tasks.create_task(put(storage, B))
        tasks.create_task(put(storage, A))
        tasks.create_task(delete(storage, C))
        await turn()

        assert [(each.key, each.revision) for each in storage.accepted_below(JOBS)] == [
            (A, 6),
            (B, 5),
        ]
        assert keys(storage.accepted_below(JOBS + "other/")) == []
        assert keys(storage.accepted_below(PODS)) == [PODS + "ns/p"]
        assert storage.range(JOBS).entries == before
        journal.commit()
        assert storage.accepted_below(JOBS) == storage.range(JOBS).entries


async def test_without_a_thread_everything_has_happened_when_nobody_can_run(
    tmp_path: Path,
) -> None:
    path, clock = tmp_path / "state.db", ManualClock()
    window = Window(changes=300)
    async with open_storage(path, clock=clock, window=window, inline=True) as storage:
        writes = [asyncio.ensure_future(put(storage, f"{JOBS}ns/{n}")) for n in range(700)]
        await settle()
        assert all(each.done() for each in writes)
        writes += [asyncio.ensure_future(put(storage, A)) for _ in range(700)]
        await settle()
        assert all(each.done() for each in writes)
        floor = storage.floor
        last = asyncio.ensure_future(put(storage, B))
        await asyncio.sleep(0)
    assert (await last).revision == 1402

    async with open_storage(path, clock=clock, window=window, inline=True) as storage:
        assert storage.floor >= floor > 1
        assert len(storage.range(JOBS).entries) == 702
        assert (await put(storage, A)).revision == 1403


async def test_without_a_thread_a_failing_disk_fails_writes_and_no_more(tmp_path: Path) -> None:
    disk = FaultyDisk()
    try:
        async with open_storage(
            tmp_path / "state.db",
            clock=ManualClock(),
            vfs=disk.name,
            inline=True,
        ) as storage:
            await put(storage, A)
            disk.is_full = True
            for _ in range(2):
                with pytest.raises(CommitFailed):
                    await put(storage, A)
            disk.is_full = False
            assert (await put(storage, A, 2)).revision == 5
    finally:
        disk.unregister()


async def test_a_moved_clock_waits_for_the_disk(tmp_path: Path) -> None:
    clock = ManualClock()
    async with storage_at(tmp_path / "state.db", clock=clock) as storage:
        clock.outside.append(storage)
        seen = []

        async def write() -> None:
            for _ in range(3):
                await put(storage, A)
            seen.append(clock.monotonic())

        tasks = []
        for delay in (1, 2):
            clock.call_later(delay, lambda: tasks.append(asyncio.ensure_future(write())))
        begun = clock.monotonic()

        await clock.pass_time(5)

        assert [each - begun for each in seen] == [1, 2]
        assert storage.revision == 7
