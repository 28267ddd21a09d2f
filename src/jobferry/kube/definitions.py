"""Which kinds a cluster defines beyond the built-in ones, as far as we may know: no more of it than their names."""

import asyncio
from collections.abc import Callable
from functools import partial

from jobferry.clock import Seconds
from jobferry.errors import Error
from jobferry.kube import optional
from jobferry.kube.cache import Change
from jobferry.kube.calls import Scope
from jobferry.kube.client import Client
from jobferry.kube.informer import Freshness, Informer
from jobferry.kube.items import Head, Key
from jobferry.kube.resources import CRDS
from jobferry.objects.resource import Resource
from jobferry.runtime import supervise

SERVED_WITHIN: Seconds = 30.0
"""How long after the last change of a definition an API server may take until it serves what that says."""


class Definitions:
    """Follows the names of a cluster's CRDs; `on_change` hears the name of each that came, changed or went.

    `on_refusal` is told if we may not know: then `knows` is false, and nobody hears of any.
    """

    def __init__(
        self,
        client: Client,
        on_change: Callable[[str], None],
        on_refusal: Callable[[Error], None],
    ) -> None:
        self._clock = client.clock
        self._on_change = on_change
        self._on_refusal = on_refusal
        self._is_refused = False
        self.settled = asyncio.Event()
        """Set once it is known which there are, or that this is not to be known now."""

        self._objects = Informer(
            client,
            Scope(resource=CRDS, is_metadata=True),
            Head,
            transform=lambda _: b"",
            heeds_refusal=True,
        )
        self._objects.listen(self._note)
        self._objects.listen_to_link(self._note_link)

    @property
    def knows(self) -> bool:
        """Whether it is known which there are."""
        return self._objects.synced.is_set() and not self._is_refused

    def has(self, kind: Resource) -> bool:
        """Tell whether a kind is defined, as far as is known."""
        return self._objects.get(Key("", str(kind))) is not None

    async def run(self) -> None:
        """Follow until cancelled."""
        async with supervise.tasks("definitions", clock=self._clock) as tasks:
            follow = partial(optional.follow, self._objects, self._clock, self._refuse)
            tasks.start("informer", follow)
            await self._objects.synced.wait()
            self.settled.set()
            await tasks.ended()

    def _refuse(self, error: Error) -> None:
        self._is_refused = True
        self.settled.set()
        self._on_refusal(error)

    def _note(self, change: Change[Head]) -> None:
        self._on_change(change.item.key.name)

    def _note_link(self, link: Freshness) -> None:
        if link.is_following:
            self._is_refused = False
        if link.trouble is not None:
            self.settled.set()
