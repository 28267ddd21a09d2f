"""Events go an hour after they were last written, as they do by kube-apiserver."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from jobferry.clock import Seconds, Timer
from jobferry.localkube.apiserver.handlers.backend import Backend
from jobferry.localkube.apiserver.storage.entry import Entry
from jobferry.localkube.apiserver.storage.errors import Closed, CommitFailed, Conflict

if TYPE_CHECKING:
    from jobferry.localkube.apiserver.storage.watch import Watch

KEPT: Seconds = 3600.0


class _Due(NamedTuple):
    """An event as it was written, and when it goes if nobody writes it again."""

    at: Seconds
    key: str
    revision: int


class Expiry:
    """Deletes events whose time is over; looks at none before that."""

    def __init__(self, backend: Backend) -> None:
        self._storage = backend.storage
        self._clock = backend.clock
        self._events = backend.registry.get("", "v1", "events")
        self._due: deque[_Due] = deque()
        """The oldest write first."""
        self._woken = asyncio.Event()
        self._timer: Timer | None = None
        self._watch: Watch | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Do so within the block."""
        storage, prefix = self._storage, self._events.prefix
        found = [self._remaining(entry) for entry in storage.range(prefix).entries]
        self._due.extend(sorted(found))
        with storage.watch(prefix, after=storage.revision, notify=self._written) as watch:
            self._watch = watch
            self._woken.set()
            async with asyncio.TaskGroup() as tasks:
                task = tasks.create_task(self._run())
                yield
                task.cancel()
        if self._timer is not None:
            self._timer.cancel()

    def _remaining(self, entry: Entry) -> _Due:
        """Return when an event goes that was there before us."""
        meta = entry.fresh()["metadata"]
        times = [meta["creationTimestamp"]]
        times += [each["time"] for each in meta.get("managedFields") or () if "time" in each]
        age = self._clock.now() - datetime.fromisoformat(max(times))
        left = KEPT - max(0.0, age.total_seconds())
        return _Due(self._clock.monotonic() + left, entry.key, entry.revision)

    def _written(self) -> None:
        if self._watch is None:
            return
        with suppress(Closed):
            at = self._clock.monotonic() + KEPT
            self._due.extend(
                _Due(at, change.entry.key, change.revision)
                for change in self._watch.take()
                if not change.deleted
            )
            if self._timer is None:
                self._woken.set()

    async def _run(self) -> None:
        while True:
            await self._woken.wait()
            self._woken.clear()
            self._timer = None
            now = self._clock.monotonic()
            while self._due and self._due[0].at <= now:
                await self._delete(self._due.popleft())
            if self._due:
                self._timer = self._clock.call_later(self._due[0].at - now, self._woken.set)

    async def _delete(self, due: _Due) -> None:
        entry = self._storage.get(due.key)
        if entry is None or entry.revision != due.revision:
            return  # it is gone, or was written again
        event = entry.fresh()
        with suppress(Conflict, CommitFailed):
            await self._storage.delete(
                due.key,
                lambda revision: self._events.encode(event, revision),
                expected=entry.revision,
            )
