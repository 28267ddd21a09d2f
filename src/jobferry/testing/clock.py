"""A clock that stands still until a test moves it."""

import asyncio
import bisect
import itertools
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Protocol

from jobferry.clock import Clock, Seconds, Timer
from jobferry.errors import Transient

_START = datetime(2026, 1, 1, tzinfo=UTC)
# In floating point ten steps of 0.3 are a little less than 3; a test means 3.
_SLACK: Seconds = 1e-9
# Callbacks that belong to no task may take a few turns of the loop before they wake one.
_QUIET_TURNS = 5
# Who was busy is not asked again at once: to ask all of them takes longer than many a turn.
_BUSY_TURNS = 8
_MOST_TURNS = 10_000


class Outside(Protocol):
    """Something that also goes on outside of the event loop, such as a store with its disk."""

    @property
    def is_settled(self) -> bool:
        """Whether nothing is under way."""
        ...

    async def settled(self) -> None:
        """Wait until what is under way is done; raises `Transient` if it failed."""
        ...


async def settle(*outside: Outside) -> None:
    """Let all other tasks run until each is blocked, and nothing is under way outside either.

    What waits for a socket, a process or a thread counts as blocked, unless it is named.
    """
    await _until_blocked()
    while busy := [each for each in outside if not each.is_settled]:
        for each in busy:
            with suppress(Transient):
                await each.settled()
        await _until_blocked()


async def _until_blocked() -> None:
    myself = asyncio.current_task()
    known: set[asyncio.Task[object]] = set()
    quiet = looked = 0
    for turn in range(_MOST_TURNS):
        await asyncio.sleep(0)
        if not quiet and turn < looked + _BUSY_TURNS:
            continue
        looked = turn
        quiet = 0 if any(map(_can_run, known)) else quiet + 1
        if quiet == _QUIET_TURNS:
            # To find them all takes long, so it is not done each turn.
            found = asyncio.all_tasks() - {myself}
            if found <= known:
                return
            known, quiet = found, 0
    raise RuntimeError("some task keeps running without ever waiting for anything")


def _can_run(task: asyncio.Task[object]) -> bool:
    # There is no public way to ask; anyio reads the same attribute for the same purpose.
    waits_for: asyncio.Future[object] | None = getattr(task, "_fut_waiter", None)
    return waits_for.done() if waits_for is not None else not task.done()


@dataclass(order=True)
class _Timer:
    """A call that waits for its time."""

    due: Seconds
    turn: int
    callback: Callable[[], None] = field(compare=False)
    timers: "list[_Timer]" = field(compare=False, repr=False)

    def cancel(self) -> None:
        """Call it off."""
        place = bisect.bisect_left(self.timers, self)
        if self.timers[place : place + 1] == [self]:
            del self.timers[place]


class ManualClock:
    """A `jobferry.clock.Clock` moved by hand."""

    def __init__(self, start: datetime = _START) -> None:
        self._start = start
        # Not zero, so that a reading cannot be mistaken for a duration or for "not set".
        self._base = self._monotonic = 1000.0
        self._timers: list[_Timer] = []
        self._turns = itertools.count()
        self._asked = asyncio.Event()
        self.outside: list[Outside] = []
        """What `pass_time` waits for, too, before it moves on."""

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

    def next_due(self) -> Seconds:
        """Return the reading at which the next timer is due; infinity if none is set."""
        return self._timers[0].due if self._timers else float("inf")

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
        await settle(*self.outside)
        while self._fire_next(until):
            await settle(*self.outside)
        self._monotonic = max(self._monotonic, until)

    async def flow(self) -> None:
        """Move to whatever is due next, again and again, each time once all is quiet; until cancelled."""
        while True:
            await self.until_waiting()
            await settle(*self.outside)
            self.advance(max(0.0, self.next_due() - self._monotonic))

    def _fire_next(self, until: Seconds) -> bool:
        """Move to the next timer that is due by then and call it; False if there is none."""
        if not self._timers or self._timers[0].due > until + _SLACK:
            return False
        timer = self._timers.pop(0)
        self._monotonic = max(self._monotonic, timer.due)
        timer.callback()
        return True


class SkewedClock:
    """A clock that runs as another one does, but shows a time of day that is `by` later."""

    def __init__(self, inner: Clock, by: timedelta = timedelta()) -> None:
        self.by = by
        self._inner = inner

    def now(self) -> datetime:
        """Return the time of day, in UTC, as this clock has it."""
        return self._inner.now() + self.by

    def monotonic(self) -> Seconds:
        """Return the reading of the other clock."""
        return self._inner.monotonic()

    def call_later(self, delay: Seconds, callback: Callable[[], None]) -> Timer:
        """Call `callback` once `delay` has passed."""
        return self._inner.call_later(delay, callback)
