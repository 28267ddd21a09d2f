"""A clock that stands still until a test moves it."""

import asyncio
import bisect
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from jobferry.clock import Seconds, Timer

_START = datetime(2026, 1, 1, tzinfo=UTC)
# In floating point ten steps of 0.3 are a little less than 3; a test means 3.
_SLACK: Seconds = 1e-9
# Callbacks that belong to no task may take a few turns of the loop before they wake one.
_QUIET_TURNS = 5
_MOST_TURNS = 10_000


async def settle() -> None:
    """Let all other tasks run until each is blocked.

    What waits for a socket, a process or a thread counts as blocked.
    """
    myself = asyncio.current_task()
    quiet = 0
    for _ in range(_MOST_TURNS):
        await asyncio.sleep(0)
        busy = any(_can_run(task) for task in asyncio.all_tasks() if task is not myself)
        quiet = 0 if busy else quiet + 1
        if quiet == _QUIET_TURNS:
            return
    raise RuntimeError("some task keeps running without ever waiting for anything")


def _can_run(task: asyncio.Task[object]) -> bool:
    # There is no public way to ask; anyio reads the same attribute for the same purpose.
    waits_for: asyncio.Future[object] | None = getattr(task, "_fut_waiter", None)
    return waits_for is None or waits_for.done()


@dataclass(order=True)
class _Timer:
    """A call that waits for its time."""

    due: Seconds
    turn: int
    callback: Callable[[], None] = field(compare=False)
    timers: "list[_Timer]" = field(compare=False, repr=False)

    def cancel(self) -> None:
        """Call it off."""
        if self in self.timers:
            self.timers.remove(self)


class ManualClock:
    """A `jobferry.clock.Clock` moved by hand."""

    def __init__(self, start: datetime = _START) -> None:
        self._start = start
        # Not zero, so that a reading cannot be mistaken for a duration or for "not set".
        self._base = self._monotonic = 1000.0
        self._timers: list[_Timer] = []
        self._turns = itertools.count()
        self._asked = asyncio.Event()

    def now(self) -> datetime:
        """Return the time of day, in UTC."""
        return self._start + timedelta(seconds=self._monotonic - self._base)

    def monotonic(self) -> Seconds:
        """Return a reading that moves with `advance` only."""
        return self._monotonic

    def call_later(self, delay: Seconds, callback: Callable[[], None]) -> Timer:
        """Call `callback` once the clock was moved by `delay`; soon if there is no delay."""
        if delay <= 0:
            return asyncio.get_running_loop().call_soon(callback)
        timer = _Timer(self._monotonic + delay, next(self._turns), callback, self._timers)
        bisect.insort(self._timers, timer)
        self._asked.set()
        return timer

    @property
    def waiting(self) -> int:
        """How many timers are set."""
        return len(self._timers)

    async def until_waiting(self, timers: int = 1) -> None:
        """Wait until that many timers are set, that is, until somebody waits on this clock."""
        while self.waiting < timers:
            self._asked.clear()
            await self._asked.wait()

    def advance(self, seconds: Seconds) -> None:
        """Move on, calling what falls due at its time and in order; tasks run only after this."""
        until = self._monotonic + seconds
        while self._fire_next(until):
            pass
        self._monotonic = max(self._monotonic, until)

    async def pass_time(self, seconds: Seconds) -> None:
        """Move on as real time does: whoever is woken runs until it is blocked, then the next."""
        until = self._monotonic + seconds
        await settle()
        while self._fire_next(until):
            await settle()
        self._monotonic = max(self._monotonic, until)

    def _fire_next(self, until: Seconds) -> bool:
        """Move to the next timer that is due by then and call it; False if there is none."""
        if not self._timers or self._timers[0].due > until + _SLACK:
            return False
        timer = self._timers.pop(0)
        self._monotonic = max(self._monotonic, timer.due)
        timer.callback()
        return True
