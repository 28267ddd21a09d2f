"""What every controller is: a queue of keys, a pass over one of them, and who fills the queue."""

from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

from jobferry.kube import errors
from jobferry.kube.client import Client
from jobferry.runtime.backoff import Backoff, Failures
from jobferry.runtime.reconcile import Again, Loop, Outcome
from jobferry.runtime.workqueue import WorkQueue

K = TypeVar("K", bound=Hashable)

BACKOFF = Backoff(first=0.01, cap=30.0)
"""A write that met a newer object is tried again at once; a server in trouble is left in peace."""


class Controller(Generic[K]):
    """Has each key that is added brought in order by `reconcile`, again later if that fails.

    A controller makes one, lets its informers' listeners `add` keys, and gives `run` to its owner, who starts
    it once the informers are whole.
    """

    def __init__(
        self,
        name: str,
        client: Client,
        reconcile: Callable[[K], Awaitable[Outcome]],
        *,
        workers: int = 5,
        backoff: Backoff = BACKOFF,
    ) -> None:
        self.name = name
        self.queue: WorkQueue[K] = WorkQueue(client.clock)
        self._reconcile = reconcile
        self._conflicts: Failures[K] = Failures(backoff, client.random)
        self._loop = Loop(
            name,
            self._pass,
            queue=self.queue,
            failures=Failures(backoff, client.random),
            workers=workers,
        )

    def add(self, key: K) -> None:
        """Ask for a pass over `key`."""
        self.queue.add(key)

    async def run(self) -> None:
        """Work until cancelled."""
        await self._loop.run()

    async def _pass(self, key: K) -> Outcome:
        try:
            outcome = await self._reconcile(key)
        except errors.Conflict:
            # Somebody was faster: nothing to complain about, the watch is about to tell.
            return Again(self._conflicts.delay(key))
        self._conflicts.forget(key)
        return outcome
