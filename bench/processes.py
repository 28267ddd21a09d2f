"""Processes of their own, so that what they cost is their own."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.command import Failed
from jobferry.clock import Seconds
from jobferry.testing.guard import Guard

READY = "ready\n"
"""What a process prints once it does its work."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What a process has cost so far."""

    cpu: Seconds
    memory: float
    """Resident, in MB."""

    peak: float
    """The most that it was, in MB."""


def usage(pid: int) -> Usage:
    """Return what a process has cost so far."""
    folder = Path(f"/proc/{pid}")
    # The name before it may hold anything, but ends with the last bracket.
    stat = (folder / "stat").read_text().rpartition(")")[2].split()
    ticks = int(stat[11]) + int(stat[12])
    lines = (folder / "status").read_text().splitlines()
    status = dict(line.split(":", 1) for line in lines)
    memory, peak = (int(status[name].split()[0]) / 1e3 for name in ("VmRSS", "VmHWM"))
    return Usage(ticks / os.sysconf("SC_CLK_TCK"), memory, peak)


class Child:
    """A process that runs a module of Python; made by `child`."""

    def __init__(self, module: str, process: subprocess.Popen[str], log: Path) -> None:
        self._module = module
        self._process = process
        self._log = log

    def usage(self) -> Usage:
        """Return what it has cost so far."""
        return usage(self._process.pid)

    async def ready(self) -> None:
        """Wait until it says that it is ready."""
        assert self._process.stdout is not None  # noqa: S101 (it is a pipe)
        if await asyncio.to_thread(self._process.stdout.readline) != READY:
            await asyncio.to_thread(self._process.wait)
            self.check()

    def check(self) -> None:
        """Raise `Failed` if it has ended."""
        if self._process.poll() is not None:
            said = " ".join(self._log.read_text().splitlines()[-2:])  # an error, and its hint
            raise Failed(f"{self._module} ended: {said or 'it did not say why'}")


@contextmanager
def child(guard: Guard, log: Path, module: str, *arguments: str) -> Iterator[Child]:
    """Run a module during the block, and never longer than we live."""
    with log.open("w") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            process_group=guard.group,
        )
    with process:
        try:
            yield Child(module, process, log)
        finally:
            process.kill()
