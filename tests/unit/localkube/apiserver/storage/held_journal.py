"""A journal that commits when a test says so."""

from collections import deque

from jobferry.localkube.apiserver.storage.entry import Change
from jobferry.localkube.apiserver.storage.journal import Contents, Listener
from jobferry.localkube.apiserver.storage.state import BEGINNING, Stale


class HeldJournal:
    """Holds what is appended until `commit` or `fail`."""

    listener: Listener

    def __init__(self, ceiling: int = 1 << 40) -> None:
        self._ceiling = ceiling
        self.batches: deque[list[Change]] = deque()
        self.asked_for: int | None = None
        self.stale: list[Stale] = []
        self.last: int | None = None
        self.written: list[int] = []

    async def open(self, listener: Listener) -> Contents:
        self.listener = listener
        return Contents((), BEGINNING, BEGINNING, self._ceiling)

    def append(self, changes: list[Change], written: int) -> None:
        self.batches.append(changes)
        self.written.append(written)

    def resume(self) -> None:
        assert not self.batches, "it takes up work with nothing in line"

    def reserve(self, ceiling: int) -> None:
        self.asked_for = ceiling

    def forget(self, stale: list[Stale]) -> None:
        self.stale += stale

    async def close(self, last: int) -> None:
        self.last = last

    def commit(self) -> None:
        """Make the oldest batch durable."""
        self.listener.committed(self.batches.popleft())

    def fail(self) -> None:
        """Lose whatever is there."""
        self.batches.clear()
        self.listener.failed(OSError("the disk is on fire"))
