"""The reconcile loop: takes keys from a queue, has each brought in order, tries again what failed.

A reconciler gets a key, reads the world and returns an outcome; it never sees what happened. A key that
failed comes again, after ever longer waits, until it succeeds: what is wrong now, whoever made it so, may be
right later, and nobody else would look.
"""

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from jobferry import log
from jobferry.clock import Seconds
from jobferry.runtime.backoff import Failures
from jobferry.runtime.workqueue import Closed, WorkQueue

K = TypeVar("K", bound=Hashable)

_log = log.get(__name__)


@dataclass(frozen=True, slots=True)
class Done:
    """The key is in order."""


@dataclass(frozen=True, slots=True)
class Again:
    """The key is in order so far, and wants another look later."""

    after: Seconds


DONE = Done()
Outcome = Done | Again
Reconciler = Callable[[K], Awaitable[Outcome]]


PROMPT: Seconds = 0.1
"""A pass that takes longer waits for somebody: another one begins in its place, so that others do not wait, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """How many passes ended in which way, since the start."""

    done: int
    again: int
    error: int


class Loop(Generic[K]):
    """Runs a reconciler on the keys of a queue, several at a time but each key only once.

    Up to `most_slow` passes that take long do not count: they wait for somebody whom others do not need.
    """

    def __init__(
        self,
        name: str,
        reconcile: Reconciler[K],
        *,
        queue: WorkQueue[K],
        failures: Failures[K],
        workers: int,
        most_slow: int = 0,
    ) -> None:
        self.name = name
        self._reconcile = reconcile
        self._queue = queue
        self._failures = failures
        self._workers = workers
        self._most_slow = most_slow
        self._group: asyncio.TaskGroup | None = None
        self._slow = 0
        self._passes = itertools.count(1)
        self._counts = {"done": 0, "again": 0, "error": 0}

    async def run(self) -> None:
        """Work until cancelled, or until the queue is closed."""
        self._slow = 0
        async with asyncio.TaskGroup() as self._group:
            for number in range(self._workers):
                self._group.create_task(self._work(), name=f"{self.name} {number}")

    def stats(self) -> Stats:
        """Return how many passes ended in which way."""
        return Stats(**self._counts)

    async def _work(self) -> None:
        """Take key after key, until somebody else has begun in our place."""
        while True:
            try:
                key = await self._queue.get()
            except Closed:
                return
            stand_in = _StandIn(self._begin_another)
            timer = self._queue.clock.call_later(PROMPT, stand_in.begin)
            try:
                with log.context(key=key, pass_id=f"{self.name}-{next(self._passes)}"):
                    await self._pass(key)
            finally:
                timer.cancel()
                self._queue.done(key)
            if stand_in.has_begun:
                self._slow -= 1
                return

    def _begin_another(self) -> bool:
        """Let another take keys, unless there are too many already."""
        if self._group is None or self._slow >= self._most_slow:
            return False
        work = self._work()
        try:
            self._group.create_task(work, name=f"{self.name}, in place of another")
        except RuntimeError:  # all of it is just being stopped
            work.close()
            return False
        self._slow += 1
        return True

    async def _pass(self, key: K) -> None:
        try:
            outcome = await self._reconcile(key)
        except asyncio.CancelledError as error:
            if _is_cancelled():
                self._queue.add(key)  # unfinished: whoever runs this loop next begins with it
                raise
            self._failed(key, error)  # it awaited something that others cancelled
        except Exception as error:  # noqa: BLE001 - whatever it is, the other keys go on
            self._failed(key, error)
        else:
            self._succeeded(key, outcome)

    def _succeeded(self, key: K, outcome: Outcome) -> None:
        self._failures.forget(key)
        if isinstance(outcome, Again):
            self._counts["again"] += 1
            self._queue.add_after(key, outcome.after)
        else:
            self._counts["done"] += 1

    def _failed(self, key: K, error: BaseException) -> None:
        """Try again later, whatever it is: nothing but success ends a key, or its work would be left undone."""
        self._counts["error"] += 1
        delay = max(self._failures.delay(key), _wanted_delay(error))
        self._queue.add_after(key, delay)
        _log.failure("Pass failed", error, again_in=round(delay, 3))


class _StandIn:
    """Who takes keys in place of one whose pass takes long."""

    def __init__(self, begin: Callable[[], bool]) -> None:
        self.has_begun = False
        self._begin = begin

    def begin(self) -> None:
        """Begin; at most once."""
        self.has_begun = self._begin()


def _is_cancelled() -> bool:
    """Tell whether the current task itself was asked to end."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _wanted_delay(error: BaseException) -> Seconds:
    """Return how long to wait at least, where the other side said so."""
    return getattr(error, "retry_after", None) or 0.0
