"""A node that runs nothing: its logs are what a test says, its commands a handful that need no machine."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from jobferry.clock import Clock
from jobferry.localkube.apiserver.nodes import LogOptions, NodeRefused, Streams, Write
from jobferry.objects import Obj

CHUNK = 16 * 1024


@dataclass(slots=True)
class Log:
    """What a container wrote in one run."""

    lines: list[tuple[datetime, str]] = field(default_factory=list)
    ended: bool = False
    broken: bool = False
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)


class FakeNode:
    """A node connector for tests.

    Commands: `echo WORDS`, `complain CODE WORDS` (to stderr), `exit CODE`, `cat` (stdin to stdout), `size` (of the
    terminal, until it is 1 wide), `flood BYTES` (to stdout), `hang` (forever, reads nothing), `break`.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._logs: dict[tuple[str, str], list[Log]] = {}
        self._open = 0
        self._changed = asyncio.Condition()

    # -- logs -----------------------------------------------------------------------------------

    async def write(self, pod: str, text: str, *, container: str, ago: float = 0) -> None:
        """Log a line, as if `ago` seconds before now."""
        log = self._runs(pod, container)[-1]
        async with log.changed:
            log.lines.append((self._clock.now() - timedelta(seconds=ago), text))
            log.changed.notify_all()

    async def end(self, pod: str, *, container: str, broken: bool = False) -> None:
        """End the run of a container: its log is complete, or cannot be read to its end."""
        log = self._runs(pod, container)[-1]
        async with log.changed:
            log.ended, log.broken = True, broken
            log.changed.notify_all()

    async def restart(self, pod: str, *, container: str) -> None:
        """End the run of a container and begin the next."""
        await self.end(pod, container=container)
        self._runs(pod, container).append(Log())

    @asynccontextmanager
    async def logs(
        self, pod: Obj, container: str, options: LogOptions
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open a log."""
        name = pod["metadata"]["name"]
        runs = self._runs(name, container)
        if options.previous and len(runs) < 2:
            why = f'previous terminated container "{container}" in pod "{name}" not found'
            raise NodeRefused(why, code=400)
        async with self._call():
            yield self._parts(runs[-2 if options.previous else -1], options)

    async def _parts(self, log: Log, options: LogOptions) -> AsyncIterator[bytes]:
        left = options.limit_bytes
        at = self._first(log, options)
        while True:
            while at < len(log.lines):
                part = _line(*log.lines[at], timestamps=options.timestamps)[:left]
                at += 1
                yield part
                left = None if left is None else left - len(part)
                if left == 0:
                    return
            if log.broken:
                raise OSError("the log is broken")
            if not options.follow or log.ended:
                return
            async with log.changed:
                while at == len(log.lines) and not log.ended:
                    await log.changed.wait()

    def _first(self, log: Log, options: LogOptions) -> int:
        since = options.since_time
        if options.since_seconds is not None:
            since = self._clock.now() - timedelta(seconds=options.since_seconds)
        first = 0
        if since is not None:
            first = sum(moment < since for moment, _ in log.lines)
        if options.tail_lines is not None:
            first = max(first, len(log.lines) - options.tail_lines)
        return first

    def _runs(self, pod: str, container: str) -> list[Log]:
        return self._logs.setdefault((pod, container), [Log()])

    # -- processes ------------------------------------------------------------------------------

    async def execute(
        self, pod: Obj, container: str, command: Sequence[str], streams: Streams
    ) -> int:
        """Run one of the commands."""
        async with self._call():
            return await _run(command, streams)

    async def attach(self, pod: Obj, container: str, streams: Streams) -> None:
        """Join a main process that greets and then does what `cat` does."""
        async with self._call():
            if streams.stdout is not None:
                await streams.stdout(f"attached to {container}\n".encode())
            await _run(("cat",), streams)

    # -- calls ----------------------------------------------------------------------------------

    async def until_open(self, calls: int) -> None:
        """Wait until so many calls are under way."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._open == calls)

    @asynccontextmanager
    async def _call(self) -> AsyncIterator[None]:
        await self._count(1)
        try:
            yield
        finally:
            await self._count(-1)

    async def _count(self, change: int) -> None:
        self._open += change
        async with self._changed:
            self._changed.notify_all()


def _line(moment: datetime, text: str, *, timestamps: bool) -> bytes:
    stamp = f"{moment.strftime('%Y-%m-%dT%H:%M:%S.%f')}000Z " if timestamps else ""
    return f"{stamp}{text}\n".encode()


async def _run(command: Sequence[str], streams: Streams) -> int:
    """Run a command and return its exit code."""
    found = _COMMANDS.get(command[0])
    if found is None:
        raise NodeRefused(f'"{command[0]}": executable file not found in $PATH')
    return await found(streams, *command[1:])


async def _echo(streams: Streams, *words: str) -> int:
    await _put(streams.stdout, " ".join(words) + "\n")
    return 0


async def _complain(streams: Streams, code: str, *words: str) -> int:
    await _put(streams.stderr, " ".join(words) + "\n")
    return int(code)


async def _exit(streams: Streams, code: str) -> int:
    return int(code)


async def _cat(streams: Streams) -> int:
    if streams.stdin is not None:
        async for data in streams.stdin:
            await _put(streams.stdout, data)
    return 0


async def _size(streams: Streams) -> int:
    async for size in streams.sizes:
        await _put(streams.stdout, f"{size.width}x{size.height}\n")
        if size.width == 1:
            break
    return 0


async def _flood(streams: Streams, count: str) -> int:
    for _ in range(0, int(count), CHUNK):
        await _put(streams.stdout, b"." * CHUNK)
    return 0


async def _hang(streams: Streams) -> int:
    await asyncio.get_running_loop().create_future()
    return 0


async def _break(streams: Streams) -> int:
    raise RuntimeError("this node is broken")


_COMMANDS: Mapping[str, Callable[..., Awaitable[int]]] = {
    "echo": _echo,
    "complain": _complain,
    "exit": _exit,
    "cat": _cat,
    "size": _size,
    "flood": _flood,
    "hang": _hang,
    "break": _break,
}


async def _put(write: Write | None, data: bytes | str) -> None:
    if write is not None:
        await write(data.encode() if isinstance(data, str) else data)
