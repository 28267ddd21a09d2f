"""Tells when processes end, without a thread and without asking again and again."""

import asyncio
import os
import select
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

Ended = Callable[[int | None], None]
"""Is told the exit code of a process, if that was our child."""


@dataclass(frozen=True, slots=True)
class Process:
    """A process, and when it began: by both it is known again, though numbers are used again."""

    pid: int
    began: int
    """In ticks since the machine began to run."""


def process_of(stat: str) -> Process:
    """Read a process from a line of /proc/PID/stat."""
    pid, _, rest = stat.partition(" ")
    # The name of the program may hold blanks and brackets.
    fields = rest.rpartition(")")[2].split()
    return Process(int(pid), int(fields[19]))


def is_alive(process: Process) -> bool:
    """Tell whether this very process is there and has not ended."""
    try:
        stat = Path(f"/proc/{process.pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    state = stat.rpartition(")")[2].split()[0]
    return process_of(stat) == process and state not in {"Z", "X"}


class Ends:
    """Watches processes by their pidfds, of which one epoll takes care."""

    def __init__(self, loop: asyncio.AbstractEventLoop, epoll: select.epoll) -> None:
        self._loop = loop
        self._epoll = epoll
        self._watched: dict[int, tuple[int, Ended]] = {}

    def watch(self, pid: int, ended: Ended) -> None:
        """Call `ended`, from the loop, when a process ends; soon if there is none."""
        try:
            descriptor = os.pidfd_open(pid)
        except ProcessLookupError:
            self._loop.call_soon(ended, None)
            return
        self._watched[descriptor] = pid, ended
        self._epoll.register(descriptor, select.EPOLLIN)

    def look(self) -> None:
        """Tell of all processes that have ended."""
        for descriptor, _ in self._epoll.poll(0):
            self._epoll.unregister(descriptor)
            pid, ended = self._watched.pop(descriptor)
            os.close(descriptor)
            code = None
            with suppress(ChildProcessError):  # only our own children wait to be buried
                code = os.waitstatus_to_exitcode(os.waitpid(pid, os.WNOHANG)[1])
            ended(code)

    def close(self) -> None:
        """Watch nothing any more."""
        for descriptor in self._watched:
            os.close(descriptor)
        self._watched.clear()


@contextmanager
def watching() -> Iterator[Ends]:
    """Watch processes during the block."""
    loop = asyncio.get_running_loop()
    with select.epoll() as epoll:
        ends = Ends(loop, epoll)
        loop.add_reader(epoll.fileno(), ends.look)
        try:
            yield ends
        finally:
            loop.remove_reader(epoll.fileno())
            ends.close()
