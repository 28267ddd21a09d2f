"""Notices time that passed while nobody here listened to workers: it says nothing about them."""

import asyncio
from collections.abc import Callable
from datetime import timedelta

from jobferry.clock import Clock, Seconds
from jobferry.kube.heartbeat import LATE

EVERY: Seconds = 2.0
"""How often the clocks are read."""


class Vigil:
    """Compares the time of day with the time in which this process ran.

    More of it passes while the process is stopped or starved, while its machine sleeps, and when the clock is set;
    less, when it is put back. `on_slip` hears by how much.
    """

    def __init__(self, clock: Clock, on_slip: Callable[[timedelta], None]) -> None:
        self._clock = clock
        self._on_slip = on_slip

    async def run(self) -> None:
        """Keep looking until cancelled."""
        self._begin()
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            self._timer.cancel()

    def _begin(self) -> None:
        self._now, self._reading = self._clock.now(), self._clock.monotonic()
        # Not a task that sleeps: in a process that wakes up, this is to come before any task decides anything.
        self._timer = self._clock.call_later(EVERY, self._look)

    def _look(self) -> None:
        ran = min(self._clock.monotonic() - self._reading, EVERY)
        slip = self._clock.now() - self._now - timedelta(seconds=ran)
        self._begin()
        if abs(slip.total_seconds()) > LATE:
            self._on_slip(slip)
