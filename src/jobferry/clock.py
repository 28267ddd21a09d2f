"""Time as an argument: the only module that reads the clock of the machine.

Everything that waits or looks at the time takes a `Clock`; tests pass a `ManualClock`
(jobferry.testing.clock) and move it by hand.
"""

import asyncio
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import Protocol

Seconds = float
"""A duration. Amounts carry their unit in the type, so that nobody passes milliseconds."""


class Timer(Protocol):
    """A call that is due later and can be called off."""

    def cancel(self) -> None:
        """Call it off; harmless when it has already happened."""
        ...


class Clock(Protocol):
    """Where time comes from."""

    def now(self) -> datetime:
        """Return the time of day, in UTC: for what is shown or stored, never for measuring."""
        ...

    def monotonic(self) -> Seconds:
        """Return a reading that never goes back: for measuring, meaningless by itself."""
        ...

    def call_later(self, delay: Seconds, callback: Callable[[], None]) -> Timer:
        """Call `callback` on the running event loop once `delay` has passed."""
        ...


class SystemClock:
    """The clock of this machine."""

    def now(self) -> datetime:
        """Return the time of day, in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> Seconds:
        """Return the machine's monotonic reading."""
        return time.monotonic()

    def call_later(self, delay: Seconds, callback: Callable[[], None]) -> Timer:
        """Call `callback` on the running event loop once `delay` has passed."""
        return asyncio.get_running_loop().call_later(delay, callback)


async def sleep(clock: Clock, delay: Seconds) -> None:
    """Wait until `delay` has passed on `clock`."""
    over = asyncio.Event()
    timer = clock.call_later(delay, over.set)
    try:
        await over.wait()
    finally:
        timer.cancel()


LONGEST: Seconds = 100 * 365 * 86400.0
"""Who says longer than this means for ever; dates go no further than the year 9999."""


def span(seconds: Seconds) -> timedelta:
    """Return so many seconds as what can be added to a time, whatever somebody has written."""
    return timedelta(seconds=max(-LONGEST, min(LONGEST, seconds)))


def timeout(clock: Clock, delay: Seconds) -> AbstractAsyncContextManager[asyncio.Timeout]:
    """Raise `TimeoutError` out of the block once `delay` has passed on `clock`."""
    return _Timeout(clock, delay)


class _Timeout(AbstractAsyncContextManager[asyncio.Timeout]):
    """A class, since every request has one, and generators take twice as long."""

    __slots__ = ("_clock", "_delay", "_scope", "_timer")

    def __init__(self, clock: Clock, delay: Seconds) -> None:
        self._clock = clock
        self._delay = delay
        self._scope = asyncio.timeout(None)

    async def __aenter__(self) -> asyncio.Timeout:
        scope = await self._scope.__aenter__()
        self._timer = self._clock.call_later(self._delay, lambda: scope.reschedule(0))
        return scope

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._timer.cancel()
        await self._scope.__aexit__(kind, error, traceback)
