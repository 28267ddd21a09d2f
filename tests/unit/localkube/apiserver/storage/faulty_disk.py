"""A disk that can be full, fail, or stand still."""

import itertools
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import apsw

_names = itertools.count()


class FaultyDisk(apsw.VFS):
    """The real disk, as SQLite sees it, until a test says otherwise; `name` is for `open_storage`."""

    def __init__(self) -> None:
        self.name = f"faulty-{next(_names)}"
        super().__init__(self.name, "")
        self.is_full = False
        """Whether nothing can be written."""

        self.is_failing = False
        """Whether what is written does not get to the disk."""

        self.syncs = 0
        self._moving = threading.Event()
        self._moving.set()
        self._stuck = threading.Event()

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802 (SQLite)
        return _File(self, name, flags)

    @contextmanager
    def standing_still(self) -> Iterator[threading.Event]:
        """Let nothing get to the disk during the block; the event says that somebody tried."""
        self._stuck.clear()
        self._moving.clear()
        try:
            yield self._stuck
        finally:
            self._moving.set()

    def write(self) -> None:
        if self.is_full:
            raise apsw.FullError("database or disk is full")

    def sync(self) -> None:
        self._stuck.set()
        self._moving.wait()
        self.syncs += 1
        if self.is_failing:
            raise apsw.IOError("disk I/O error")


class _File(apsw.VFSFile):
    def __init__(
        self, disk: FaultyDisk, name: str | apsw.URIFilename | None, flags: list[int]
    ) -> None:
        self._disk = disk
        super().__init__("", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802 (SQLite)
        self._disk.write()
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:  # noqa: N802 (SQLite)
        self._disk.sync()
        super().xSync(flags)
