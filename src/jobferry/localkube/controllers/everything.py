"""Follows every kind of object that can be deleted, custom ones as they come and go.

Kinds that another controller follows anyway are shared with it. Of the others nothing is kept but metadata.
"""

import asyncio
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from jobferry import log
from jobferry.clock import Seconds, timeout
from jobferry.kube.cache import Change
from jobferry.kube.calls import Scope
from jobferry.kube.client import Client
from jobferry.kube.informer import Informer
from jobferry.kube.items import Item
from jobferry.kube.resources import CRDS
from jobferry.localkube.controllers import discovery
from jobferry.localkube.controllers.controller import Controller
from jobferry.localkube.controllers.discovery import Served
from jobferry.localkube.controllers.heads import Object
from jobferry.localkube.controllers.informers import INDEXES, OWNER, Informers
from jobferry.objects.resource import Resource
from jobferry.runtime import supervise
from jobferry.runtime.reconcile import DONE, Outcome

if TYPE_CHECKING:
    from jobferry.runtime.supervise import Child, Supervisor

NEEDED = frozenset({"delete", "list", "watch"})
SETTLING: Seconds = 2.0
"""API servers list a new kind a little after its definition is established."""

PATIENCE: Seconds = 30.0
"""How long the first state of all kinds may take."""

Listener = Callable[[Resource, Change[Object]], None]

_log = log.get(__name__)


class Everything:
    """An informer for each kind but events; listen before `run`."""

    def __init__(self, client: Client, informers: Informers) -> None:
        self.whole = asyncio.Event()
        self._client = client
        self._shared = informers
        self._informers: dict[Resource, Informer[Object]] = {}
        self._kinds: dict[tuple[str, str], Resource] = {}
        self._own: dict[Resource, Child] = {}
        self._listeners: list[Listener] = []
        self._kind_listeners: list[Callable[[], None]] = []
        self._tasks: Supervisor | None = None
        self._refreshing: Controller[str] = Controller(
            "kinds", client, self._refresh, workers=1
        )

    # Reading

    @property
    def is_whole(self) -> bool:
        """Whether all that there is is known, of every kind."""
        return self.whole.is_set() and all(
            informer.synced.is_set() for informer in self._informers.values()
        )

    def kind(self, group: str, kind: str) -> Resource | None:
        """Return the resource by which a kind is served, whatever its version."""
        return self._kinds.get((group, kind))

    def resource(self, group: str, plural: str) -> Resource | None:
        """Return a resource by its name, whatever its version."""
        for each in self._informers:
            if (each.group, each.plural) == (group, plural):
                return each
        return None

    def of(self, resource: Resource) -> Informer[Object] | None:
        """Return the informer of a kind."""
        return self._informers.get(resource)

    def dependents(self, uid: str) -> Iterator[tuple[Resource, Item[Object]]]:
        """Return all objects that name this one as an owner."""
        for resource, informer in self._informers.items():
            for item in informer.by(OWNER, uid):
                yield resource, item

    def listen(self, listener: Listener) -> None:
        """Call `listener` for every change of any object."""
        self._listeners.append(listener)

    def listen_to_kinds(self, listener: Callable[[], None]) -> None:
        """Call `listener` when there are other kinds than before."""
        self._kind_listeners.append(listener)

    # Following

    async def run(self) -> None:
        """Follow until cancelled."""
        try:
            async with supervise.tasks("everything", clock=self._client.clock) as tasks:
                self._tasks = tasks
                self._refreshing.add("now")
                tasks.start("kinds", self._refreshing.run)
                await tasks.ended()
        finally:
            # Whoever runs this next follows them anew.
            self.whole.clear()
            for resource in self._own:
                self._informers.pop(resource, None)
            self._own.clear()

    async def _refresh(self, _: str) -> Outcome:
        # Lists, not sets: histories of the simulation are to be the same each time.
        served = await discovery.served(self._client)
        found = [each.resource for each in served if is_collectable(each)]
        news = [resource for resource in found if resource not in self._informers]
        for resource in [each for each in self._informers if each not in found]:
            await self._drop(resource)
        for resource in news:
            self._add(resource)
        if not self.whole.is_set():
            await self._become_whole()
        if news:
            for listener in self._kind_listeners:
                listener()
        return DONE

    async def _become_whole(self) -> None:
        """Wait for the first state of all kinds; one that cannot be read must not hold up the others."""
        try:
            async with timeout(self._client.clock, PATIENCE):
                for informer in self._informers.values():
                    await informer.synced.wait()
        except TimeoutError:
            missing = [
                str(resource)
                for resource, informer in self._informers.items()
                if not informer.synced.is_set()
            ]
            _log.warning("Kinds cannot be followed yet", kinds=missing)
        self.whole.set()

    def _add(self, resource: Resource) -> None:
        informer = self._shared.known(resource)
        if informer is None:
            informer = Informer(
                self._client,
                Scope(resource=resource),
                Object,
                transform=_nothing,
                indexes=INDEXES,
            )
            self._start(resource, informer)
        self._informers[resource] = informer
        self._kinds[resource.group, resource.kind] = resource
        if resource == CRDS:
            informer.listen(self._note_definition)
        informer.listen(lambda change: self._tell(resource, change))

    def _start(self, resource: Resource, informer: Informer[Object]) -> None:
        assert self._tasks is not None  # noqa: S101 (kinds are looked for while running)
        self._own[resource] = self._tasks.start(f"informer of {resource}", informer.run)

    async def _drop(self, resource: Resource) -> None:
        """Stop following a kind that is served no more: its objects were deleted before it."""
        del self._informers[resource]
        self._kinds.pop((resource.group, resource.kind), None)
        if resource in self._own:
            await self._own.pop(resource).stop()

    def _note_definition(self, _: Change[Object]) -> None:
        self._refreshing.add("now")
        self._refreshing.queue.add_after("later", SETTLING)

    def _tell(self, resource: Resource, change: Change[Object]) -> None:
        for listener in self._listeners:
            listener(resource, change)


def is_collectable(served: Served) -> bool:
    """Tell whether objects of a kind can have owners that matter; events have none."""
    return served.verbs >= NEEDED and served.resource.kind != "Event"


def _nothing(_: bytes) -> bytes:
    return b""
