"""A fleet in processes of its own: real clusters, or localkube."""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from jobferry.clock import SystemClock
from jobferry.kube.transport import HttpTransport
from jobferry.testing.control_plane import JOB_CONTROLLERS, ControlPlane
from tests.conftest import new_event_loop
from tests.system.fleet import VERSIONS, Fleet, Network
from tests.system.proxy import Proxy


class Processes(Fleet):
    """All tests share it."""

    planes: Mapping[str, ControlPlane]

    def __init__(self) -> None:
        super().__init__()
        self.clock = SystemClock()
        self.reach = HttpTransport
        self.planes = {
            name: ControlPlane(version=version, controllers=JOB_CONTROLLERS, audit=True)
            for name, version in VERSIONS.items()
        }
        self._background = Background()

    def start(self) -> None:
        """Start everything, and wait until the dispatcher has both workers."""
        try:
            with ThreadPoolExecutor() as pool:
                list(pool.map(ControlPlane.start, self.planes.values()))
            self._background.start(self._run)
        except BaseException:
            self.stop()
            raise

    async def _run(self, ready: Callable[[], None]) -> None:
        await self.prepare()
        await self.serve(ready)

    def stop(self) -> None:
        """End everything."""
        self._background.stop()
        for plane in self.planes.values():
            plane.stop()

    def check(self) -> None:
        """Raise what has ended the dispatcher or a kubelet, if anything has."""
        self._background.check()

    def network(self, url: str) -> Network:
        """Return another way to where a URL leads."""
        return Proxy(url)

    def audit_log(self, name: str) -> bytes:
        """Return what a cluster was asked so far, a line for each request."""
        return self.planes[name].audit_log.read_bytes()


class Background:
    """Runs what lasts as long as the session, on an event loop in a thread of its own."""

    def __init__(self) -> None:
        self._failure: BaseException | None = None
        self._loop = new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._task: asyncio.Task[None] | None = None
        self._settled = threading.Event()

    def start(self, serve: Callable[[Callable[[], None]], Coroutine[Any, Any, None]]) -> None:
        """Start it, and wait until it says that it is ready."""
        self._thread.start()
        self._loop.call_soon_threadsafe(self._begin, serve)
        assert self._settled.wait(60), "the fleet was not ready within a minute"
        self.check()

    def stop(self) -> None:
        """End it."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._end)
            self._thread.join()
        self._loop.close()

    def check(self) -> None:
        """Raise what has ended it, if anything has."""
        if self._failure is not None:
            raise self._failure

    def _begin(self, serve: Callable[[Callable[[], None]], Coroutine[Any, Any, None]]) -> None:
        self._task = self._loop.create_task(serve(self._settled.set))
        self._task.add_done_callback(self._note_end)

    def _note_end(self, task: asyncio.Task[None]) -> None:
        self._failure = None if task.cancelled() else task.exception()
        self._settled.set()

    def _end(self) -> None:
        assert self._task is not None
        self._task.add_done_callback(lambda _: self._loop.stop())
        self._task.cancel()
