"""Talking with a process: between the channels of a WebSocket and the streams of a node."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any

from jobferry.localkube.apiserver.nodes import Size, Streams, Write
from jobferry.localkube.apiserver.requests import channels
from jobferry.localkube.apiserver.requests.channels import BadMessage, Closed, Protocol
from jobferry.localkube.apiserver.requests.pod_options import TalkOptions
from jobferry.localkube.apiserver.requests.session import Gone, Socket
from jobferry.objects import Obj

UNREAD_LIMIT = 256 * 1024
"""How much a client can send before the process must read; more makes the client wait."""

Process = Callable[[Streams], Awaitable[Obj]]
"""Runs with the streams of a client, and returns the Status that tells how it ended."""


async def converse(
    process: Process, protocol: Protocol, options: TalkOptions, socket: Socket
) -> None:
    """Run a process with a client until either ends; nothing of it is left then."""
    stdin, sizes = Unread(), Sizes()

    def output(channel: int, *, wanted: bool) -> Write | None:
        async def write(data: bytes) -> None:
            if data:
                await socket.send(channels.write(protocol, channel, data))

        return write if wanted else None

    streams = Streams(
        stdin=stdin if options.stdin else None,
        stdout=output(channels.STDOUT, wanted=options.stdout),
        stderr=output(channels.STDERR, wanted=options.stderr),
        tty=options.tty,
        sizes=sizes,
    )

    async def run() -> None:
        status = await process(streams)
        end = channels.write_end(protocol, status)
        if end is not None:
            await socket.send(end)

    # An empty message on the first channel that is open tells the client that it is connected.
    await socket.send(channels.write(protocol, _first_output(options), b""))
    await until_gone(run(), listen(socket, protocol, stdin if options.stdin else None, sizes))


async def until_gone(
    work: Coroutine[Any, Any, None], listening: Coroutine[Any, Any, None]
) -> None:
    """Do some work until it is done, or the client goes: `listening` ends then."""
    tasks = (asyncio.ensure_future(work), asyncio.ensure_future(listening))
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    for task in tasks:
        if not task.cancelled() and (error := task.exception()):
            raise error


async def ignore(socket: Socket) -> None:
    """Hear what a client says, until it goes."""
    with suppress(Gone):
        while True:
            await socket.receive()


async def listen(
    socket: Socket, protocol: Protocol, stdin: "Unread | None", sizes: "Sizes"
) -> None:
    """Take in what a client says, until it goes or does not keep to the protocol."""
    with suppress(Gone, BadMessage):
        while True:
            said = channels.read(protocol, await socket.receive())
            if said is None:
                continue
            if isinstance(said, Closed):
                if said.channel == channels.STDIN and stdin is not None:
                    stdin.close()
            elif said.channel == channels.STDIN and stdin is not None:
                await stdin.put(said.data)
            elif said.channel == channels.RESIZE and (size := channels.read_size(said.data)):
                sizes.put(size)


class Unread:
    """What a client sent and the process has not read yet; never much."""

    def __init__(self, limit: int = UNREAD_LIMIT) -> None:
        self._limit = limit
        self._parts: deque[bytes] = deque()
        self._size = 0
        self._closed = False
        self._some = asyncio.Event()
        self._room = asyncio.Event()

    async def put(self, data: bytes) -> None:
        """Add data, when there is room for any."""
        while self._size >= self._limit:
            self._room.clear()
            await self._room.wait()
        if data and not self._closed:
            self._parts.append(data)
            self._size += len(data)
            self._some.set()

    def close(self) -> None:
        """Let it end after what is there."""
        self._closed = True
        self._some.set()

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        while not self._parts:
            if self._closed:
                raise StopAsyncIteration
            self._some.clear()
            await self._some.wait()
        data = self._parts.popleft()
        self._size -= len(data)
        self._room.set()
        return data


class Sizes:
    """The sizes of a terminal; of those not looked at yet, the newest."""

    def __init__(self) -> None:
        self._newest: Size | None = None
        self._changed = asyncio.Event()

    def put(self, size: Size) -> None:
        """Note a change."""
        self._newest = size
        self._changed.set()

    def __aiter__(self) -> AsyncIterator[Size]:
        return self

    async def __anext__(self) -> Size:
        while (size := self._newest) is None:
            self._changed.clear()
            await self._changed.wait()
        self._newest = None
        return size


def _first_output(options: TalkOptions) -> int:
    if options.stdout:
        return channels.STDOUT
    return channels.STDERR if options.stderr else channels.ERROR
