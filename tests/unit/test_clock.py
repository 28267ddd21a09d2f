import asyncio
from datetime import UTC, datetime

import pytest

from jobferry.clock import SystemClock, sleep, span, timeout
from jobferry.testing.clock import ManualClock, settle


async def test_the_system_clock_tells_utc_and_never_goes_back() -> None:
    clock = SystemClock()

    first, second = clock.monotonic(), clock.monotonic()

    assert clock.now().tzinfo is UTC
    assert first <= second


async def test_the_system_clock_calls_back_on_the_loop() -> None:
    called = asyncio.Event()

    SystemClock().call_later(0.001, called.set)

    await called.wait()


async def test_sleep_ends_when_its_time_has_passed_and_not_before() -> None:
    clock = ManualClock()
    sleeper = asyncio.create_task(sleep(clock, 10))

    await clock.pass_time(9.9)
    assert not sleeper.done()

    await clock.pass_time(0.1)
    assert sleeper.done()


async def test_a_cancelled_sleep_leaves_no_timer_behind() -> None:
    clock = ManualClock()
    sleeper = asyncio.create_task(sleep(clock, 10))
    await clock.until_waiting()

    sleeper.cancel()
    await settle()

    assert clock.waiting == 0


async def test_a_block_that_is_quick_enough_leaves_no_timer_behind() -> None:
    clock = ManualClock()

    async with timeout(clock, 5):
        assert clock.waiting == 1

    assert clock.waiting == 0


async def test_an_error_in_the_block_is_not_taken_for_a_timeout() -> None:
    clock = ManualClock()

    with pytest.raises(KeyError):
        async with timeout(clock, 5):
            raise KeyError


async def test_a_cancellation_from_outside_is_not_taken_for_a_timeout() -> None:
    clock = ManualClock()

    async def patient() -> None:
        async with timeout(clock, 5):
            await asyncio.Event().wait()

    task = asyncio.create_task(patient())
    await clock.until_waiting()
    task.cancel()
    await settle()

    assert task.cancelled()


async def test_of_nested_timeouts_the_one_that_is_due_ends_its_own_block() -> None:
    clock, ended = ManualClock(), list[str]()

    async def nested() -> None:
        try:
            async with timeout(clock, 1):
                try:
                    async with timeout(clock, 2):
                        await asyncio.Event().wait()
                except TimeoutError:
                    ended.append("inner")
        except TimeoutError:
            ended.append("outer")

    task = asyncio.create_task(nested())
    await clock.pass_time(3)

    assert task.done()
    assert ended == ["outer"]


def test_for_ever_can_be_added_to_a_time_and_taken_from_it() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)

    assert now - span(2**63) < now + span(60) < now + span(2**63)
