"""A block that runs in a task of its own, so that others can begin and end it."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Generic, TypeVar

from jobferry.runtime.supervise import Child, Supervisor

T = TypeVar("T")


class Service(Generic[T]):
    """Enters a block when it is started, and leaves it when it is stopped."""

    def __init__(
        self, tasks: Supervisor, name: str, make: Callable[[], AbstractAsyncContextManager[T]]
    ) -> None:
        self._tasks = tasks
        self._name = name
        self._make = make
        self._child: Child | None = None

    async def start(self) -> T:
        """Enter the block, and return what it gives."""
        ready: asyncio.Future[T] = asyncio.get_running_loop().create_future()

        async def run() -> None:
            async with self._make() as made:
                ready.set_result(made)
                await asyncio.Event().wait()

        self._child = self._tasks.start(self._name, run)
        return await ready

    async def stop(self) -> None:
        """Leave the block, if it was entered."""
        if self._child is not None:
            await self._child.stop()
            self._child = None
