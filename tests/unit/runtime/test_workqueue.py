import asyncio
from dataclasses import dataclass

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from jobferry.runtime.workqueue import Closed, Stats, WorkQueue
from jobferry.testing.clock import ManualClock, settle


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def queue(clock: ManualClock) -> WorkQueue[str]:
    return WorkQueue(clock)


async def drained(queue: WorkQueue[str]) -> list[str]:
    """Take all that waits, one after the other."""
    keys = []
    while queue.stats().waiting:
        keys.append(await queue.get())
        queue.done(keys[-1])
    return keys


async def test_keys_come_out_in_the_order_they_came(queue: WorkQueue[str]) -> None:
    for key in "bac":
        queue.add(key)

    assert await drained(queue) == ["b", "a", "c"]


async def test_a_key_added_twice_is_handed_out_once(queue: WorkQueue[str]) -> None:
    queue.add("a")
    queue.add("a")

    assert await drained(queue) == ["a"]


async def test_the_highest_priority_comes_first(queue: WorkQueue[str]) -> None:
    queue.add("low", priority=-1)
    queue.add("plain")
    queue.add("high", priority=9)

    assert await drained(queue) == ["high", "plain", "low"]


async def test_a_higher_priority_wins_and_a_lower_one_changes_nothing(
    queue: WorkQueue[str],
) -> None:
    for key, priority in [("a", 0), ("b", 1), ("a", 2), ("b", 0)]:
        queue.add(key, priority=priority)

    assert await drained(queue) == ["a", "b"]


async def test_a_key_in_work_is_handed_out_once_more_after_done(queue: WorkQueue[str]) -> None:
    queue.add("a")
    key = await queue.get()
    queue.add("a")
    queue.add("a")
    assert queue.stats().waiting == 0

    queue.done(key)

    assert await drained(queue) == ["a"]


async def test_only_what_is_in_work_can_be_done(queue: WorkQueue[str]) -> None:
    queue.add("a")

    with pytest.raises(KeyError):
        queue.done("a")


async def test_a_delayed_key_comes_when_its_time_has_come(
    queue: WorkQueue[str], clock: ManualClock
) -> None:
    queue.add_after("a", 5)
    clock.advance(4.9)
    assert await drained(queue) == []

    clock.advance(0.1)
    assert await drained(queue) == ["a"]


async def test_an_earlier_time_wins_and_a_later_one_changes_nothing(
    queue: WorkQueue[str], clock: ManualClock
) -> None:
    queue.add_after("a", 5)
    queue.add_after("a", 2)
    queue.add_after("a", 9)

    clock.advance(2)
    assert await drained(queue) == ["a"]
    clock.advance(20)
    assert await drained(queue) == []


async def test_a_delayed_key_keeps_its_priority(
    queue: WorkQueue[str], clock: ManualClock
) -> None:
    queue.add("plain")
    queue.add_after("urgent", 5, priority=1)

    clock.advance(5)

    assert await drained(queue) == ["urgent", "plain"]


async def test_a_delay_asked_for_while_in_work_counts_from_the_asking(
    queue: WorkQueue[str], clock: ManualClock
) -> None:
    queue.add("a")
    key = await queue.get()
    queue.add_after("a", 5)
    clock.advance(3)
    queue.done(key)
    assert queue.stats().delayed == 1

    clock.advance(2)

    assert await drained(queue) == ["a"]


async def test_a_delay_that_is_over_before_done_is_no_delay(
    queue: WorkQueue[str], clock: ManualClock
) -> None:
    queue.add("a")
    key = await queue.get()
    queue.add_after("a", 5)
    clock.advance(6)
    queue.done(key)

    assert await drained(queue) == ["a"]


async def test_getters_are_served_in_the_order_they_came(queue: WorkQueue[str]) -> None:
    getters = [asyncio.create_task(queue.get()) for _ in range(3)]
    await settle()

    for key in "abc":
        queue.add(key)

    assert [await getter for getter in getters] == ["a", "b", "c"]


async def test_a_getter_that_waits_is_woken_when_a_delay_is_over(
    queue: WorkQueue[str], clock: ManualClock
) -> None:
    getter = asyncio.create_task(queue.get())
    queue.add_after("a", 5)

    await clock.pass_time(5)

    assert getter.result() == "a"


async def test_a_key_is_not_lost_when_its_getter_is_cancelled_at_the_last_moment(
    queue: WorkQueue[str],
) -> None:
    first, second = (asyncio.create_task(queue.get()) for _ in range(2))
    await settle()

    queue.add("a")
    first.cancel()
    await settle()

    assert first.cancelled()
    assert second.result() == "a"


async def test_a_cancelled_getter_leaves_nothing_behind(queue: WorkQueue[str]) -> None:
    getter = asyncio.create_task(queue.get())
    await settle()

    getter.cancel()
    await settle()

    assert not queue._getters


async def test_a_key_that_comes_while_its_getter_is_being_cancelled_stays(
    queue: WorkQueue[str],
) -> None:
    getter = asyncio.create_task(queue.get())
    await settle()

    getter.cancel()
    queue.add("a")
    await settle()

    assert getter.cancelled()
    assert await drained(queue) == ["a"]


async def test_a_getter_that_comes_just_in_time_takes_the_key_and_the_woken_one_waits_on(
    queue: WorkQueue[str],
) -> None:
    woken = asyncio.create_task(queue.get())
    await settle()

    queue.add("a")
    assert await queue.get() == "a"
    await settle()
    assert not woken.done()

    queue.add("b")
    assert await woken == "b"


