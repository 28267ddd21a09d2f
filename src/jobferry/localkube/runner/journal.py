"""What was started, written down before it is: nothing is started twice, whatever dies in between.

One file for all pods of a node, a line per start, so that one flush to the disk serves all starts that wait
for it.
"""

import asyncio
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import msgspec

from jobferry import log

_log = log.get(__name__)


class Start(msgspec.Struct, frozen=True, omit_defaults=True):
    """That a container was to be started."""

    uid: str
    container: str
    number: int
    began: datetime
    boot: str = ""
    """Which run of the machine it was in."""

    @property
    def name(self) -> tuple[str, str, int]:
        """What is unique about it."""
        return self.uid, self.container, self.number


_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(Start)


class Journal:
    """Appends; made by `opened`."""

    def __init__(self, descriptor: int, starts: list[Start]) -> None:
        self.starts = starts
        """What was started before this journal was opened."""
        self._descriptor = descriptor
        self._known: dict[str, set[tuple[str, int]]] = {}
        for start in starts:
            self._note(start)
        self._waiting: list[asyncio.Future[None]] = []
        self._lines: list[bytes] = []
        self._flushing: asyncio.Future[None] | None = None

    async def record(self, start: Start) -> None:
        """Write a start down, and wait until the disk has it; refuses one that is there already."""
        if (start.container, start.number) in self._known.get(start.uid, ()):
            what = f"{start.uid}/{start.container}/{start.number}"
            raise ValueError(f"{what} was started before")
        self._note(start)
        self._lines.append(_ENCODER.encode(start) + b"\n")
        done = asyncio.get_running_loop().create_future()
        self._waiting.append(done)
        if self._flushing is None:
            self._flush()
        try:
            await done
        except OSError:
            # Nothing of it is there: it may be tried again.
            self._known.get(start.uid, set()).discard((start.container, start.number))
            raise

    def forget(self, uid: str) -> None:
        """Keep nothing of a pod in memory; the file forgets it when it is opened next."""
        self._known.pop(uid, None)

    def withdraw(self, start: Start) -> None:
        """Take back a start that never came to be, so that it can be recorded again."""
        self._known[start.uid].discard((start.container, start.number))

    def _note(self, start: Start) -> None:
        self._known.setdefault(start.uid, set()).add((start.container, start.number))

    async def flushed(self) -> None:
        """Wait until nothing is being written."""
        while self._flushing is not None:
            await asyncio.wait([self._flushing])

    def _flush(self) -> None:
        lines, self._lines = b"".join(self._lines), []
        waiting, self._waiting = self._waiting, []
        loop = asyncio.get_running_loop()
        self._flushing = loop.run_in_executor(None, self._write, lines)
        self._flushing.add_done_callback(lambda ended: self._flushed(ended, waiting))

    def _write(self, lines: bytes) -> None:
        length = os.fstat(self._descriptor).st_size
        try:
            _write_all(self._descriptor, lines)
            os.fdatasync(self._descriptor)
        except OSError:
            # A full disk takes a part of a line, and would spoil the next one.
            os.ftruncate(self._descriptor, length)
            raise

    def _flushed(
        self, ended: asyncio.Future[None], waiting: list[asyncio.Future[None]]
    ) -> None:
        self._flushing = None
        error = None if ended.cancelled() else ended.exception()
        for each in waiting:
            if each.done():
                continue
            if error is not None:
                each.set_exception(error)
            else:
                each.set_result(None)
        if self._waiting:
            self._flush()


@contextmanager
def opened(path: Path, is_wanted: Callable[[Start], bool]) -> Iterator[Journal]:
    """Open a journal, and drop from it what nobody wants any more."""
    # One that was withdrawn stands there again.
    starts = list({start.name: start for start in _read(path) if is_wanted(start)}.values())
    fresh = path.with_suffix(".new")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
    try:
        _write_all(descriptor, b"".join(_ENCODER.encode(start) + b"\n" for start in starts))
        os.fdatasync(descriptor)
        fresh.replace(path)
        yield Journal(descriptor, starts)
    finally:
        os.close(descriptor)


def _write_all(descriptor: int, content: bytes) -> None:
    while content:
        content = content[os.write(descriptor, content) :]


def _read(path: Path) -> Iterator[Start]:
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return
    # What stands after the last line end was cut off by a crash: nobody was told that it is there.
    for line in lines[:-1]:
        try:
            yield _DECODER.decode(line)
        except msgspec.MsgspecError:
            # Without the rest, what runs of all other pods could not even be ended.
            _log.error(
                "A line about a start cannot be read", file=str(path), line=repr(line[:200])
            )
