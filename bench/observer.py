"""One observer of all clusters: when each Job appeared and when it ended, by one clock."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from bench.command import WITHIN, Failed
from jobferry.clock import Seconds, SystemClock
from jobferry.dispatch.heads import JobHead
from jobferry.kube.cache import Change
from jobferry.kube.calls import Scope
from jobferry.kube.client import Client
from jobferry.kube.informer import Informer
from jobferry.kube.items import Key
from jobferry.kube.resources import JOBS
from jobferry.runtime import supervise


@dataclass(slots=True)
class Sightings:
    """What was seen of the Jobs of one cluster, and when first."""

    appeared: dict[Key, Seconds] = field(default_factory=dict)
    ended: dict[Key, Seconds] = field(default_factory=dict)
    here: Counter[str] = field(default_factory=Counter)
    """Jobs that are there, by namespace."""

    done: Counter[str] = field(default_factory=Counter)
    """Jobs that have ended, by namespace."""

    def note(self, change: Change[JobHead]) -> None:
        """Take note of a change."""
        key, now = change.item.key, time.monotonic()
        if change.before is None:
            self.appeared[key] = now
            self.here[key.namespace] += 1
        if change.after is None:
            self.here[key.namespace] -= 1
        elif change.after.head.status.has_ended and key not in self.ended:
            self.ended[key] = now
            self.done[key.namespace] += 1


class Observer:
    """Watches the Jobs of all clusters; made by `observer`."""

    def __init__(self, clusters: Iterable[str]) -> None:
        self._sightings = {name: Sightings() for name in clusters}
        self._waiting: list[tuple[Callable[[], bool], asyncio.Event]] = []

    def __getitem__(self, cluster: str) -> Sightings:
        """Return what was seen on a cluster."""
        return self._sightings[cluster]

    async def ended(self, clusters: Collection[str], namespace: str, count: int) -> None:
        """Wait until so many Jobs of a namespace have ended, on these clusters together."""
        await self._until(
            lambda: sum(self[each].done[namespace] for each in clusters) >= count,
            f"{count} Jobs have ended",
        )

    async def there(self, clusters: Collection[str], namespace: str, count: int) -> None:
        """Wait until a namespace has so many Jobs, on these clusters together."""
        await self._until(
            lambda: sum(self[each].here[namespace] for each in clusters) == count,
            f"{count} Jobs are there",
        )

    def listener(self, cluster: str) -> Callable[[Change[JobHead]], None]:
        """Return who takes note of the changes on a cluster."""
        sightings = self[cluster]

        def note(change: Change[JobHead]) -> None:
            sightings.note(change)
            for waiting in [each for each in self._waiting if each[0]()]:
                self._waiting.remove(waiting)
                waiting[1].set()

        return note

    async def _until(self, holds: Callable[[], bool], what: str) -> None:
        if holds():
            return
        over = asyncio.Event()
        self._waiting.append((holds, over))
        try:
            async with asyncio.timeout(WITHIN):
                await over.wait()
        except TimeoutError:
            raise Failed(f"{what}: not so after {WITHIN:g} s") from None


@asynccontextmanager
async def observer(clients: Mapping[str, Client]) -> AsyncIterator[Observer]:
    """Watch the Jobs of all clusters during the block."""
    made = Observer(clients)
    async with supervise.tasks("observer", clock=SystemClock()) as tasks:
        for name, client in clients.items():
            informer = Informer(client, Scope(resource=JOBS), JobHead)
            informer.listen(made.listener(name))
            tasks.start(name, informer.run)
            await informer.synced.wait()
        yield made
