import asyncio
import subprocess
import sys
from collections.abc import Coroutine

import pytest

from jobferry.clock import timeout
from jobferry.localkube.apiserver.storage.accepted import BLOCK
from jobferry.localkube.apiserver.storage.entry import Entry
from jobferry.localkube.apiserver.storage.errors import (
    Closed,
    CommitFailed,
    Conflict,
)
from jobferry.testing.clock import ManualClock
from tests.unit.localkube.apiserver.storage.held_journal import HeldJournal
from tests.unit.localkube.apiserver.storage.storage_steps import (
    JOBS,
    delete,
    put,
    shown,
    storage_at,
    storage_on,
    turn,
    value,
)

A = JOBS + "ns/a"
B = JOBS + "ns/b"


async def test_the_first_write_gets_revision_2_as_in_etcd() -> None:
    async with storage_at(None) as storage:
        assert storage.revision == 1

        entry = await put(storage, A, 0)

        assert (entry.revision, entry.created, entry.value) == (2, 2, b'{"revision":2}')
        assert storage.revision == 2
        assert storage.get(A) is entry
        assert storage.accepted(A) is entry


async def test_a_change_keeps_the_revision_of_the_creation() -> None:
    async with storage_at(None) as storage:
        await put(storage, A, 0)
        changed = await put(storage, A, 2)

        assert (changed.revision, changed.created) == (3, 2)


async def test_what_is_deleted_is_gone_and_can_be_created_anew() -> None:
    async with storage_at(None) as storage:
        await put(storage, A, 0)

        last = await delete(storage, A, 2)

        assert (last.revision, last.created, last.object) == (3, 2, {"revision": 3})
        assert storage.get(A) is storage.accepted(A) is None
        assert storage.range(JOBS).entries == []
        assert (await put(storage, A, 0)).created == 4


@pytest.mark.parametrize("expected", [1, 3, 0])
async def test_a_write_that_expects_another_state_is_refused_with_the_real_one(
    expected: int,
) -> None:
    async with storage_at(None) as storage:
        entry = await put(storage, A, 0)

        for write in (put, delete):
            with pytest.raises(Conflict) as caught:
                await write(storage, A, expected)
            assert caught.value.accepted is entry
        assert storage.revision == 2


@pytest.mark.parametrize("expected", [None, 0, 5])
async def test_what_is_not_there_cannot_be_deleted(expected: int | None) -> None:
    async with storage_at(None) as storage:
        with pytest.raises(Conflict) as caught:
            await delete(storage, A, expected)

        assert caught.value.accepted is None


async def test_readers_see_durable_writes_while_writers_build_on_accepted_ones() -> None:
    journal = HeldJournal()
    async with storage_on(journal) as storage, asyncio.TaskGroup() as tasks:
        first = tasks.create_task(put(storage, A, 0))
        await turn()

        assert storage.revision == 1
        assert storage.get(A) is None
        assert storage.range(JOBS).entries == []
        accepted = storage.accepted(A)
        assert accepted is not None
        assert accepted.revision == 2

        second = tasks.create_task(put(storage, A, 2))
        with pytest.raises(Conflict):
            await put(storage, A, 0)
        await turn()
        journal.commit()
        assert (await first).revision == 2
        assert storage.get(A) is accepted
        assert not second.done()
        assert storage.accepted(A) is not accepted

        journal.commit()
        assert (await second).created == 2
        assert storage.revision == 3


async def test_a_deleted_key_can_be_created_anew_before_the_delete_is_durable() -> None:
    journal = HeldJournal()
    async with storage_on(journal) as storage, asyncio.TaskGroup() as tasks:
        steps = [put(storage, A, 0), delete(storage, A, 2), put(storage, A, 0)]
        writes = [tasks.create_task(each) for each in steps]
        await turn()
        journal.commit()

        assert [(await each).created for each in writes] == [2, 2, 4]
        assert shown(storage.watch(JOBS, after=1).take()) == [
            (2, A, False),
            (3, A, True),
            (4, A, False),
        ]


async def test_all_that_is_written_in_one_turn_of_the_loop_is_appended_together() -> None:
    journal = HeldJournal()
    async with storage_on(journal) as storage, asyncio.TaskGroup() as tasks:
        for number in range(5):
            tasks.create_task(put(storage, f"{JOBS}ns/{number}"))
        await turn()

        assert [len(batch) for batch in journal.batches] == [5]
        journal.commit()


async def test_a_failed_commit_fails_its_batch_and_all_that_built_on_it() -> None:
    journal = HeldJournal()
    async with storage_on(journal) as storage:
        before = await _durable(storage.put(A, value, expected=0), journal)
        writes = [asyncio.ensure_future(put(storage, A, 2))]
        await turn()
        writes += [asyncio.ensure_future(put(storage, A, 3))]
        writes += [asyncio.ensure_future(put(storage, B, 0))]
        await turn()
        assert len(journal.batches) == 2
        writes += [asyncio.ensure_future(delete(storage, A, 4))]  # not even appended

        await asyncio.sleep(0)
        journal.fail()

        for write in writes:
            with pytest.raises(CommitFailed, match="the disk is on fire"):
                await write
        await turn()
        assert not journal.batches
        assert storage.accepted(A) is storage.get(A) is before
        assert storage.accepted(B) is None
        assert storage.revision == 2


async def test_the_revisions_of_failed_writes_are_not_given_out_again() -> None:
    journal = HeldJournal()
    async with storage_on(journal) as storage:
        lost = asyncio.ensure_future(put(storage, A, 0))
        await turn()
        journal.fail()
        with pytest.raises(CommitFailed):
            await lost

        entry = await _durable(storage.put(A, value, expected=0), journal)

        assert (entry.revision, entry.created) == (3, 3)
        assert storage.range(JOBS, at=2).entries == []
        assert storage.range(JOBS, at=2).revision == 2


