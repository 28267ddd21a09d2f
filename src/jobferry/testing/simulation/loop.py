"""An event loop whose only clock is virtual: when nothing is ready, time jumps to the next timer.

No thread and no socket: whatever runs on it runs in the same order each time.
"""

import asyncio
import itertools
import socket
from collections.abc import Callable, Coroutine, Generator, Iterable
from concurrent.futures import Executor
from contextvars import Context
from math import ceil
from typing import Any, TypeVar, TypeVarTuple

from jobferry.clock import Seconds
from jobferry.errors import Error

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

TICKS = 1_000_000
"""In a second. All timers are on a grid: one that is woken a hair too early would ask for a hair more, for ever."""

_INSTEAD = "test code that needs any on `jobferry up` or jobferry.testing.control_plane"

MOST_TURNS = 20_000
"""Of the loop within one tick: more is somebody who runs without ever waiting."""


class Spinning(Error):
    """Somebody runs on and on while no time passes."""


class Stuck(Error):
    """Everybody waits, and nobody for a time that will come."""


class _Task(asyncio.Task[Any]):
    def __init__(self, *args: Any, number: int, **options: Any) -> None:
        self._number = number
        super().__init__(*args, **options)

    def __hash__(self) -> int:
        return self._number


class _Future(asyncio.Future[Any]):
    def __init__(self, number: int, loop: asyncio.AbstractEventLoop) -> None:
        self._number = number
        super().__init__(loop=loop)

    def __hash__(self) -> int:
        return self._number


class VirtualLoop(asyncio.BaseEventLoop):
    """Runs what is ready, then lets time jump."""

    def __init__(self) -> None:
        super().__init__()
        self._ticks = 1000 * TICKS  # not zero, so that a reading is not mistaken for a duration
        self._turns = 0
        self._numbers = itertools.count()
        # What BaseEventLoop asks of those who derive from it, though it says so nowhere.
        self._clock_resolution = 0.5 / TICKS
        self._selector = self

    def time(self) -> Seconds:
        """Return the virtual time."""
        return self._ticks / TICKS

    def call_at(
        self,
        when: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """Call `callback` at the tick that is nearest to `when`."""
        return super().call_at(round(when * TICKS) / TICKS, callback, *args, context=context)

    def call_later(
        self,
        delay: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """Call `callback` after so long: the least that is more than nothing is a tick."""
        ticks = max(ceil(delay * TICKS), int(delay > 0))
        return self.call_at((self._ticks + ticks) / TICKS, callback, *args, context=context)

    def select(self, timeout: Seconds | None) -> list[Any]:
        """Let time jump: nothing comes from outside, so there is nothing else to wait for."""
        if timeout is None:
            raise Stuck("everybody waits, and no timer is set")
        jump = round(timeout * TICKS)
        if jump > 0:
            self._ticks += jump
            self._turns = 0
        else:
            self._turns += 1
            if self._turns > MOST_TURNS:
                self._turns = 0  # who is told has as many to put things in order
                raise Spinning(
                    f"{MOST_TURNS} turns without any time passing, by {self._busy()}"
                )
        return []

    def create_future(self) -> asyncio.Future[Any]:
        """Make a future that is known by its number."""
        return _Future(next(self._numbers), self)

    def run_in_executor(
        self, executor: Executor | None, func: Callable[[*Ts], T], *args: *Ts
    ) -> asyncio.Future[T]:
        """Refuse: threads have a time of their own, which nobody can repeat."""
        raise RuntimeError(f"a simulation has no threads, not even for {func!r}: {_INSTEAD}")

    async def sock_connect(self, sock: socket.socket, address: object) -> None:
        """Refuse: what is outside has a time of its own, too."""
        raise RuntimeError(f"a simulation has no sockets, not even to {address}: {_INSTEAD}")

    def create_task(
        self,
        coro: Generator[Any, None, T] | Coroutine[Any, Any, T],
        *,
        name: object = None,
        context: Context | None = None,
    ) -> asyncio.Task[T]:
        """Make a task that is known by its number."""
        number = next(self._numbers)
        return _Task(coro, loop=self, name=name, context=context, number=number)

    def _busy(self) -> str:
        """Name the tasks that are about to run."""
        ready: Iterable[Any] = self._ready  # type: ignore[attr-defined]  # private to asyncio
        tasks = [getattr(each._callback, "__self__", None) for each in ready]  # noqa: SLF001 (no other way)
        return ", ".join(each.get_name() for each in tasks if isinstance(each, asyncio.Task))

    def _process_events(self, event_list: list[Any]) -> None:
        """Nothing ever comes from outside."""

    def _write_to_self(self) -> None:
        """There is nobody to wake: this loop never blocks (Ctrl-C is heard at its next turn)."""


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine in a time of its own, to its end."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main)
