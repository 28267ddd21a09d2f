import asyncio
from collections.abc import AsyncIterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobferry.runtime.inflight import Inflight, Stats
from jobferry.testing.clock import settle


class Crowd:
    """Tasks that want a slot, and hold it until told to let go."""

    def __init__(self, limit: int) -> None:
        self.inflight = Inflight(limit)
        self.tasks: list[asyncio.Task[None]] = []
        self.served: list[int] = []
        """Who got a slot, in that order."""
        self.holding: set[int] = set()
        self.let_go: list[asyncio.Event] = []
        self.priorities: list[int] = []

    def come(self, priority: int) -> int:
        number = len(self.tasks)
        self.priorities.append(priority)
        self.let_go.append(asyncio.Event())
        self.tasks.append(asyncio.create_task(self._hold(number)))
        return number

    async def _hold(self, number: int) -> None:
        async with self.inflight.slot(self.priorities[number]):
            self.served.append(number)
            self.holding.add(number)
            try:
                await self.let_go[number].wait()
            finally:
                self.holding.remove(number)

    async def end(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)


@pytest.fixture
async def crowd() -> AsyncIterator[Crowd]:
    crowd = Crowd(limit=2)
    yield crowd
    await crowd.end()


async def test_at_most_so_many_hold_a_slot_at_a_time(crowd: Crowd) -> None:
    for _ in range(5):
        crowd.come(priority=0)
    await settle()

    assert crowd.served == [0, 1]
    assert crowd.inflight.stats() == Stats(limit=2, in_flight=2, waiting=3)


async def test_a_free_slot_goes_to_the_highest_priority_and_then_to_who_came_first(
    crowd: Crowd,
) -> None:
    for priority in (0, 0, 1, 3, 1, 3):
        crowd.come(priority)
        await settle()

    for holder in (0, 1, 3, 5):
        crowd.let_go[holder].set()
        await settle()

    assert crowd.served == [0, 1, 3, 5, 2, 4]


async def test_a_newcomer_does_not_overtake_who_was_handed_the_slot(crowd: Crowd) -> None:
    for _ in range(3):
        crowd.come(priority=0)
    await settle()

    crowd.let_go[0].set()
    await asyncio.sleep(0)  # the slot is handed over, but its new holder has not run yet
    crowd.come(priority=9)
    await settle()

    assert crowd.served == [0, 1, 2]


async def test_an_error_in_the_block_frees_the_slot() -> None:
    inflight = Inflight(1)

    with pytest.raises(KeyError):
        async with inflight.slot(0):
            raise KeyError

    assert inflight.stats() == Stats(limit=1, in_flight=0, waiting=0)


async def test_who_gives_up_waiting_leaves_no_trace(crowd: Crowd) -> None:
    for _ in range(4):
        crowd.come(priority=0)
    await settle()

    crowd.tasks[2].cancel()
    await settle()
    assert crowd.inflight.stats() == Stats(limit=2, in_flight=2, waiting=1)

    crowd.let_go[0].set()
    await settle()
    assert crowd.served == [0, 1, 3]


async def test_a_slot_handed_to_somebody_cancelled_at_that_moment_goes_to_the_next() -> None:
    crowd = Crowd(limit=1)
    async with crowd.inflight.slot(0):
        for _ in range(2):
            crowd.come(priority=0)
        await settle()

    crowd.tasks[0].cancel()  # the slot is its own by now, but it has not run yet
    await settle()

    assert crowd.tasks[0].cancelled()
    assert crowd.served == [1]
    await crowd.end()
    assert crowd.inflight.stats().in_flight == 0


def test_a_limit_that_lets_nothing_through_is_refused() -> None:
    with pytest.raises(ValueError, match="limit of 0"):
        Inflight(0)


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("come"), st.integers(0, 3)),
        st.tuples(st.just("cancel"), st.integers(0, 30)),
        st.tuples(st.just("let go"), st.integers(0, 30)),
        st.tuples(st.just("turn"), st.just(0)),
        st.tuples(st.just("settle"), st.just(0)),
    ),
    max_size=40,
)


@settings(max_examples=80, deadline=None)
@given(st.integers(1, 3), STEPS)
def test_no_sequence_of_cancels_and_releases_exceeds_the_limit_or_loses_a_slot(
    limit: int, steps: list[tuple[str, int]]
) -> None:
    async def play() -> None:
        crowd = Crowd(limit)
        for step, number in steps:
            await take(crowd, step, number)
            stats = crowd.inflight.stats()
            assert len(crowd.holding) <= stats.in_flight <= limit
            assert stats.in_flight == limit or stats.waiting == 0
        await crowd.end()
        assert crowd.inflight.stats() == Stats(limit=limit, in_flight=0, waiting=0)

    async def take(crowd: Crowd, step: str, number: int) -> None:
        if step == "come":
            crowd.come(number)
        elif step == "turn":
            await asyncio.sleep(0)
        elif step == "settle":
            await settle()
            assert len(crowd.holding) == crowd.inflight.stats().in_flight
        elif number < len(crowd.tasks):
            if step == "cancel":
                crowd.tasks[number].cancel()
            else:
                crowd.let_go[number].set()

    asyncio.run(play())


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=20), st.sets(st.integers(0, 19)))
def test_those_who_stay_are_served_by_priority_and_then_in_order(
    priorities: list[int], quitters: set[int]
) -> None:
    async def play() -> list[int]:
        crowd = Crowd(limit=1)
        async with crowd.inflight.slot(0):
            for priority in priorities:
                crowd.come(priority)
            await settle()
            for number in quitters & set(range(len(priorities))):
                crowd.tasks[number].cancel()
            for event in crowd.let_go:
                event.set()
        await asyncio.gather(*crowd.tasks, return_exceptions=True)
        return crowd.served

    stayed = [number for number in range(len(priorities)) if number not in quitters]
    assert asyncio.run(play()) == sorted(stayed, key=lambda number: -priorities[number])