async def _durable(write: Coroutine[None, None, Entry], journal: HeldJournal) -> Entry:
    task = asyncio.ensure_future(write)
    await turn()
    journal.commit()
    return await task


async def test_a_write_happens_even_if_whoever_sent_it_is_cancelled() -> None:
    journal = HeldJournal()
    async with storage_on(journal) as storage:
        task = asyncio.ensure_future(put(storage, A, 0))
        await turn()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

        journal.commit()

        assert storage.get(A) is not None


async def test_a_value_that_cannot_be_encoded_leaves_no_trace() -> None:
    def refuse(_: int) -> bytes:
        raise ZeroDivisionError

    async with storage_at(None) as storage:
        with pytest.raises(ZeroDivisionError):
            await storage.put(A, refuse, expected=0)

        assert storage.accepted(A) is None
        assert (await put(storage, A, 0)).revision == 2


@pytest.mark.parametrize("key", ["", "a", "/registry/jobs/a", "registry/batch/jobs/a"])
async def test_a_key_outside_any_collection_is_refused(key: str) -> None:
    async with storage_at(None) as storage:
        with pytest.raises(ValueError, match="collection"):
            await put(storage, key)
        with pytest.raises(ValueError, match="collection"):
            storage.watch(key, after=1)


async def test_what_leaves_history_is_removed_from_the_log_oldest_first() -> None:
    journal = HeldJournal()
    async with storage_on(journal) as storage:
        for step in (put(storage, A), put(storage, A), delete(storage, A), put(storage, B)):
            await _durable(step, journal)

        storage.compact(through=5)

        assert journal.stale == [(2, 3), (3, 4), (4, 4)]


async def test_one_can_wait_for_a_revision() -> None:
    async with storage_at(None) as storage:
        await storage.wait_for(1)
        waiter = asyncio.ensure_future(storage.wait_for(3))
        await put(storage, A)
        await turn()
        assert not waiter.done()

        await put(storage, A)

        await waiter


async def test_waiting_for_a_revision_can_be_given_up() -> None:
    clock = ManualClock()
    async with storage_at(None, clock=clock) as storage:
        waiter = asyncio.ensure_future(_in_time(storage.wait_for(2), clock))
        await turn()

        await clock.pass_time(3)

        with pytest.raises(TimeoutError):
            await waiter
        await put(storage, A)


async def _in_time(wait: Coroutine[None, None, None], clock: ManualClock) -> None:
    async with timeout(clock, 3):
        await wait


async def test_no_revision_is_given_out_that_was_not_reserved() -> None:
    journal = HeldJournal(ceiling=3)
    async with storage_on(journal) as storage:
        assert (await _durable(put(storage, A), journal)).revision == 2
        assert journal.asked_for == 2 + BLOCK, "it asks for more in time"
        journal.listener.reserved(OSError("in vain"))
        journal.asked_for = None
        assert (await _durable(put(storage, A), journal)).revision == 3
        assert journal.asked_for == 3 + BLOCK
        journal.listener.reserved(OSError("in vain"))

        journal.asked_for = None
        with pytest.raises(CommitFailed, match="reserved"):
            await put(storage, A)
        assert journal.asked_for == 3 + BLOCK, "it tries again"
        journal.listener.reserved(journal.asked_for)

        assert (await _durable(put(storage, A), journal)).revision == 4


async def test_the_store_tells_its_sizes() -> None:
    journal = HeldJournal()
    async with storage_on(journal) as storage, asyncio.TaskGroup() as tasks:
        storage.watch(JOBS, after=1)
        tasks.create_task(put(storage, A))
        await turn()
        assert storage.stats() == (1, 1, 0, 0)

        journal.commit()

        assert storage.stats() == (0, 1, 1, len(value(2)))


async def test_failures_are_logged_once_until_they_are_over(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO")
    journal = HeldJournal()
    async with storage_on(journal) as storage:
        for _ in range(2):
            for _ in range(3):
                lost = asyncio.ensure_future(put(storage, A))
                await turn()
                journal.fail()
                with pytest.raises(CommitFailed):
                    await lost
            await _durable(put(storage, A), journal)

    assert caplog.messages == ["Writes fail", "Writes succeed again"] * 2


async def test_a_closed_store_finishes_its_writes_and_takes_no_more() -> None:
    async with storage_at(None) as storage:
        watch = storage.watch(JOBS, after=1)
        waiter = asyncio.ensure_future(storage.wait_for(9))
        await turn()
        write = asyncio.ensure_future(put(storage, A))
        await asyncio.sleep(0)

    assert (await write).revision == 2
    assert storage.get(A) is not None
    with pytest.raises(Closed):
        await put(storage, A)
    with pytest.raises(Closed):
        storage.watch(JOBS, after=1)
    with pytest.raises(Closed):
        await watch.changes()
    with pytest.raises(Closed):
        await waiter


def test_a_store_in_memory_does_without_sqlite() -> None:
    program = """
import asyncio, sys
from jobferry.clock import SystemClock
from jobferry.localkube.apiserver.storage.store import open_storage

async def main():
    async with open_storage(None, clock=SystemClock()) as storage:
        await storage.put("/registry/batch/jobs/a", lambda _: b"{}", expected=0)
    assert not {"apsw", "sqlite3"} & set(sys.modules)

asyncio.run(main())
"""
    subprocess.run([sys.executable, "-c", program], check=True)
