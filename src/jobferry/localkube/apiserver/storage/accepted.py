"""Writes that have their revision and are not durable yet: seen by nobody but the next writer."""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from jobferry.localkube.apiserver.storage.entry import Change, Entry, resource_of
from jobferry.localkube.apiserver.storage.errors import CommitFailed, Conflict
from jobferry.localkube.apiserver.storage.state import State

BLOCK = 100_000
"""How many revisions are reserved at a time; so many at most are skipped by a crash.

Half of it bounds how many writes may be under way, or fail in a row, before new ones are refused.
"""

_NOTHING: Mapping[str, Change] = MappingProxyType({})


class Write(NamedTuple):
    """A write under way, and who waits for it: each by itself, for each may be cancelled."""

    change: Change
    waiting: list[asyncio.Future[None]]


class Accepted:
    """The writes under way, in the order of their revisions, on top of the durable state."""

    def __init__(self, durable: State, last: int, ceiling: int) -> None:
        self.last = last
        """The highest revision given out; it never goes back, whatever fails."""

        self.ceiling = ceiling
        """Revisions up to here may be given out."""

        self._durable = durable
        self._newest: dict[str, dict[str, Change]] = {}
        """The last change of each key, by collection."""

        self._line: deque[Write] = deque()

    def __len__(self) -> int:
        return len(self._line)

    @property
    def is_low(self) -> bool:
        """Whether it is time to reserve more revisions."""
        return self.ceiling - self.last < BLOCK // 2

    def get(self, key: str) -> Entry | None:
        """Return the newest state of a key, durable or not."""
        if self._newest:
            change = self._newest.get(resource_of(key), _NOTHING).get(key)
            if change is not None:
                return change.left
        return self._durable.get(key)

    def range(self, prefix: str) -> list[Entry]:
        """Return the newest state of all keys below a prefix, durable or not."""
        entries = self._durable.range(prefix, start="", limit=0, at=None).entries
        changed = self._newest.get(resource_of(prefix))
        if not changed:
            return entries
        found = {entry.key: entry for entry in entries}
        for key, change in changed.items():
            if key.startswith(prefix):
                found.pop(key, None)
                if change.left is not None:
                    found[key] = change.left
        return [found[key] for key in sorted(found)]

    def expect(self, key: str, revision: int | None) -> Entry | None:
        """Return the newest state of a key; raise `Conflict` unless it is the expected one."""
        found = self.get(key)
        if revision is not None and revision != (found.revision if found else 0):
            raise Conflict(key, revision, found)
        return found

    def next(self) -> int:
        """Return the revision that the next write gets."""
        if self.last >= self.ceiling:
            raise CommitFailed("no revision could be reserved for the write")
        return self.last + 1

    def add(self, change: Change, done: asyncio.Future[None]) -> None:
        """Take in a write with the next revision, on top of the newest state of its key."""
        key = change.entry.key
        self.last = change.entry.revision
        self._newest.setdefault(resource_of(key), {})[key] = change
        self._line.append(Write(change, [done]))

    def wait_for_all(self, done: asyncio.Future[None]) -> None:
        """Let `done` hear what comes of the last of the line: there must be one."""
        self._line[-1].waiting.append(done)

    def settle(self, changes: Sequence[Change]) -> None:
        """Let go on whoever waits for these: the first ones of the line, and now durable."""
        for change in changes:
            for done in self._line.popleft().waiting:
                if not done.done():  # whoever waited may have been cancelled
                    done.set_result(None)
            self._forget(change)

    def _forget(self, change: Change) -> None:
        key = change.entry.key
        collection = resource_of(key)
        newest = self._newest[collection]
        if newest[key] is change:
            del newest[key]
            if not newest:
                del self._newest[collection]

    def fail(self, why: Callable[[], Exception]) -> None:
        """Give up all of them: any may build on one that was lost."""
        lost = list(self._line)
        self._line.clear()
        self._newest.clear()
        for _, waiting in lost:
            for done in waiting:
                if not done.done():
                    done.set_exception(why())
