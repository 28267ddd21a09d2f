"""Tells when files grow: inotify, which Python has no module for."""

import asyncio
import ctypes
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from jobferry import log
from jobferry.clock import Clock, Seconds, Timer

_MODIFIED = 0x2
_HEAD = 16
"""Bytes of an event before its name, which events of files do not have."""

CALM: Seconds = 0.05
"""A file that has grown is looked at again only after this: a flood costs twenty looks a second."""

_log = log.get(__name__)

Grown = Callable[[], None]


class Growth:
    """Calls back when a file has grown; made by `watching`."""

    def __init__(self, descriptor: int, clock: Clock) -> None:
        self._descriptor = descriptor
        self._clock = clock
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._watched: dict[int, tuple[Path, Grown]] = {}
        self._numbers: dict[Path, int] = {}
        self._calming: dict[Path, Timer] = {}
        self._complained = False

    def watch(self, path: Path, grown: Grown) -> None:
        """Call `grown` whenever a file has become longer, from a moment on: many a process ends before that."""
        if self._descriptor >= 0:
            self._calm(path, grown)

    def _watch(self, path: Path, grown: Grown) -> None:
        number = self._libc.inotify_add_watch(self._descriptor, bytes(path), _MODIFIED)
        if number >= 0:
            self._watched[number] = path, grown
            self._numbers[path] = number
        elif not self._complained:
            self._complained = True
            reason = os.strerror(ctypes.get_errno())
            _log.warning("Log lines get the time at which they are read", reason=reason)

    def forget(self, path: Path) -> None:
        """Watch a file no more."""
        if timer := self._calming.pop(path, None):
            timer.cancel()
        if (number := self._numbers.pop(path, None)) is not None:
            del self._watched[number]
            self._libc.inotify_rm_watch(self._descriptor, number)

    def look(self) -> None:
        """Call back for all files that have grown."""
        with suppress(BlockingIOError):
            events = os.read(self._descriptor, 64 * 1024)
            numbers = {
                int.from_bytes(events[at : at + 4], "little", signed=True)
                for at in range(0, len(events), _HEAD)
            }
            for number in numbers:
                self._note(number)

    def close(self) -> None:
        """Watch nothing any more."""
        for timer in self._calming.values():
            timer.cancel()
        if self._descriptor >= 0:
            os.close(self._descriptor)

    def _note(self, number: int) -> None:
        if number not in self._watched:
            return
        path, grown = self._watched.pop(number)
        del self._numbers[path]
        # Not watched for a while: a process that writes a line at a time would keep us busy.
        self._libc.inotify_rm_watch(self._descriptor, number)
        grown()
        self._calm(path, grown)

    def _calm(self, path: Path, grown: Grown) -> None:
        self._calming[path] = self._clock.call_later(CALM, lambda: self._resume(path, grown))

    def _resume(self, path: Path, grown: Grown) -> None:
        del self._calming[path]
        self._watch(path, grown)
        grown()  # what came while nobody watched


@contextmanager
def watching(clock: Clock) -> Iterator[Growth]:
    """Watch files during the block; where there is no inotify, nobody is ever called."""
    init = getattr(ctypes.CDLL(None), "inotify_init1", None)
    descriptor = -1 if init is None else init(os.O_NONBLOCK | os.O_CLOEXEC)
    growth = Growth(descriptor, clock)
    loop = asyncio.get_running_loop()
    if descriptor >= 0:
        loop.add_reader(descriptor, growth.look)
    try:
        yield growth
    finally:
        if descriptor >= 0:
            loop.remove_reader(descriptor)
        growth.close()
