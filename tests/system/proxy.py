"""A network between a dispatcher and one cluster that a test can cut, and mend."""

import asyncio
from contextlib import suppress
from typing import Self
from urllib.parse import urlsplit

LOOPBACK = "127.0.0.1"


class Proxy:
    """Passes bytes on to the server at `url`, until told otherwise."""

    def __init__(self, url: str) -> None:
        there = urlsplit(url)
        self._url = url
        self._host, self._port = str(there.hostname), there.port
        self._server: asyncio.Server | None = None
        self._own_port = 0
        self._open: set[asyncio.Task[None]] = set()
        self._flows = asyncio.Event()
        self._flows.set()

    async def __aenter__(self) -> Self:
        await self.mend()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.cut()

    def through(self, kubeconfig: str) -> str:
        """Return a kubeconfig that leads through this proxy."""
        return kubeconfig.replace(self._url, f"https://{LOOPBACK}:{self._own_port}")

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"https://{LOOPBACK}:{self._own_port}"

    async def cut(self) -> None:
        """Close every connection and take no new one."""
        if self._server is not None:
            self._server.close()
            self._server = None
        self.drop()
        if self._open:
            await asyncio.wait(self._open)

    def drop(self) -> None:
        """Close every connection."""
        for task in self._open:
            task.cancel()

    async def mend(self) -> None:
        """Take connections again, on the same port."""
        self._server = await asyncio.start_server(self._meet, LOOPBACK, self._own_port)
        self._own_port = self._server.sockets[0].getsockname()[1]

    def freeze(self) -> None:
        """Keep all connections open, and pass nothing on."""
        self._flows.clear()

    def thaw(self) -> None:
        """Pass on what has waited."""
        self._flows.set()

    def strand(self) -> None:
        """Pass on again what is new; of the connections there were nobody will hear any more."""
        self._flows.clear()
        self._flows = asyncio.Event()
        self._flows.set()

    def _meet(self, here: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        # At once, not when the task begins to run: until then it would outlive a cut.
        task = asyncio.create_task(self._join(here, back))
        self._open.add(task)
        task.add_done_callback(self._open.discard)
        task.add_done_callback(lambda _: back.transport.abort())

    async def _join(self, here: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        flows = self._flows
        with suppress(OSError, ExceptionGroup):
            there, onward = await asyncio.open_connection(self._host, self._port)
            try:
                async with asyncio.TaskGroup() as both:
                    both.create_task(_copy(here, onward, flows))
                    both.create_task(_copy(there, back, flows))
            finally:
                onward.transport.abort()


async def _copy(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, flows: asyncio.Event
) -> None:
    while data := await reader.read(65536):
        await flows.wait()
        writer.write(data)
        await writer.drain()
    raise ConnectionResetError
