import asyncio
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
import uvloop

from jobferry.clock import Clock, sleep, timeout
from jobferry.testing import clock as clocks
from jobferry.testing.clock import ManualClock, SkewedClock

Run = Callable[[Coroutine[Any, Any, None]], None]


@pytest.fixture(
    params=[asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"]
)
def run(request: pytest.FixtureRequest) -> Run:
    def runner(main: Coroutine[Any, Any, None]) -> None:
        with asyncio.Runner(loop_factory=request.param) as loop:
            loop.run(main)

    return runner


def test_it_is_a_clock_that_stands_still() -> None:
    clock: Clock = ManualClock(datetime(2030, 5, 1, tzinfo=UTC))

    assert clock.now() == clock.now() == datetime(2030, 5, 1, tzinfo=UTC)
    assert clock.monotonic() == clock.monotonic()


def test_both_readings_move_by_what_it_is_advanced() -> None:
    clock = ManualClock()
    now, reading = clock.now(), clock.monotonic()

    clock.advance(90.5)

    assert clock.now() - now == timedelta(seconds=90.5)
    assert clock.monotonic() - reading == 90.5


def test_timers_fire_in_the_order_they_are_due_and_see_their_own_time() -> None:
    clock = ManualClock()
    start, seen = clock.monotonic(), list[tuple[str, float]]()

    def note(name: str) -> None:
        seen.append((name, clock.monotonic() - start))

    for name, delay in [("c", 3.0), ("a", 1.0), ("b", 2.0), ("late", 9.0)]:
        clock.call_later(delay, partial(note, name))

    clock.advance(5)

    assert seen == [("a", 1.0), ("b", 2.0), ("c", 3.0)]
    assert clock.monotonic() - start == 5
    assert clock.waiting == 1


def test_timers_due_at_the_same_time_fire_in_the_order_they_were_set() -> None:
    clock, seen = ManualClock(), list[int]()
    for number in range(5):
        clock.call_later(1, partial(seen.append, number))

    clock.advance(1)

    assert seen == [0, 1, 2, 3, 4]


def test_a_timer_set_by_a_timer_fires_in_the_same_move_if_due() -> None:
    clock, seen = ManualClock(), list[str]()

    def first() -> None:
        clock.call_later(1, partial(seen.append, "second"))

    clock.call_later(1, first)

    clock.advance(1.5)
    assert seen == []

    clock.advance(0.5)
    assert seen == ["second"]


def test_a_cancelled_timer_does_not_fire_and_cancelling_twice_is_harmless() -> None:
    clock, seen = ManualClock(), list[str]()
    timer = clock.call_later(1, lambda: seen.append("fired"))

    timer.cancel()
    timer.cancel()
    clock.advance(2)

    assert seen == []
    assert clock.waiting == 0


def test_small_steps_reach_a_timer_in_spite_of_rounding() -> None:
    clock, seen = ManualClock(), list[str]()
    clock.call_later(3, lambda: seen.append("fired"))

    for _ in range(10):
        clock.advance(0.3)

    assert seen == ["fired"]


def test_no_delay_needs_no_move(run: Run) -> None:
    async def main() -> None:
        await sleep(ManualClock(), 0)

    run(main())


def test_passing_time_lets_a_task_wait_again_and_again(run: Run) -> None:
    clock, ticks = ManualClock(), list[float]()
    start = clock.monotonic()

    async def tick() -> None:
        while True:
            await sleep(clock, 1)
            ticks.append(clock.monotonic() - start)

    async def main() -> None:
        ticker = asyncio.create_task(tick())
        await clock.pass_time(3.5)
        ticker.cancel()

    run(main())

    assert ticks == [1, 2, 3]


def test_passing_time_waits_for_a_long_chain_of_tasks(run: Run) -> None:
    clock, links = ManualClock(), [asyncio.Event() for _ in range(100)]

    async def hand_on(number: int) -> None:
        await links[number].wait()
        links[number + 1].set()

    async def main() -> None:
        chain = [asyncio.create_task(hand_on(number)) for number in range(99)]
        clock.call_later(1, links[0].set)

        await clock.pass_time(1)

        assert links[-1].is_set()
        assert all(task.done() for task in chain)

    run(main())


def test_passing_time_gives_callbacks_without_a_task_a_few_turns(run: Run) -> None:
    clock, over = ManualClock(), asyncio.Event()

    async def main() -> None:
        loop = asyncio.get_running_loop()

        def detour() -> None:
            loop.call_soon(loop.call_soon, over.set)

        clock.call_later(1, detour)

        await clock.pass_time(1)

        assert over.is_set()

    run(main())


def test_passing_time_makes_timeouts_happen(run: Run) -> None:
    clock = ManualClock()

    async def impatient() -> None:
        async with timeout(clock, 5):
            await asyncio.Event().wait()

    async def main() -> None:
        task = asyncio.create_task(impatient())
        await clock.pass_time(4.9)
        assert not task.done()

        await clock.pass_time(0.1)
        assert isinstance(task.exception(), TimeoutError)

    run(main())


def test_one_can_wait_until_somebody_waits_on_the_clock(run: Run) -> None:
    clock = ManualClock()

    async def sleeper(ready: asyncio.Event) -> None:
        await ready.wait()
        await sleep(clock, 1)

    async def main() -> None:
        ready = [asyncio.Event(), asyncio.Event()]
        sleepers = [asyncio.create_task(sleeper(event)) for event in ready]
        watcher = asyncio.create_task(clock.until_waiting(2))

        ready[0].set()
        await clocks.settle()
        assert not watcher.done()

        ready[1].set()
        await watcher
        clock.advance(1)
        await asyncio.wait(sleepers)

    run(main())


async def test_a_task_that_never_waits_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clocks, "_MOST_TURNS", 50)

    async def spin() -> None:
        while True:  # noqa: ASYNC110 - the bad habit itself
            await asyncio.sleep(0)

    spinner = asyncio.create_task(spin())
    with pytest.raises(RuntimeError, match="keeps running"):
        await clocks.settle()
    spinner.cancel()


async def test_the_clock_tells_when_the_next_timer_is_due() -> None:
    clock = ManualClock()
    began = clock.monotonic()

    assert clock.next_due() == float("inf")

    clock.call_later(5, lambda: None)
    clock.call_later(3, lambda: None)

    assert clock.next_due() == began + 3


def test_time_flows_from_one_thing_that_is_due_to_the_next(run: Run) -> None:
    clock = clocks.ManualClock()
    seen: list[tuple[str, float]] = []

    async def sleeper(name: str, *delays: float) -> None:
        for delay in delays:
            await sleep(clock, delay)
            await asyncio.sleep(0)  # who is still busy holds up the time of the others
            seen.append((name, clock.monotonic() - began))

    began = clock.monotonic()

    async def main() -> None:
        time = asyncio.create_task(clock.flow())
        await asyncio.gather(sleeper("a", 10, 3600), sleeper("b", 20))
        time.cancel()

    run(main())
    assert seen == [("a", 10), ("b", 20), ("a", 3610)]


async def test_a_skewed_clock_shows_another_time_of_day_and_runs_as_the_other_does() -> None:
    inner, called = ManualClock(), list[str]()
    clock: Clock = SkewedClock(inner, timedelta(hours=1))
    clock.call_later(5, lambda: called.append("later"))

    inner.advance(5)

    assert called == ["later"]
    assert clock.now() == inner.now() + timedelta(hours=1)
    assert clock.monotonic() == inner.monotonic()
