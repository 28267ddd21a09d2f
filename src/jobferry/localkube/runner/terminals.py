"""The two ends of a process that somebody talks to: pipes, or a terminal."""

import asyncio
import fcntl
import os
import struct
import termios
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass

from jobferry.localkube.apiserver.nodes import Size, Streams, Write

CHUNK = 32 * 1024

Action = tuple[int, int, int] | tuple[int, int, str, int, int]


@dataclass(frozen=True, slots=True)
class Ends:
    """What a process is given, and what is left to us of it (-1: nothing)."""

    actions: list[Action]
    theirs: list[int]
    """Ours to close once the process has them."""
    stdin: int
    stdout: int
    stderr: int

    def unused(self, streams: Streams) -> list[int]:
        """Return what is left to us though the client does not want it."""
        ours = ((self.stdin, streams.stdin), (self.stdout, streams.stdout))
        return [end for end, wanted in ours if wanted is None and end >= 0]


def pipes(streams: Streams) -> Ends:
    """Make a pipe for each stream that the client wants; the others lead nowhere."""
    nothing = os.open(os.devnull, os.O_RDWR)
    ends = Ends([], [nothing], -1, -1, -1)
    ours = []
    for number, wanted in enumerate((streams.stdin, streams.stdout, streams.stderr)):
        if wanted is None:
            ours.append(-1)
            ends.actions.append((os.POSIX_SPAWN_DUP2, nothing, number))
            continue
        read, write = os.pipe()
        mine, its = (write, read) if number == 0 else (read, write)
        ours.append(mine)
        ends.theirs.append(its)
        ends.actions.append((os.POSIX_SPAWN_DUP2, its, number))
    return Ends(ends.actions, ends.theirs, *ours)


def terminal() -> Ends:
    """Make a terminal; whoever opens it first in a new session is controlled by it."""
    master, slave = os.openpty()
    name = os.ttyname(slave)
    actions: list[Action] = [(os.POSIX_SPAWN_OPEN, 0, name, os.O_RDWR, 0)]
    actions += [(os.POSIX_SPAWN_DUP2, 0, number) for number in (1, 2)]
    stdin = os.dup(master)
    return Ends(actions, [slave], stdin, master, -1)


def resize(descriptor: int, size: Size) -> None:
    """Tell a terminal how large it is."""
    with suppress(OSError):
        packed = struct.pack("HHHH", size.height, size.width, 0, 0)
        fcntl.ioctl(descriptor, termios.TIOCSWINSZ, packed)


async def pump_out(descriptor: int, write: Write) -> None:
    """Send what a process writes, until its end; waits while the client is slow."""
    async with _reading(descriptor) as chunks:
        async for chunk in chunks:
            await write(chunk)


async def pump_in(chunks: AsyncIterator[bytes], descriptor: int, *, tty: bool) -> None:
    """Give a process what the client sends, then the end of it."""
    os.set_blocking(descriptor, False)
    try:
        async for chunk in chunks:
            await _write(descriptor, chunk)
        if tty:
            await _write(descriptor, b"\x04")  # a terminal stays open: this is how it says so
    except BrokenPipeError:
        pass  # it reads no more
    finally:
        os.close(descriptor)


async def pump_sizes(sizes: AsyncIterator[Size], descriptor: int) -> None:
    """Keep a terminal as large as the client's."""
    async for size in sizes:
        resize(descriptor, size)


async def _write(descriptor: int, chunk: bytes) -> None:
    rest = memoryview(chunk)
    while rest:
        try:
            rest = rest[os.write(descriptor, rest) :]
        except BlockingIOError:
            await _writable(descriptor)


async def _writable(descriptor: int) -> None:
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_writer(descriptor, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_writer(descriptor)


@asynccontextmanager
async def _reading(descriptor: int) -> AsyncIterator[AsyncIterator[bytes]]:
    os.set_blocking(descriptor, False)
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(descriptor, ready.set)

    async def chunks() -> AsyncIterator[bytes]:
        while True:
            await ready.wait()
            ready.clear()
            try:
                chunk = os.read(descriptor, CHUNK)
            except BlockingIOError:
                continue
            except OSError:
                return  # a terminal that nobody holds any more
            if not chunk:
                return
            yield chunk

    try:
        yield chunks()
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)


@contextmanager
def closing(descriptors: list[int]) -> Iterator[None]:
    """Close descriptors at the end of the block."""
    try:
        yield
    finally:
        for descriptor in descriptors:
            os.close(descriptor)
