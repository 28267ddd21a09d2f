"""Runs a small program to its end: bounded in time and output, and never left behind."""

import asyncio
import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from subprocess import DEVNULL, PIPE
from typing import cast

from jobferry import clock as clocks
from jobferry.clock import Clock, Seconds

MAX_OUTPUT = 2**20
"""Bytes. What prints more than this is stopped."""

_MAX_COMPLAINTS = 4096
_STDOUT, _STDERR = 1, 2
_TIME_TO_DIE: Seconds = 5.0


@dataclass(frozen=True, slots=True)
class Finished:
    """How a program ended."""

    status: int | None
    """Its exit status, negative for a signal; None if it was stopped because it printed too much."""

    printed: bytes = field(repr=False)
    complaints: bytes
    """The end of what it wrote to standard error."""


async def run(
    command: Sequence[str], environ: Mapping[str, str], *, clock: Clock, within: Seconds
) -> Finished:
    """Run a program that reads nothing.

    Raises `OSError` if it cannot start and `TimeoutError` if it does not end in time. Whatever happens, a
    cancellation too, nothing of it is left running that did not end by itself.
    """
    starting = asyncio.ensure_future(
        asyncio.get_running_loop().subprocess_exec(
            _Output,
            *command,
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=PIPE,
            env=dict(environ),  # uvloop takes nothing but a dict
            start_new_session=True,
        )
    )
    try:
        # Cancelled in its midst, asyncio would kill the program, but not what that has started by then.
        await asyncio.shield(starting)
        async with clocks.timeout(clock, within):
            await starting.result()[1].done.wait()
    finally:
        transport, output = await starting
        if not output.ended:
            await _kill(transport.get_pid(), output, clock)
        transport.close()
    status = None if len(output.printed) > MAX_OUTPUT else transport.get_returncode()
    return Finished(status, bytes(output.printed), bytes(output.complaints))


async def _kill(leader: int, output: "_Output", clock: Clock) -> None:
    """Kill the program with all that it started, and wait for its end so that it does not stay as a zombie."""
    # If it is gone already, Linux says the first, macOS the second.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)
    with suppress(TimeoutError):
        async with clocks.timeout(clock, _TIME_TO_DIE):
            await output.exited.wait()


class _Output(asyncio.SubprocessProtocol):
    """Gathers what a program prints."""

    transport: asyncio.SubprocessTransport

    def __init__(self) -> None:
        self.printed = bytearray()
        self.complaints = bytearray()
        self.exited = asyncio.Event()
        self.ended = False
        """Whether it came to its end by itself."""
        self.done = asyncio.Event()
        """Set once it has ended or must be stopped."""
        self._open = {_STDOUT, _STDERR}

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport, which knows the exit status."""
        self.transport = cast("asyncio.SubprocessTransport", transport)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        """Keep the beginning of standard output and the end of standard error."""
        if fd == _STDERR:
            self.complaints = (self.complaints + data)[-_MAX_COMPLAINTS:]
            return
        self.printed += data
        if len(self.printed) > MAX_OUTPUT:
            self.done.set()

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        """Take note that nothing more comes from there."""
        self._open.discard(fd)
        self._look()

    def process_exited(self) -> None:
        """Take note that it exited."""
        self.exited.set()
        self._look()

    def _look(self) -> None:
        # A helper that the program leaves running often still holds standard error, which matters
        # only when the program failed.
        awaited = {_STDOUT} if self.transport.get_returncode() == 0 else {_STDOUT, _STDERR}
        if self.exited.is_set() and not awaited & self._open:
            self.ended = True
            self.done.set()
