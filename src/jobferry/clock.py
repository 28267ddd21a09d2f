"""Time as an argument: the only module that reads the clock of the machine.

Everything that waits or looks at the time takes a `Clock`; tests pass a `ManualClock`
(jobferry.testing.clock) and move it by hand.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
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


@asynccontextmanager
async def timeout(clock: Clock, delay: Seconds) -> AsyncIterator[asyncio.Timeout]:
    """Raise `TimeoutError` out of the block once `delay` has passed on `clock`."""
    async with asyncio.timeout(None) as scope:
        timer = clock.call_later(delay, lambda: scope.reschedule(0))
        try:
            yield scope
        finally:
            timer.cancel()
