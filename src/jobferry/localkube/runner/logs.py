"""The output of a container: a file that its processes write themselves, and when each part of it came.

No program stands between a container and its file: none can die, block it, or lose a line. The runner looks at
a file when it has grown and writes down how long it was at which time (`Log.note`); so each line has the time at
which it was seen, some milliseconds late, and what was written while no runner ran has the time when the
next one came.

A file is never renamed or cut, which would lose lines under the hands of who writes. Once it is too long, the
blocks of its beginning are given back to the file system (a hole), and offsets stay what they were.
"""

import asyncio
import ctypes
import os
import struct
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import takewhile
from pathlib import Path

LONGEST = 30 * 1024 * 1024
"""Bytes of a log that are kept at least."""

SPARE = 10 * 1024 * 1024
"""How much longer it may be before its beginning is dropped."""

CHUNK = 64 * 1024
LONGEST_LINE = 1024 * 1024
_PAGE = 4096
_ENTRY = struct.Struct("<qq")
_KEEP_SIZE_AND_PUNCH = 0x1 | 0x2


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Which part of a log is wanted."""

    since: datetime | None = None
    tail: int | None = None
    limit: int | None = None
    timestamps: bool = False
    follow: bool = False


class Log:
    """The output of one run of a container."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._times = path.with_suffix(".times")
        self._noted = _last_offset(self._times)
        self._first = _first_offset(self._times)
        self._is_over = False
        self._readers: set[asyncio.Event] = set()

    def note(self, now: datetime) -> None:
        """Take note that the file is as long as it is, and tell who follows it."""
        try:
            size = self.path.stat().st_size
        except FileNotFoundError:
            return
        if size <= self._noted:
            return
        self._noted = size
        with suppress(OSError):  # a full disk: these lines get the time of the next ones
            with self._times.open("ab") as file:
                file.write(_ENTRY.pack(size, _nanoseconds(now)))
            if size - self._first > LONGEST + SPARE:
                self._drop_before(size - LONGEST)
        self._wake()

    def end(self, now: datetime) -> None:
        """Take note that nothing more will come."""
        self.note(now)
        self._is_over = True
        self._wake()

    def tail(self, size: int, lines: int) -> str:
        """Return the end of the log, so many bytes and lines of it at most."""
        with self.path.open("rb") as file:
            end = file.seek(0, os.SEEK_END)
            file.seek(max(self._first, end - size))
            text = file.read(size).decode(errors="replace")
        return "".join(text.splitlines(keepends=True)[-lines:])

    async def read(self, window: Window, now: datetime) -> AsyncIterator[bytes]:
        """Give the log in parts, line by line if with timestamps."""
        left = window.limit
        async for part in self._parts(window, now):
            yield part if left is None else part[:left]
            if left is not None:
                left -= len(part)
                if left <= 0:
                    return

    async def _parts(self, window: Window, now: datetime) -> AsyncIterator[bytes]:
        times = _Times(self._times)
        news = asyncio.Event()
        self._readers.add(news)
        try:
            with self.path.open("rb") as file:
                reader = _Reader(file.fileno(), window.timestamps)
                reader.at = self._start(file.fileno(), times, window)
                while True:
                    news.clear()
                    is_over = self._is_over or not window.follow
                    reader.skip_to(self._first)
                    pieces = reader.next(is_over)
                    for offset, piece in pieces:
                        yield times.stamped(offset, piece, now) if window.timestamps else piece
                    if pieces or not reader.is_at_end:
                        continue
                    if is_over:
                        return
                    await news.wait()
                    if window.timestamps:
                        times.refresh()
        finally:
            self._readers.discard(news)

    def _start(self, descriptor: int, times: "_Times", window: Window) -> int:
        first = _line_start(descriptor, self._first) if self._first else 0
        if window.since is not None:
            first = max(first, _line_start(descriptor, times.offset_since(window.since)))
        if window.tail is not None:
            first = max(first, _tail_start(descriptor, window.tail))
        return first

    def _drop_before(self, offset: int) -> None:
        """Give back the disk space of the beginning; keeps the times of the rest only."""
        offset -= offset % _PAGE
        if not _punch(self.path, offset):
            return
        self._first = offset
        entries = [entry for entry in _entries(self._times) if entry[0] > offset]
        fresh = self._times.with_suffix(".new")
        packed = (_ENTRY.pack(*entry) for entry in [(offset, 0), *entries])
        fresh.write_bytes(b"".join(packed))
        fresh.replace(self._times)

    def _wake(self) -> None:
        for reader in self._readers:
            reader.set()


