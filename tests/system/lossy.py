"""Controllers whose requests get lost, whose watches lag behind, and which are killed."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

from jobferry.clock import Seconds
from jobferry.kube import errors
from jobferry.kube.wire import Answer, Request, Stream, Transport
from tests.system import virtual
from tests.system.job_stage import Audience, playing


class Faulty:
    """Loses one write: the request, or the answer to it. After that it may be silent for ever."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self.hit = asyncio.Event()
        self.writes: list[str] = []
        self._held = ""
        self._delivered = asyncio.Event()
        self.arm(0, after=False)

    def arm(self, number: int, *, after: bool, silent: bool = False, hold: str = "") -> None:
        """Lose the write of that number, from 1 on, counted from now; 0: none. `hold` a watch with it."""
        self._left, self._after, self._silent = number, after, silent
        self._hold = hold
        self.hit.clear()

    def hold(self, plural: str) -> None:
        """Let the watch of a resource lag behind until `deliver`."""
        self._held = plural
        self._delivered.clear()

    def deliver(self) -> None:
        """Let all watches catch up."""
        self._held = ""
        self._delivered.set()

    async def send(self, request: Request, *, within: Seconds) -> Answer:
        if request.method == "GET" or "/events" in request.target:
            return await self._inner.send(request, within=within)
        self.writes.append(f"{request.method} {request.target}")
        if not self._left:
            return await self._inner.send(request, within=within)
        self._left -= 1
        if self._left:
            return await self._inner.send(request, within=within)
        self.hold(self._hold)
        if self._after:
            await self._inner.send(request, within=within)
        self.hit.set()
        if self._silent:
            await asyncio.Event().wait()
        raise errors.Timeout("lost")

    @asynccontextmanager
    async def stream(self, request: Request, *, within: Seconds) -> AsyncIterator[Stream]:
        async with self._inner.stream(request, within=within) as stream:
            yield _Late(stream, partial(self._caught_up, request.target))

    async def _caught_up(self, target: str) -> None:
        while self._held and target.partition("?")[0].endswith(f"/{self._held}"):
            await self._delivered.wait()

    async def close(self) -> None:
        await self._inner.close()


class _Late:
    """A stream that is held back."""

    def __init__(self, stream: Stream, caught_up: Callable[[], Awaitable[None]]) -> None:
        self.code, self.headers = stream.code, stream.headers
        self._stream = stream
        self._caught_up = caught_up

    async def read(self) -> bytes:
        read = await self._stream.read()
        await self._caught_up()
        return read

    def fail(self, error: errors.Unreachable) -> None:
        self._stream.fail(error)


class Lossy:
    """A controller whose requests can be lost; it can be started anew."""

    def __init__(self, cluster: virtual.Cluster) -> None:
        self._cluster = cluster
        self._running = AsyncExitStack()
        self.faulty: Faulty

    async def start(self) -> None:
        client = self._cluster.client(self._wrap)
        await self._running.enter_async_context(virtual.running_jobs(client))

    def _wrap(self, inner: Transport) -> Transport:
        self.faulty = Faulty(inner)
        return self.faulty

    async def stop(self) -> None:
        running, self._running = self._running, AsyncExitStack()
        await running.aclose()


@asynccontextmanager
async def lossy() -> AsyncIterator[tuple[Lossy, Audience]]:
    async with (
        virtual.cluster() as cluster,
        cluster.client() as client,
        playing(client) as audience,
    ):
        controller = Lossy(cluster)
        await controller.start()
        try:
            yield controller, audience
        finally:
            await controller.stop()
