"""Events go some time after they were last written, as they do by kube-apiserver."""

import heapq
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import NamedTuple

from jobferry.clock import Seconds
from jobferry.localkube.apiserver.handlers.backend import Backend
from jobferry.localkube.apiserver.storage.entry import Change, Entry
from jobferry.localkube.apiserver.storage.following import follow
from jobferry.localkube.apiserver.upkeep import Upkeep


class _Due(NamedTuple):
    """An event as it was written, and when it goes if nobody writes it again."""

    at: Seconds
    key: str
    revision: int


class Expiry:
    """Deletes events whose time is over; looks at none before that."""

    def __init__(self, backend: Backend) -> None:
        self._storage = backend.storage
        self._door = backend.door
        self._clock = backend.clock
        self._kept = backend.timeouts.event
        self._events = backend.registry.get("", "v1", "events")
        self._begun = backend.storage.revision
        self._due: list[_Due] = []
        """A heap: the first to go first."""
        self._upkeep = Upkeep(
            self._delete_old, backend.clock, failure="An old event could not be deleted"
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Do so within the block."""
        with follow(self._storage, self._events.prefix, self._note):
            async with self._upkeep.running():
                yield

    def _note(self, change: Change) -> None:
        if change.deleted:
            return
        entry = change.entry
        age = self._age(entry) if entry.revision <= self._begun else 0.0
        at = self._clock.monotonic() + self._kept - age
        heapq.heappush(self._due, _Due(at, entry.key, entry.revision))
        if self._due[0].key == entry.key:
            self._upkeep.ask()  # else it is asked for already, in time

    def _age(self, entry: Entry) -> Seconds:
        """Return how old an event is that was there before us; 0 if it does not say so in plain words."""
        meta = entry.fresh()["metadata"]
        times = [each.get("time") for each in meta.get("managedFields") or ()]
        try:
            written = datetime.fromisoformat(
                max(filter(None, (meta["creationTimestamp"], *times)))
            )
            return max(0.0, (self._clock.now() - written).total_seconds())
        except (LookupError, TypeError, ValueError):
            return 0.0

    async def _delete_old(self, _: str) -> Seconds | None:
        """Delete what is due; return when the next one is."""
        while self._due:
            left = self._due[0].at - self._clock.monotonic()
            if left > 0:
                return left
            due = heapq.heappop(self._due)
            try:
                await self._delete(due)
            except BaseException:
                heapq.heappush(self._due, due)  # else it would stay for ever
                raise
        return None

    async def _delete(self, due: _Due) -> None:
        entry = self._door.newest(due.key)
        # Else it is gone, or was written again.
        if entry is not None and entry.revision == due.revision:
            await self._door.remove(self._events, entry, entry.fresh())