class _Times:
    """When which part of a log came."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.refresh()

    def refresh(self) -> None:
        self._entries = list(_entries(self._path))
        self._at = 0

    def offset_since(self, since: datetime) -> int:
        """Return where the first part begins that is not older."""
        limit = _nanoseconds(since)
        old = list(takewhile(lambda entry: entry[1] < limit, self._entries))
        return old[-1][0] if old else 0

    def stamped(self, offset: int, line: bytes, now: datetime) -> bytes:
        """Put its time before a line; lines come in order."""
        entries = self._entries
        while self._at < len(entries) and entries[self._at][0] <= offset:
            self._at += 1
        found = entries[self._at][1] if self._at < len(entries) else _nanoseconds(now)
        return stamp(found).encode() + b" " + line


class _Reader:
    """Reads a file from an offset on: in chunks, or in lines."""

    def __init__(self, descriptor: int, by_line: bool) -> None:
        self.at = 0
        self.is_at_end = False
        self._descriptor = descriptor
        self._by_line = by_line
        self._rest = b""

    def skip_to(self, first: int) -> None:
        """Go on where the file begins now, if its beginning was dropped under our hands."""
        if self.at < first:
            self.at, self._rest = _line_start(self._descriptor, first), b""

    def next(self, is_over: bool) -> list[tuple[int, bytes]]:
        """Return what there is, with its offsets; nothing at the end.

        A line without its end waits for that, unless nothing more will come or it is endless.
        """
        chunk = os.pread(self._descriptor, CHUNK, self.at + len(self._rest))
        self.is_at_end = not chunk
        pieces = [self._rest + chunk]
        if self._by_line:
            pieces = _lines(pieces[0])
            may_grow = (chunk or not is_over) and len(pieces[-1]) < LONGEST_LINE
            self._rest = pieces.pop() if may_grow else b""
        found = []
        for piece in filter(None, pieces):
            found.append((self.at, piece))
            self.at += len(piece)
        return found


def stamp(nanoseconds: int) -> str:
    """Write a time as logs have it."""
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest:09}Z"


def _nanoseconds(moment: datetime) -> int:
    return round(moment.timestamp() * 1_000_000) * 1000


def _lines(text: bytes) -> list[bytes]:
    *whole, rest = text.split(b"\n")
    return [line + b"\n" for line in whole] + [rest]


def _line_start(descriptor: int, offset: int) -> int:
    """Return where the first line begins that does not begin before `offset`."""
    if offset == 0:
        return 0
    at = offset - 1
    while chunk := os.pread(descriptor, CHUNK, at):
        if (found := chunk.find(b"\n")) >= 0:
            return at + found + 1
        at += len(chunk)
    return at


def _tail_start(descriptor: int, lines: int) -> int:
    """Return where the last so many lines begin."""
    size = os.fstat(descriptor).st_size
    at, wanted = size, lines
    if size and os.pread(descriptor, 1, size - 1) != b"\n":
        wanted -= 1  # the last line is not ended, and counts
    if lines == 0:
        return size
    while at > 0:
        begin = max(0, at - CHUNK)
        chunk = os.pread(descriptor, at - begin, begin)
        end = len(chunk)
        while (found := chunk.rfind(b"\n", 0, end)) >= 0:
            if wanted == 0:
                return begin + found + 1
            wanted -= 1
            end = found
        at = begin
    return 0


def _entries(path: Path) -> Iterator[tuple[int, int]]:
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return iter(())
    whole = len(content) - len(content) % _ENTRY.size
    return _ENTRY.iter_unpack(content[:whole])


def _last_offset(times: Path) -> int:
    return max((offset for offset, _ in _entries(times)), default=0)


def _first_offset(times: Path) -> int:
    """Return where the log begins now: what was dropped is an entry without a time."""
    return next((offset for offset, time in _entries(times) if time == 0), 0)


def _punch(path: Path, length: int) -> bool:
    """Give the first bytes of a file back to the file system; False if that cannot be done."""
    fallocate = getattr(ctypes.CDLL(None), "fallocate", None)
    if fallocate is None:
        return False
    offset_type = ctypes.c_int64
    fallocate.argtypes = (ctypes.c_int, ctypes.c_int, offset_type, offset_type)
    descriptor = os.open(path, os.O_WRONLY)
    try:
        return bool(fallocate(descriptor, _KEEP_SIZE_AND_PUNCH, 0, length) == 0)
    finally:
        os.close(descriptor)
