"""Items in the order of a rank that may still fall: a heap that forgets what is out of date."""

import heapq
import itertools
from collections.abc import Hashable
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)


class Ranking(Generic[T]):
    """Items by rank, lowest first, and first come first served within one rank; O(log n)."""

    def __init__(self) -> None:
        self._entries: dict[T, tuple[float, int, T]] = {}
        # Holds every entry, and for a while those that a lower rank or a removal has overtaken.
        self._heap: list[tuple[float, int, T]] = []
        self._turns = itertools.count()

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, item: object) -> bool:
        return item in self._entries

    def put(self, item: T, rank: float) -> None:
        """Take in `item`; if it is here already, the lower rank wins and it keeps its turn."""
        known = self._entries.get(item)
        if known is not None and known[0] <= rank:
            return
        turn = next(self._turns) if known is None else known[1]
        self._entries[item] = entry = (rank, turn, item)
        heapq.heappush(self._heap, entry)
        self._tidy()

    def discard(self, item: T) -> None:
        """Take `item` out, if it is here."""
        self._entries.pop(item, None)

    def first(self) -> tuple[float, T] | None:
        """Return the lowest rank and its item, or None if there is nothing."""
        while self._heap:
            entry = rank, _, item = self._heap[0]
            if self._entries.get(item) is entry:
                return rank, item
            heapq.heappop(self._heap)
        return None

    def pop(self) -> T:
        """Take out the item with the lowest rank; raises IndexError if there is nothing."""
        first = self.first()
        if first is None:
            raise IndexError("pop from an empty ranking")
        heapq.heappop(self._heap)
        del self._entries[first[1]]
        return first[1]

    def oldest(self) -> T:
        """Return the item that has been here longest; raises StopIteration if there is nothing."""
        return next(iter(self._entries))  # a dict keeps the order in which its keys came

    def _tidy(self) -> None:
        """Drop what was overtaken once it is the larger part: each drop is paid for by a put."""
        if len(self._heap) > 2 * len(self._entries) + 16:
            self._heap = list(self._entries.values())
            heapq.heapify(self._heap)
