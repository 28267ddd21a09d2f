"""What the API server asks of a node: logs, commands in containers, and talking to their main processes."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from jobferry.clock import Clock, Seconds, span, timeout
from jobferry.localkube.apiserver.nodes import LogOptions, NodeRefused, Size, Streams
from jobferry.localkube.runner import finding, namespaces, terminals, wrapper
from jobferry.localkube.runner.logs import Window
from jobferry.localkube.runner.processes import Processes, Run
from jobferry.objects import Obj

DRAIN: Seconds = 2.0
"""How long to wait for more output of a command that has ended."""


class Connector:
    """Reaches the containers of a node that runs them as processes."""

    def __init__(self, processes: Processes, clock: Clock) -> None:
        self._processes = processes
        self._clock = clock

    @asynccontextmanager
    async def logs(
        self, pod: Obj, container: str, options: LogOptions
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open a log."""
        run = self._processes.run(pod["metadata"]["uid"], container, previous=options.previous)
        if run is None:
            raise NodeRefused(_why_no_log(pod, container, options.previous), code=400)
        now = self._clock.now()
        run.log.note(now)
        since = options.since_time
        if options.since_seconds is not None:
            since = now - span(options.since_seconds)
        window = Window(
            since=since,
            tail=options.tail_lines,
            limit=options.limit_bytes,
            timestamps=options.timestamps,
            follow=options.follow,
        )
        yield run.log.read(window, now)

    async def execute(
        self, pod: Obj, container: str, command: Sequence[str], streams: Streams
    ) -> int:
        """Run a command in a container."""
        run = self._running(pod, container)
        main = await self._processes.until_named(run)
        if main is None:
            raise NodeRefused(f"container {container} is only just starting")
        inside = _Inside(main.pid, run.order.directory if run.order else None)
        if problem := finding.problem(command, inside.path, inside.directory, inside.where):
            raise NodeRefused(f"cannot exec in container {container}: {problem}")
        ends = terminals.terminal() if streams.tty else terminals.pipes(streams)
        with terminals.closing(ends.theirs):
            pid = _spawn(run, inside, command, ends)
        with terminals.closing(ends.unused(streams)):
            return await self._converse(pid, streams, ends)

    async def execute_silently(self, pod: Obj, container: str, command: Sequence[str]) -> int:
        """Run a command in a container to whose output nobody listens."""
        return await self.execute(pod, container, command, Streams(sizes=_no_sizes()))

    async def attach(self, pod: Obj, container: str, streams: Streams) -> None:
        """Join the main process of a container: its output from now on, its input if it has one."""
        run = self._running(pod, container)
        async with asyncio.TaskGroup() as group:
            feeding = None
            if streams.stdin is not None and (run.folder / "stdin").exists():
                descriptor = os.open(run.folder / "stdin", os.O_WRONLY | os.O_NONBLOCK)
                feed = terminals.pump_in(streams.stdin, descriptor, tty=False)
                feeding = group.create_task(feed)
            window = Window(tail=0, follow=True)
            async for part in run.log.read(window, self._clock.now()):
                if streams.stdout is not None:
                    await streams.stdout(part)
            if feeding is not None:
                feeding.cancel()

    def _running(self, pod: Obj, container: str) -> Run:
        run = self._processes.run(pod["metadata"]["uid"], container)
        if run is None or run.attempt.end is not None:
            raise NodeRefused(f"container not found ({container})", code=404)
        return run

    async def _converse(self, pid: int, streams: Streams, ends: terminals.Ends) -> int:
        """Carry what is said to and fro until a process ends; end it if the client goes."""
        over: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._processes.watch(pid, lambda code: over.set_result(code or 0))
        try:
            async with asyncio.TaskGroup() as group:
                to = [group.create_task(each) for each in _to_process(streams, ends)]
                fro = [group.create_task(each) for each in _from_process(streams, ends)]
                code = await asyncio.shield(over)
                if fro:  # what it started may hold its output open for ever
                    with suppress(TimeoutError):
                        async with timeout(self._clock, DRAIN):
                            await asyncio.wait(fro)
                for task in (*to, *fro):
                    task.cancel()
        finally:
            if not over.done():
                with suppress(ProcessLookupError):
                    os.killpg(pid, signal.SIGKILL)
        return code if code >= 0 else 128 - code


async def _no_sizes() -> AsyncIterator[Size]:
    return
    yield


class _Inside:
    """What a further process in a container begins with: what the main process has."""

    def __init__(self, pid: int, directory: str | None) -> None:
        self.pid = pid
        self.directory = directory or os.readlink(f"/proc/{pid}/cwd")
        entries = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        pairs = (os.fsdecode(entry).partition("=") for entry in entries if entry)
        self.env = {name: value for name, _, value in pairs}

    @property
    def path(self) -> str:
        """Where programs are looked for."""
        return self.env.get("PATH", os.defpath)

    def where(self, path: str) -> str:
        """Return where a path of the container is found from outside."""
        return f"/proc/{self.pid}/root{path}"


def _spawn(run: Run, inside: _Inside, command: Sequence[str], ends: terminals.Ends) -> int:
    text = wrapper.joining(inside.directory, run.group.entrances)

    def begin() -> int:
        return os.posix_spawn(
            wrapper.SHELL,
            [wrapper.SHELL, "-c", text, "exec", *wrapper.words(command, inside.env)],
            inside.env,
            file_actions=ends.actions,
            setsid=True,
            setsigmask=(),
            setsigdef=wrapper.PLAIN,
        )

    return namespaces.joined(inside.pid, begin)


def _to_process(streams: Streams, ends: terminals.Ends) -> Iterator[Coroutine[Any, Any, None]]:
    if streams.stdin is not None:
        yield terminals.pump_in(streams.stdin, ends.stdin, tty=streams.tty)
    if streams.tty:
        yield terminals.pump_sizes(streams.sizes, ends.stdout)


def _from_process(
    streams: Streams, ends: terminals.Ends
) -> Iterator[Coroutine[Any, Any, None]]:
    if streams.stdout is not None:
        yield terminals.pump_out(ends.stdout, streams.stdout)
    if streams.stderr is not None and ends.stderr >= 0:
        yield terminals.pump_out(ends.stderr, streams.stderr)


def _why_no_log(pod: Obj, container: str, previous: bool) -> str:
    name = pod["metadata"]["name"]
    if previous:
        return f'previous terminated container "{container}" in pod "{name}" not found'
    status = pod.get("status") or {}
    reasons = {
        each["name"]: each.get("state", {}).get("waiting", {}).get("reason", "")
        for kind in ("containerStatuses", "initContainerStatuses")
        for each in status.get(kind) or ()
    }
    reason = reasons.get(container) or "ContainerCreating"
    return f'container "{container}" in pod "{name}" is waiting to start: {reason}'
