"""Every task has an owner: it starts them by name, hears of the first failure, leaves none behind.

    async with supervise.tasks("dispatcher", clock=clock) as tasks:
        tasks.start("informer", informer.run)
        await informer.synced()               # cancelled if the informer fails
        tasks.start("loop", loop.run)
        await tasks.ended()                   # leaving the block stops the loop, then the informer

A part that comes and goes while the rest runs is a child whose function has such a block of its own.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from jobferry import log
from jobferry.clock import Clock, Seconds
from jobferry.errors import Error

Run = Callable[[], Coroutine[Any, Any, None]]

_log = log.get(__name__)


class Lost(Error):
    """A task ended by a cancellation that its owner had not asked for."""


class Child:
    """One task that its owner can stop."""

    def __init__(
        self, name: str, task: asyncio.Task[None], *, clock: Clock, grace: Seconds
    ) -> None:
        self.name = name
        self._task = task
        self._clock = clock
        self._grace = grace
        self._over = asyncio.Event()
        self._asked = False

    @property
    def is_running(self) -> bool:
        """Whether it has not ended yet."""
        return not self._over.is_set()

    def ask_to_stop(self) -> None:
        """Cancel the task, once: its clean-up is not disturbed by being asked again."""
        if not self._asked and not self._task.done():
            self._asked = True
            self._task.cancel()

    async def stop(self) -> None:
        """Cancel the task and wait for its end; whenever the grace time is over, cancel again."""
        self.ask_to_stop()
        # A timer of our own: in a task that was itself cancelled, Python 3.11.2 tells no timeout from that.
        self._timer = self._clock.call_later(self._grace, self._insist)
        try:
            await self._over.wait()
        finally:
            self._timer.cancel()

    def _insist(self) -> None:
        _log.warning("Task does not stop; cancelling it again", task=self.name)
        self._task.cancel()
        self._timer = self._clock.call_later(self._grace, self._insist)

    def conclude(self) -> BaseException | None:
        """Take note that the task ended; return why, unless it just returned or was stopped."""
        self._over.set()
        if self._task.cancelled():
            return None if self._asked else Lost(f"others cancelled the task {self.name}")
        error = self._task.exception()
        if error is not None and self._asked:
            _log.failure("Task failed while stopping", error, task=self.name)
            return None
        return error


class Supervisor:
    """The owner of some tasks; made by `tasks`."""

    def __init__(
        self, name: str, scope: asyncio.Timeout, *, clock: Clock, grace: Seconds
    ) -> None:
        self.name = name
        self.failure: BaseException | None = None
        self._scope = scope
        self._clock = clock
        self._grace = grace
        self._children: dict[asyncio.Task[None], Child] = {}  # in the order of their start
        self._stopping = False

    def start(
        self, name: str, run: Run, *, on_failure: Callable[[BaseException], None] | None = None
    ) -> Child:
        """Run a function as a task of its own.

        If it fails, `on_failure` is told; without one, the owner fails: its block is cancelled, all
        tasks are stopped, and the error is raised from the block.
        """
        if self._stopping:
            raise RuntimeError(f"{self.name} is stopping and cannot start {name}")
        task = asyncio.create_task(run(), name=f"{self.name}: {name}")
        self._children[task] = Child(name, task, clock=self._clock, grace=self._grace)
        task.add_done_callback(lambda ended: self._note_end(ended, on_failure or self._fail))
        return self._children[task]

    async def ended(self) -> None:
        """Wait until no task is left, which for services means: until cancelled."""
        while self._children:
            await asyncio.wait(self._children)

    async def stop(self) -> None:
        """Stop all tasks, the last one started first; if cancelled meanwhile, all at once."""
        self._stopping = True
        impatient: asyncio.CancelledError | None = None
        while self._children:
            try:
                await next(reversed(self._children.values())).stop()
            except asyncio.CancelledError as exc:
                impatient = exc
                for child in self._children.values():
                    child.ask_to_stop()
        if impatient is not None:
            raise impatient

    def _note_end(
        self, task: asyncio.Task[None], on_failure: Callable[[BaseException], None]
    ) -> None:
        child = self._children.pop(task)
        error = child.conclude()
        if error is not None:
            _log.warning("Task failed", owner=self.name, task=child.name, error=repr(error))
            on_failure(error)

    def _fail(self, error: BaseException) -> None:
        if self.failure is not None:
            _log.failure("Another task had failed before", error, owner=self.name)
            return
        self.failure = error
        if not self._stopping:
            self._scope.reschedule(0)


@asynccontextmanager
async def tasks(name: str, *, clock: Clock, grace: Seconds = 5.0) -> AsyncIterator[Supervisor]:
    """Own tasks during the block; at its end stop them in the reverse order of their start."""
    scope = asyncio.timeout(None)  # never set by time: it cancels the block when a task fails
    owner = Supervisor(name, scope, clock=clock, grace=grace)
    try:
        async with scope:
            yield owner
    except TimeoutError:
        if owner.failure is None:
            raise
    finally:
        await owner.stop()
    if owner.failure is not None:
        raise owner.failure
