import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobferry.localkube.apiserver.storage.errors import Closed, Overrun
from jobferry.localkube.apiserver.storage.store import Storage
from jobferry.localkube.apiserver.storage.watch import Watch, Watchers
from tests.unit.localkube.apiserver.storage.held_journal import HeldJournal
from tests.unit.localkube.apiserver.storage.storage_steps import (
    JOBS,
    PODS,
    delete,
    put,
    shown,
    storage_at,
    storage_on,
    turn,
)

A = JOBS + "ns/a"
B = JOBS + "other/b"


async def test_a_watch_begins_with_what_happened_since() -> None:
    async with storage_at(None) as storage:
        for _ in range(3):
            await put(storage, A)

        with storage.watch(JOBS, after=2) as watch:
            await delete(storage, A)

            assert shown(await watch.changes()) == [
                (3, A, False),
                (4, A, False),
                (5, A, True),
            ]
            assert watch.take() == []


async def test_a_change_carries_the_state_before_and_after() -> None:
    async with storage_at(None) as storage:
        watch = storage.watch(JOBS, after=1)
        created = await put(storage, A)
        changed = await put(storage, A)
        await delete(storage, A)

        first, second, third = watch.take()

        assert (first.previous, first.entry) == (None, created)
        assert (second.previous, second.entry, second.deleted) == (created, changed, False)
        assert (third.previous, third.deleted) == (changed, True)
        assert third.entry.object == {"revision": 4}


@pytest.mark.parametrize(
    ("prefix", "seen"),
    [
        (JOBS, [2, 3, 4]),
        (JOBS + "ns/", [2, 4]),
        (A, [2]),
        (PODS, [5]),
        (JOBS + "n/", []),
        (JOBS + "ns", []),
    ],
)
@pytest.mark.parametrize("late", [False, True])
async def test_a_watch_shows_what_is_below_its_prefix_only(
    prefix: str, seen: list[int], late: bool
) -> None:
    async with storage_at(None) as storage:
        early = storage.watch(prefix, after=1)
        for key in (A, B, A + "a", PODS + "ns/a"):
            await put(storage, key)

        watch = storage.watch(prefix, after=1) if late else early

        assert [change.revision for change in watch.take()] == seen


async def test_watchers_see_nothing_before_it_is_durable() -> None:
    journal = HeldJournal()
    async with storage_on(journal) as storage, asyncio.TaskGroup() as tasks:
        watch = storage.watch(JOBS, after=1)
        tasks.create_task(put(storage, A))
        tasks.create_task(put(storage, A))
        await turn()
        assert watch.take() == []

        journal.commit()

        assert shown(watch.take()) == [(2, A, False), (3, A, False)]


async def test_a_watch_from_the_future_leaves_out_what_comes_before() -> None:
    journal = HeldJournal()
    async with storage_on(journal) as storage, asyncio.TaskGroup() as tasks:
        watch = storage.watch(JOBS, after=3)
        for _ in range(4):
            tasks.create_task(put(storage, A))
        await turn()
        journal.commit()

        assert [change.revision for change in watch.take()] == [4, 5]


async def test_whoever_waits_is_woken() -> None:
    async with storage_at(None) as storage:
        watch = storage.watch(JOBS, after=1)
        waiting = asyncio.ensure_future(watch.changes())
        await turn()
        await put(storage, PODS + "ns/a")
        assert not waiting.done()

        await put(storage, A)

        assert shown(await waiting) == [(3, A, False)]


async def test_waiting_given_up_at_the_moment_of_the_change_loses_nothing() -> None:
    journal = HeldJournal()
    async with storage_on(journal) as storage, asyncio.TaskGroup() as tasks:
        watch = storage.watch(JOBS, after=1)
        waiting = asyncio.ensure_future(watch.changes())
        tasks.create_task(put(storage, A))
        await turn()

        journal.commit()  # wakes it, but it does not run yet
        waiting.cancel()

        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert shown(watch.take()) == [(2, A, False)]


async def test_one_is_notified_once_for_all_that_waits() -> None:
    async with storage_at(None) as storage:
        calls: list[int] = []
        watch = storage.watch(JOBS, after=1, notify=lambda: calls.append(storage.revision))
        await put(storage, A)
        await put(storage, A)
        assert calls == [2]

        assert len(watch.take()) == 2
        await put(storage, A)
        assert calls == [2, 4]

        watch.close()
        assert len(calls) == 3


async def test_a_slow_watcher_is_cut_off_and_the_others_are_not() -> None:
    journal = HeldJournal()
    async with storage_on(journal, buffer=3) as storage:
        slow, quick = (storage.watch(JOBS, after=1) for _ in range(2))
        for count in (2, 1, 1):
            await _write(storage, journal, count)
            assert len(quick.take()) == count

        with pytest.raises(Overrun):
            slow.take()
        with pytest.raises(Overrun):
            await slow.changes()
        assert storage.stats().watchers == 1


