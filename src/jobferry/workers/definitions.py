"""Notices that a worker serves other kinds than before: as soon as a CRD comes or goes, where we may see that."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from jobferry.clock import Seconds, timeout
from jobferry.errors import Error
from jobferry.kube import errors, optional, rights
from jobferry.kube.calls import Scope
from jobferry.kube.client import Client
from jobferry.kube.definitions import SERVED_WITHIN, Definitions
from jobferry.kube.items import Key
from jobferry.kube.resources import CRDS
from jobferry.objects.resource import Resource
from jobferry.runtime import supervise
from jobferry.workers import cluster
from jobferry.workers.copies import HIDING

LOOK_AGAIN_AFTER: Seconds = 2.0
"""Discovery cannot be watched: it tells of a kind a moment after its CRD is established."""


class Lookout:
    """Looks which of some kinds a cluster serves, whenever there is reason to."""

    def __init__(self, client: Client, kinds: Sequence[Resource], known: Sequence[str]) -> None:
        self._client = client
        self._clock = client.clock
        self._kinds = kinds
        self._names = frozenset(map(str, kinds))
        self._known = tuple(known)
        self._reason = asyncio.Event()
        self._heard: Seconds | None = None
        """When there was last a reason to look."""

        self._definitions = Definitions(client, self._note, lambda _: None)

    def look(self) -> None:
        """Look soon: something seems to be otherwise."""
        self._heard = self._clock.monotonic()
        self._reason.set()

    async def until_others(self) -> None:
        """Return once the cluster serves others of the kinds than those that are known."""
        async with supervise.tasks("lookout", clock=self._clock) as tasks:
            is_told = await self._may_watch()
            if is_told:
                tasks.start("definitions", self._definitions.run)
                await self._definitions.settled.wait()
            while await self._are_as_known():
                await self._await_reason(None if is_told else optional.ASK_AGAIN_AFTER)

    def _note(self, name: str) -> None:
        if name in self._names and self._definitions.settled.is_set():
            self.look()

    async def _may_watch(self) -> bool:
        try:
            verbs = ("list", "watch")
            return all([await rights.may(self._client, each, CRDS) for each in verbs])
        except Error:
            return False

    async def _are_as_known(self) -> bool:
        self._reason.clear()
        try:
            found = await cluster.served(self._client, self._kinds)
        except Error:
            return True  # that it does not answer is for others to notice
        return tuple(map(cluster.name, found)) == self._known

    async def _await_reason(self, at_most: Seconds | None) -> None:
        heard = self._heard
        is_fresh = heard is not None and self._clock.monotonic() - heard < SERVED_WITHIN
        pause = LOOK_AGAIN_AFTER if is_fresh else at_most
        if pause is None:
            await self._reason.wait()
            return
        with suppress(TimeoutError):
            async with timeout(self._clock, pause):
                await self._reason.wait()


async def has_lost(client: Client, kind: Resource, there: Key) -> bool:
    """Tell whether a cluster has certainly neither a kind nor an object of it: a CRD takes all that it defines with it.

    What we may not ask, or what fails, tells nothing; nor does either alone, as it may be hidden.
    """
    scope = Scope(resource=CRDS, fields=f"metadata.name={kind}", is_metadata=True)
    try:
        if (await client.list(scope)).items:
            return False
    except HIDING:
        return False
    try:
        await client.get(kind, there.name, there.namespace)
    except errors.NotFound:
        return True
    except HIDING:
        pass
    return False
