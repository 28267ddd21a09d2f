"""Processes by the variable that tells whose they are, and signals that never meet another process."""

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from jobferry.localkube.runner import ends
from jobferry.localkube.runner.ends import Process

MARK = "JOBFERRY_CONTAINER"
"""The variable by which a process is known to belong to a container, where nothing else tells."""


_ROUNDS = 10
"""How often to look for what was started while others were being ended."""


def mark(uid: str, name: str, number: int) -> str:
    """Return the value of the variable for a run of a container."""
    return f"{uid}/{name}/{number}"


def send(process: Process, number: signal.Signals) -> None:
    """Signal this very process, never one that has its number by now."""
    with suppress(ProcessLookupError):
        descriptor = os.pidfd_open(process.pid)
        try:
            if ends.is_alive(process):
                signal.pidfd_send_signal(descriptor, number)
        finally:
            os.close(descriptor)


def first(mark: str) -> Process | None:
    """Return the oldest process that has this mark."""
    return min(_marked(mark), key=lambda each: (each.began, each.pid), default=None)


def kill(mark: str, log: Path) -> None:
    """End all processes that have this mark, or still write to this log: a mark can be taken off."""
    for _ in range(_ROUNDS):
        found = list(_marked(mark, log))
        for process in found:
            send(process, signal.SIGKILL)
        if not found:
            break


def _marked(mark: str, log: Path | None = None) -> Iterator[Process]:
    wanted = f"{MARK}={mark}".encode()
    for name in os.listdir("/proc"):
        if not name.isdecimal():
            continue
        with suppress(OSError):
            environ = Path(f"/proc/{name}/environ").read_bytes().split(b"\0")
            if wanted in environ or (log is not None and _writes_to(name, log)):
                yield ends.process_of(Path(f"/proc/{name}/stat").read_text())


def _writes_to(pid: str, log: Path) -> bool:
    return any(_link(f"/proc/{pid}/fd/{number}") == str(log) for number in (1, 2))


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""
