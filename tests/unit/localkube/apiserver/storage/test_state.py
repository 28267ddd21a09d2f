import pytest

from jobferry.localkube.apiserver.storage.errors import Compacted, Future
from jobferry.localkube.apiserver.storage.state import Window
from jobferry.testing.clock import ManualClock
from tests.unit.localkube.apiserver.storage.storage_steps import (
    JOBS,
    PODS,
    delete,
    keys,
    put,
    shown,
    storage_at,
)

A = JOBS + "ns/a"
B = JOBS + "ns/b"


async def test_a_range_is_in_the_order_of_keys_and_knows_what_it_leaves_out() -> None:
    async with storage_at(None) as storage:
        for name in ("b/1", "a/2", "a-b/1", "a/10", "b/0"):
            await put(storage, JOBS + name)
        await put(storage, PODS + "a/1")

        everything = storage.range(JOBS)
        assert keys(everything.entries) == sorted(keys(everything.entries))
        assert len(everything.entries) == 5
        assert keys(storage.range(JOBS + "a/").entries) == [JOBS + "a/10", JOBS + "a/2"]
        assert storage.range(JOBS + "c/").entries == []

        page = storage.range(JOBS, limit=2)
        assert (keys(page.entries), page.more, page.remaining) == (
            [JOBS + "a-b/1", JOBS + "a/10"],
            True,
            3,
        )
        rest = storage.range(JOBS, start=JOBS + "a/10\0", limit=3)
        assert (len(rest.entries), rest.more, rest.remaining) == (3, False, 0)
        assert storage.counts() == {JOBS: 5, PODS: 1}


async def test_a_range_needs_a_prefix_that_ends_in_a_slash() -> None:
    async with storage_at(None) as storage:
        with pytest.raises(ValueError, match="slash"):
            storage.range(JOBS + "a")


async def test_pages_at_one_revision_show_one_state_whatever_happens_meanwhile() -> None:
    async with storage_at(None) as storage:
        for name in "abcde":
            await put(storage, JOBS + "ns/" + name)
        before = storage.range(JOBS)
        page = storage.range(JOBS, limit=2)
        await delete(storage, JOBS + "ns/a")
        await delete(storage, JOBS + "ns/d")
        await put(storage, JOBS + "ns/e")
        await put(storage, JOBS + "ns/cc")
        await put(storage, PODS + "ns/c")

        second = storage.range(JOBS, start=JOBS + "ns/b\0", limit=2, at=page.revision)
        third = storage.range(JOBS, start=JOBS + "ns/d\0", limit=2, at=page.revision)

        assert page.entries + second.entries + third.entries == before.entries
        assert [each.remaining for each in (page, second, third)] == [3, 1, 0]
        assert [each.more for each in (page, second, third)] == [True, True, False]
        assert second.revision == page.revision


async def test_one_can_look_back_as_far_as_history_goes_and_never_ahead() -> None:
    async with storage_at(None) as storage:
        for _ in range(4):
            await put(storage, A)

        storage.compact(through=3)

        assert storage.floor == 3
        assert [entry.revision for entry in storage.range(JOBS, at=3).entries] == [3]
        with pytest.raises(Compacted):
            storage.range(JOBS, at=2)
        with pytest.raises(Future):
            storage.range(JOBS, at=6)
        assert shown(storage.watch(JOBS, after=3).take()) == [(4, A, False), (5, A, False)]
        with pytest.raises(Compacted):
            storage.watch(JOBS, after=2)


async def test_history_has_a_length() -> None:
    async with storage_at(None, window=Window(changes=2)) as storage:
        for _ in range(5):
            await put(storage, A)

        assert storage.floor == 4


async def test_history_has_a_size() -> None:
    async with storage_at(None, window=Window(size=1000)) as storage:
        for _ in range(5):
            await storage.put(A, lambda _: b"x" * 300, expected=None)

        assert storage.floor == 3


async def test_history_grows_old_even_if_nothing_is_written() -> None:
    clock = ManualClock()
    async with storage_at(None, clock=clock, window=Window(age=60)) as storage:
        await put(storage, A)
        await clock.pass_time(30)
        await put(storage, B)

        await clock.pass_time(29)
        assert storage.floor == 1
        await clock.pass_time(7)  # it looks at most ten times in that time
        assert storage.floor == 2
        await clock.pass_time(60)
        assert storage.floor == 3
        assert clock.waiting == 0, "there is nothing left to wait for"