async def test_a_watcher_that_waits_is_told_when_it_is_cut_off() -> None:
    journal = HeldJournal()
    async with storage_on(journal, buffer=3) as storage, asyncio.TaskGroup() as tasks:
        watch = storage.watch(JOBS, after=1)
        waiting = asyncio.ensure_future(watch.changes())
        for _ in range(2):
            for _ in range(2):
                tasks.create_task(put(storage, A))
            await turn()

        journal.commit()
        journal.commit()  # before whoever waits could take what came with the first

        with pytest.raises(Overrun):
            await waiting


async def test_whoever_takes_at_once_is_not_cut_off_however_much_comes_together() -> None:
    journal = HeldJournal()
    async with storage_on(journal, buffer=3) as storage:
        taken: list[int] = []
        watch = storage.watch(JOBS, after=1, notify=lambda: taken.append(len(watch.take())))
        await _write(storage, journal, 10)
        await _write(storage, journal, 10)

        assert taken == [10, 10]


async def test_what_a_watcher_asked_for_does_not_count_as_slowness() -> None:
    journal = HeldJournal()
    async with storage_on(journal, buffer=3) as storage:
        await _write(storage, journal, 10)
        watch = storage.watch(JOBS, after=1)
        await _write(storage, journal, 3)
        assert len(watch.take()) == 13

        await _write(storage, journal, 3)
        await _write(storage, journal, 1)

        with pytest.raises(Overrun):
            watch.take()


async def _write(storage: Storage, journal: HeldJournal, times: int) -> None:
    async with asyncio.TaskGroup() as tasks:
        for _ in range(times):
            tasks.create_task(put(storage, A))
        await turn()
        journal.commit()


async def test_a_closed_watch_gives_nothing_more() -> None:
    async with storage_at(None) as storage:
        with storage.watch(JOBS, after=1) as watch:
            await put(storage, A)

        with pytest.raises(Closed):
            watch.take()
        assert storage.stats().watchers == 0
        watch.close()  # again


async def test_a_watcher_may_close_others_when_it_is_notified() -> None:
    async with storage_at(None) as storage:
        others: list[Watch] = []

        def close_others() -> None:
            for each in others:
                each.close()

        for _ in range(2):
            storage.watch(JOBS, after=1, notify=close_others)
            others.append(storage.watch(JOBS, after=1))

        await put(storage, A)

        assert storage.stats().watchers == 2
        for each in others:
            with pytest.raises(Closed):
                each.take()


class Unlisted(dict[str, dict[Watch, None]]):
    """A dict in which one can look something up, but not look through it."""

    def __iter__(self) -> Iterator[str]:
        raise AssertionError("somebody goes through all of them")

    keys = values = items = __iter__  # type: ignore[assignment]


async def test_a_change_costs_nothing_for_watchers_of_other_collections() -> None:
    watchers = Watchers()
    listed, watchers._by_prefix = watchers._by_prefix, Unlisted()
    async with storage_at(None) as storage:
        storage._watchers = watchers
        for number in range(100):
            storage.watch(f"/registry/batch/kind{number}/", after=1)
        watch = storage.watch(JOBS, after=1)

        await put(storage, A)

        assert shown(watch.take()) == [(2, A, False)]
        watchers._by_prefix = listed


@pytest.mark.parametrize(
    "error", [ZeroDivisionError(), Overrun("late"), asyncio.CancelledError()]
)
async def test_a_watcher_that_fails_harms_no_writer_and_no_other_watcher(
    error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> None:
        raise error

    async with storage_at(None) as storage:
        watches = [storage.watch(JOBS, after=1, notify=fail) for _ in range(2)]
        other = storage.watch(JOBS, after=1)

        await put(storage, A)
        await put(storage, A)

        assert shown(other.take()) == [(2, A, False), (3, A, False)]
        assert storage.is_settled
        for each in watches:
            with pytest.raises(Closed, match="its watcher failed"):
                each.take()
        assert storage.stats().watchers == 1
    assert caplog.messages == ["A watcher failed and hears no more"] * 2


async def test_a_watcher_that_fails_at_the_end_does_not_keep_the_store_open() -> None:
    async with storage_at(None) as storage:

        def take() -> None:
            watch.take()  # raises when the store is closed

        watch = storage.watch(JOBS, after=1, notify=take)
        await put(storage, A)

    with pytest.raises(Closed):
        watch.take()


async def test_a_store_whose_watcher_failed_opens_again(tmp_path: Path) -> None:
    def fail() -> None:
        raise ZeroDivisionError

    path = tmp_path / "state.db"
    async with storage_at(path) as storage:
        storage.watch(JOBS, after=1, notify=fail)
        for _ in range(3):
            await put(storage, A)

    async with storage_at(path) as storage:
        assert (entry := storage.get(A)) is not None
        assert entry.revision == 4
        await put(storage, A, 4)
