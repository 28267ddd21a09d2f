"""Whether Kueue's MultiKueue runs on the hub: then the name that it claims is not ours to claim."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from jobferry import log
from jobferry.clock import Seconds, sleep, timeout
from jobferry.dispatch.presence import LOOK_AGAIN_AFTER
from jobferry.errors import Error
from jobferry.kube import errors, optional
from jobferry.kube.cache import Change
from jobferry.kube.calls import Scope
from jobferry.kube.client import Client
from jobferry.kube.definitions import SERVED_WITHIN
from jobferry.kube.informer import Informer
from jobferry.kube.items import Head
from jobferry.objects.resource import Resource
from jobferry.runtime import supervise
from jobferry.workers import cluster

CLUSTERS = Resource(
    "kueue.x-k8s.io", "v1beta1", "multikueueclusters", "MultiKueueCluster", namespaced=False
)
"""What MultiKueue has one of for each of its workers; in which version, the hub says."""

RUNS = (
    "Kueue's MultiKueue runs on this hub (it has MultiKueueClusters) and claims the same managedBy:"
    " switch claimMultikueue off, or MultiKueue"
)
UNKNOWN = "whether Kueue's MultiKueue runs on this hub is not known yet"

TRY_AGAIN_AFTER: Seconds = 10.0

_log = log.get(__name__)


class Rivals:
    """Follows the MultiKueueClusters of the hub; `on_change` hears when there may be another `objection`."""

    def __init__(self, hub: Client, on_change: Callable[[], None]) -> None:
        self._hub = hub
        self._clock = hub.clock
        self._on_change = on_change
        self._news = asyncio.Event()
        self._heard: Seconds | None = None
        """When there was last news of what is defined."""

        self.objection: str | None = UNKNOWN
        """Why the name of MultiKueue is not ours to claim now; None: it is."""

    def note_definition(self, name: str) -> None:
        """Take note that a CRD came, changed or went."""
        if name == str(CLUSTERS):
            self._heard = self._clock.monotonic()
            self._news.set()

    async def run(self) -> None:
        """Follow until cancelled; what is defined is looked at anew whenever there is news of it."""
        while True:
            self._news.clear()
            try:
                resource = await self._defined()
            except Error as error:
                _log.failure("MultiKueue was not looked for", error)
                await sleep(self._clock, TRY_AGAIN_AFTER)
                continue
            async with supervise.tasks("rivals", clock=self._clock) as tasks:
                if resource is None:
                    self._object(None)
                else:
                    tasks.start("informer", partial(self._follow, resource))
                await self._await_news(is_sought=resource is None)

    async def _await_news(self, *, is_sought: bool) -> None:
        """Wait for news; not for long while what the last news were about may yet be served."""
        heard = self._heard
        if not is_sought or heard is None or self._clock.monotonic() - heard > SERVED_WITHIN:
            await self._news.wait()
            return
        with suppress(TimeoutError):
            async with timeout(self._clock, LOOK_AGAIN_AFTER):
                await self._news.wait()

    async def _defined(self) -> Resource | None:
        """Return MultiKueueClusters in the first version that has them, as the hub prefers; None: it knows none."""
        try:
            group = await self._hub.raw(f"/apis/{CLUSTERS.group}")
        except errors.NotFound:
            return None
        # Not each kind of a group is in each of its versions.
        every = (replace(CLUSTERS, version=each["version"]) for each in group["versions"])
        return next(iter(await cluster.served(self._hub, every)), None)

    async def _follow(self, resource: Resource) -> None:
        scope = Scope(resource=resource, is_metadata=True)
        found = Informer(self._hub, scope, Head, transform=lambda _: b"", heeds_refusal=True)
        async with supervise.tasks("MultiKueueClusters", clock=self._clock) as tasks:
            run = partial(optional.follow, found, self._clock, self._refuse)
            tasks.start("informer", run)
            await found.synced.wait()
            found.listen(partial(self._note, found))
            self._object(RUNS if len(found) else None)
            await tasks.ended()

    def _note(self, found: Informer[Any], _: Change[Head]) -> None:
        self._object(RUNS if len(found) else None)

    def _refuse(self, refusal: Error) -> None:
        self._object(
            f"whether Kueue's MultiKueue runs on this hub is not ours to see: {refusal}"
        )

    def _object(self, objection: str | None) -> None:
        if objection != self.objection:
            self.objection = objection
            self._on_change()