async def test_closing_ends_all_getters_and_whatever_comes_later(
    queue: WorkQueue[str], clock: ManualClock
) -> None:
    queue.add("in work")
    key = await queue.get()
    queue.add(key)
    queue.add_after("later", 5)
    getters = [asyncio.create_task(queue.get()) for _ in range(2)]
    await settle()

    queue.close()
    queue.add("ignored")
    queue.done(key)

    for getter in getters:
        with pytest.raises(Closed):
            await getter
    with pytest.raises(Closed):
        await queue.get()
    assert clock.waiting == 0
    assert queue.stats() == Stats(waiting=0, delayed=0, in_work=0, oldest=0)


async def test_stats_tell_where_the_keys_are_and_how_long_the_oldest_waits(
    queue: WorkQueue[str], clock: ManualClock
) -> None:
    queue.add("a", priority=5)
    queue.add("b")
    queue.add_after("c", 2)
    queue.add_after("d", 60)
    clock.advance(10)
    await queue.get()
    queue.add("b", priority=1)

    assert queue.stats() == Stats(waiting=2, delayed=1, in_work=1, oldest=10)


async def test_one_timer_serves_any_number_of_delayed_keys(
    queue: WorkQueue[str], clock: ManualClock
) -> None:
    for delay in (5, 3, 9, 1, 7):
        queue.add_after(f"after {delay}", delay)
    assert clock.waiting == 1

    clock.advance(10)

    assert await drained(queue) == ["after 1", "after 3", "after 5", "after 7", "after 9"]
    assert clock.waiting == 0


async def test_a_key_that_is_always_overtaken_does_not_pile_up(queue: WorkQueue[str]) -> None:
    for _ in range(1000):
        queue.add_after("a", 3600)
        queue.add("a")
        assert await drained(queue) == ["a"]

    assert len(queue._delayed._heap) < 50


async def test_a_hundred_thousand_keys_are_no_trouble(clock: ManualClock) -> None:
    queue: WorkQueue[int] = WorkQueue(
        clock
    )  # anything worse than O(log n) runs into the time limit

    for key in range(100_000):
        if key % 2:
            queue.add_after(key, key % 97 + 1, priority=key % 5)
        else:
            queue.add(key, priority=key % 5)
    clock.advance(100)
    taken = {await queue.get() for _ in range(10_000)}

    assert len(taken) == 10_000
    assert queue.stats() == Stats(waiting=90_000, delayed=0, in_work=10_000, oldest=100)


@dataclass
class Wanted:
    """What the model knows about a key that somebody wants."""

    due: float
    priority: int
    asked: int
    """The number of the step in which it was first asked for."""
    ready: int | None = None
    """The place in line, once it is due and nobody works on it."""


class AgainstModel(RuleBasedStateMachine):
    """The queue does what a list that is searched from end to end would do."""

    keys = st.integers(0, 5)

    def __init__(self) -> None:
        super().__init__()
        self.clock = ManualClock()
        self.queue: WorkQueue[int] = WorkQueue(self.clock)
        self.wanted: dict[int, Wanted] = {}
        self.in_work: set[int] = set()
        self.steps = 0

    @rule(key=keys, priority=st.integers(-2, 2))
    def add(self, key: int, priority: int) -> None:
        self.queue.add(key, priority=priority)
        self.want(key, 0, priority)

    @rule(key=keys, delay=st.integers(-1, 6), priority=st.integers(-2, 2))
    def add_after(self, key: int, delay: int, priority: int) -> None:
        self.queue.add_after(key, delay, priority=priority)
        self.want(key, delay, priority)

    @rule(seconds=st.integers(0, 4))
    def advance(self, seconds: int) -> None:
        self.clock.advance(seconds)
        self.line_up()

    @precondition(lambda self: self.queue.stats().waiting > 0)
    @rule()
    def get(self) -> None:
        with pytest.raises(StopIteration) as taken:  # it need not wait, so needs no loop
            self.queue.get().send(None)

        line = [key for key, wanted in self.wanted.items() if wanted.ready is not None]
        first = min(line, key=lambda key: (-self.wanted[key].priority, self.wanted[key].ready))
        assert taken.value.value == first
        assert first not in self.in_work
        del self.wanted[first]
        self.in_work.add(first)

    @precondition(lambda self: self.in_work)
    @rule(data=st.data())
    def done(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(self.in_work)))
        self.queue.done(key)
        self.in_work.remove(key)
        self.line_up()

    @invariant()
    def the_numbers_agree(self) -> None:
        idle = [wanted for key, wanted in self.wanted.items() if key not in self.in_work]
        stats = self.queue.stats()
        assert stats.waiting == sum(wanted.ready is not None for wanted in idle)
        assert stats.delayed == sum(wanted.ready is None for wanted in idle)
        assert stats.in_work == len(self.in_work)
        assert self.clock.waiting <= 1

    def want(self, key: int, delay: float, priority: int) -> None:
        self.steps += 1
        due = self.clock.monotonic() + delay
        wanted = self.wanted.setdefault(key, Wanted(due, priority, self.steps))
        wanted.due, wanted.priority = min(wanted.due, due), max(wanted.priority, priority)
        self.line_up()

    def line_up(self) -> None:
        """Give what has become due a place in line: the earliest first."""
        for key, wanted in sorted(
            self.wanted.items(), key=lambda item: (item[1].due, item[1].asked)
        ):
            due = wanted.due <= self.clock.monotonic()
            if due and wanted.ready is None and key not in self.in_work:
                self.steps += 1
                wanted.ready = self.steps


TestAgainstModel = AgainstModel.TestCase
TestAgainstModel.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)
