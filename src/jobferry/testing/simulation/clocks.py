"""The clocks of a simulation: one time for all, of which each cluster and dispatcher has its own idea."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from jobferry.clock import Seconds, Timer

START = datetime(2026, 1, 1, tzinfo=UTC)
BEGINNING: Seconds = 1000.0
"""What the loop reads when it is new."""


class SimulatedClock:
    """Runs as the loop does, but may show another time of day, and can be stopped as with SIGSTOP."""

    def __init__(self) -> None:
        self.by = timedelta()
        """How much later than in truth it shows."""

        self._is_stopped = False
        self._due: list[_Timer] = []

    def now(self) -> datetime:
        """Return the time of day, in UTC, as this clock has it."""
        return START + timedelta(seconds=self.monotonic() - BEGINNING) + self.by

    def monotonic(self) -> Seconds:
        """Return the reading of the loop: it goes on also for who is stopped."""
        return asyncio.get_running_loop().time()

    def call_later(self, delay: Seconds, callback: Callable[[], None]) -> Timer:
        """Call `callback` once `delay` has passed; for who is stopped, once it goes on."""
        timer = _Timer(self, callback)
        timer.handle = asyncio.get_running_loop().call_later(delay, timer.ring)
        return timer

    def stop(self) -> None:
        """Let no timer ring."""
        self._is_stopped = True

    def go_on(self) -> None:
        """Let all ring that should have meanwhile, in their order."""
        self._is_stopped = False
        due, self._due = self._due, []
        for timer in due:
            timer.ring()

    def holds(self, timer: "_Timer") -> bool:
        """Take a timer that is due, if it must wait."""
        if self._is_stopped:
            self._due.append(timer)
        return self._is_stopped


class _Timer:
    """A call that is due later."""

    __slots__ = ("_callback", "_clock", "_is_off", "handle")

    handle: asyncio.TimerHandle

    def __init__(self, clock: SimulatedClock, callback: Callable[[], None]) -> None:
        self._clock = clock
        self._callback = callback
        self._is_off = False

    def cancel(self) -> None:
        """Call it off."""
        self._is_off = True
        self.handle.cancel()

    def ring(self) -> None:
        """Make the call, unless it was called off or has to wait."""
        if not self._is_off and not self._clock.holds(self):
            self._callback()
