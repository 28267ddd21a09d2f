"""Writes that have their revision and are not durable yet: seen by nobody but the next writer."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

from jobferry.localkube.apiserver.storage.entry import Change, Entry
from jobferry.localkube.apiserver.storage.errors import CommitFailed, Conflict

BLOCK = 100_000
"""How many revisions are reserved at a time; so many at most are skipped by a crash.

Half of it bounds how many writes may be under way, or fail in a row, before new ones are refused.
"""


class Write(NamedTuple):
    """A write under way, and who waits for it."""

    change: Change
    done: asyncio.Future[None]


class Accepted:
    """The writes under way, in the order of their revisions, on top of the durable state."""

    def __init__(self, durable: Callable[[str], Entry | None], last: int, ceiling: int) -> None:
        self.last = last
        """The highest revision given out; it never goes back, whatever fails."""

        self.ceiling = ceiling
        """Revisions up to here may be given out."""

        self._durable = durable
        self._newest: dict[str, Change] = {}
        self._line: deque[Write] = deque()

    def __len__(self) -> int:
        return len(self._line)

    @property
    def is_low(self) -> bool:
        """Whether it is time to reserve more revisions."""
        return self.ceiling - self.last < BLOCK // 2

    def get(self, key: str) -> Entry | None:
        """Return the newest state of a key, durable or not."""
        change = self._newest.get(key)
        return self._durable(key) if change is None else change.left

    def expect(self, key: str, revision: int | None) -> Entry | None:
        """Return the newest state of a key; raise `Conflict` unless it is the expected one."""
        found = self.get(key)
        if revision is not None and revision != (found.revision if found else 0):
            raise Conflict(key, revision, found)
        return found

    def next(self) -> int:
        """Give out a revision."""
        if self.last >= self.ceiling:
            raise CommitFailed("no revision could be reserved for the write")
        self.last += 1
        return self.last

    def add(self, change: Change, done: asyncio.Future[None]) -> None:
        """Take in a write; `change.previous` must be the newest state of its key."""
        self._newest[change.entry.key] = change
        self._line.append(Write(change, done))

    def settle(self, changes: Sequence[Change]) -> None:
        """Let go on whoever waits for these: the first ones of the line, and now durable."""
        for change in changes:
            done = self._line.popleft().done
            if not done.done():  # whoever waited may have been cancelled
                done.set_result(None)
            key = change.entry.key
            if self._newest[key] is change:
                del self._newest[key]

    def fail(self, why: Callable[[], Exception]) -> None:
        """Give up all of them: any may build on one that was lost."""
        lost = list(self._line)
        self._line.clear()
        self._newest.clear()
        for _, done in lost:
            if not done.done():
                done.set_exception(why())
