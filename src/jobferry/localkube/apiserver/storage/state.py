"""What is visible: the newest durable entry of each key, and the window of history behind it."""

import bisect
import heapq
import itertools
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from jobferry.clock import Seconds
from jobferry.localkube.apiserver.storage.entry import Change, Entry, Range, resource_of
from jobferry.localkube.apiserver.storage.errors import Compacted, Future

BEGINNING = 1
"""The revision of an empty store, as in etcd: the first write gets 2."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Window:
    """How much history is kept; whichever limit is reached first counts."""

    changes: int = 100_000
    """How many changes."""

    size: int = 128 << 20
    """How many bytes their values may have together: they are in memory."""

    age: Seconds = 300.0
    """How old a change may be."""


class Stale(NamedTuple):
    """A revision in the log that nothing refers to any more, once history begins at `floor`."""

    revision: int
    floor: int


class Row(NamedTuple):
    """One line of the log."""

    entry: Entry
    deleted: bool
    when: Seconds
    """When it was written, on the monotonic clock."""


@dataclass(slots=True)
class _Shelf:
    """One collection: its keys in order, and what happened to them."""

    keys: list[str] = field(default_factory=list)
    history: deque[Change] = field(default_factory=deque)

    def bounds(self, prefix: str, start: str) -> tuple[int, int]:
        """Return where the keys below `prefix` that are not before `start` begin and end."""
        if not self.keys:
            return 0, 0
        low = bisect.bisect_left(self.keys, max(prefix, start))
        # "0" is what follows "/": all that begins with the prefix is before it.
        high = bisect.bisect_left(self.keys, prefix[:-1] + "0")
        return low, max(low, high)

    def since(self, prefix: str, after: int) -> Iterator[Change]:
        """Yield what happened below `prefix` (or to that very key) after a revision, newest first."""
        below = prefix.endswith("/")
        for change in reversed(self.history):
            if change.entry.revision <= after:
                return
            key = change.entry.key
            if key.startswith(prefix) if below else key == prefix:
                yield change


class State:
    """The visible state. It only ever moves on: `restore` once, then `apply` and `compact`."""

    def __init__(self, window: Window) -> None:
        self.revision = BEGINNING
        self.floor = BEGINNING
        """The oldest revision that can be looked back at."""

        self._window = window
        self._entries: dict[str, Entry] = {}
        self._shelves: dict[str, _Shelf] = {}
        self._history: deque[tuple[Seconds, Change]] = deque()
        self.size = 0
        """How many bytes the values in history have."""

    @property
    def changes(self) -> int:
        """How many changes history has."""
        return len(self._history)

    def get(self, key: str) -> Entry | None:
        """Return the newest entry of a key."""
        return self._entries.get(key)

    def counts(self) -> dict[str, int]:
        """Count the entries of each collection that anybody ever asked for."""
        return {name: len(shelf.keys) for name, shelf in self._shelves.items()}

    def range(self, prefix: str, *, start: str, limit: int, at: int | None) -> Range:
        """Return what is below `prefix`, from the key `start` on, as it is now or was at `at`."""
        shelf = self._shelf(prefix)
        if at is None or at == self.revision:
            return self._now(shelf, *shelf.bounds(prefix, start), limit)
        self.check(at)
        was = {change.entry.key: change.previous for change in shelf.since(prefix, at)}
        if not was:
            now = self._now(shelf, *shelf.bounds(prefix, start), limit)
            return Range(now.entries, at, now.more, now.remaining)
        return self._then(shelf, *shelf.bounds(prefix, start), limit, _Past(at, start, was))

    def since(self, prefix: str, after: int) -> list[Change]:
        """Return what happened below `prefix` after a revision."""
        if after < self.floor:
            raise Compacted(after, self.floor)
        found = list(self._shelf(prefix).since(prefix, after))
        found.reverse()
        return found

    def check(self, revision: int) -> None:
        """Raise unless one can look back at `revision`."""
        if revision > self.revision:
            raise Future(revision, self.revision)
        if revision < self.floor:
            raise Compacted(revision, self.floor)

    def apply(self, change: Change, when: Seconds) -> None:
        """Make a durable change visible."""
        entry = change.entry
        shelf = self._shelf(entry.key)
        if change.deleted:
            del self._entries[entry.key]
            del shelf.keys[bisect.bisect_left(shelf.keys, entry.key)]
        else:
            if change.previous is None:
                bisect.insort(shelf.keys, entry.key)
            self._entries[entry.key] = entry
        self._remember(shelf, change, when)
        self.revision = entry.revision

    def compact(self, now: Seconds, through: int = 0) -> list[Stale]:
        """Forget what the window has no room for, and all through a revision.

        Return what is thereby of no use in the log, in the order in which it must be removed.
        """
        stale: list[Stale] = []
        history, window = self._history, self._window
        while history:
            when, change = history[0]
            if (
                len(history) <= window.changes
                and self.size <= window.size
                and now - when < window.age
                and change.entry.revision > through
            ):
                break
            history.popleft()
            self._shelf(change.entry.key).history.popleft()
            self.size -= len(change.entry.value)
            self.floor = change.entry.revision
            stale += superseded(change)
        return stale

    def expiry(self) -> Seconds | None:
        """Return when the oldest change becomes too old."""
        return self._history[0][0] + self._window.age if self._history else None

    def restore(self, rows: Iterable[Row], *, revision: int, floor: int) -> list[Stale]:
        """Take in a whole log, in order; return what is of no use in it."""
        stale: list[Stale] = []
        entries = self._entries
        for entry, deleted, when in rows:
            previous = entries.pop(entry.key, None)
            if not deleted:
                entries[entry.key] = entry
            if entry.revision > floor:
                change = Change(entry, previous, deleted)
                self._remember(self._shelf(entry.key), change, when)
            elif deleted or previous is not None:
                stale += superseded(Change(entry, previous, deleted))
        for key in sorted(entries):
            self._shelf(key).keys.append(key)
        self.revision, self.floor = revision, floor
        return stale

    def rows(self, now: Seconds) -> list[Row]:
        """Return the shortest log from which `restore` makes this state."""
        before = dict(self._entries)  # will be: when history began
        for _, change in reversed(self._history):
            if change.previous is not None:
                before[change.entry.key] = change.previous
            else:
                before.pop(change.entry.key, None)
        oldest = sorted(before.values(), key=lambda entry: entry.revision)
        return [
            *(Row(entry, deleted=False, when=now) for entry in oldest),
            *(Row(change.entry, change.deleted, when) for when, change in self._history),
        ]

    def _remember(self, shelf: _Shelf, change: Change, when: Seconds) -> None:
        shelf.history.append(change)
        self._history.append((when, change))
        self.size += len(change.entry.value)

    def _shelf(self, key: str) -> _Shelf:
        resource = resource_of(key)
        shelf = self._shelves.get(resource)
        if shelf is None:
            shelf = self._shelves[resource] = _Shelf()
        return shelf

    def _now(self, shelf: _Shelf, low: int, high: int, limit: int) -> Range:
        end = min(high, low + limit) if limit else high
        entries = list(map(self._entries.__getitem__, shelf.keys[low:end]))
        return Range(entries, self.revision, end < high, high - end)

    def _then(self, shelf: _Shelf, low: int, high: int, limit: int, past: "_Past") -> Range:
        """Return what was there: the keys that are as they were, and what the others were."""
        same = (self._entries[key] for key in shelf.keys[low:high] if key not in past.was)
        merged = heapq.merge(same, past.entries, key=lambda entry: entry.key)
        count = high - low + len(past.entries)
        count -= sum(key in self._entries for key in past.was if key >= past.start)
        entries = list(itertools.islice(merged, limit or None))
        remaining = count - len(entries)
        return Range(entries, past.revision, remaining > 0, remaining)


class _Past:
    """What keys were at a revision, where that is not what they are now."""

    def __init__(self, revision: int, start: str, was: dict[str, Entry | None]) -> None:
        self.revision = revision
        self.start = start
        self.was = was
        found = (each for each in was.values() if each is not None and each.key >= start)
        self.entries = sorted(found, key=lambda entry: entry.key)


def superseded(change: Change) -> Iterator[Stale]:
    """Yield what is of no use once nobody can look back before `change`.

    First what it replaced, then, if it is a delete, itself: the other way round the key would rise from
    the dead if only the first half were removed.
    """
    if change.previous is not None:
        yield Stale(change.previous.revision, change.entry.revision)
    if change.deleted:
        yield Stale(change.entry.revision, change.entry.revision)
