"""What workloads on the hub refer to that tells what they need: runtimes, Pipelines, Tasks.

Of each kind there is a copy while a kind of workloads is followed that refers to it, and its CRD is there.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial

from jobferry import log
from jobferry.clock import Seconds, timeout
from jobferry.core.key import WorkloadKey
from jobferry.dispatch.heads import WorkloadHead
from jobferry.dispatch.presence import Presence
from jobferry.dispatch.workloads import Workloads
from jobferry.errors import Error
from jobferry.kinds.references import Reference
from jobferry.kube import optional
from jobferry.kube.cache import Change
from jobferry.kube.calls import Scope
from jobferry.kube.client import Client
from jobferry.kube.decoded import Decoded
from jobferry.kube.informer import Freshness, Informer
from jobferry.kube.items import Head, Item, Key
from jobferry.objects import Obj
from jobferry.objects.resource import Resource
from jobferry.runtime import supervise
from jobferry.runtime.backoff import Backoff, Failures
from jobferry.runtime.reconcile import DONE, Again, Loop, Outcome
from jobferry.runtime.workqueue import WorkQueue

BACKOFF = Backoff(first=0.5, cap=30.0)

SETTLE_WITHIN: Seconds = 5.0
"""How long workloads wait until it is known what they refer to: then nothing is known of that yet."""

Place = tuple[str, str, Key]
"""Group, kind and name of something that is referred to."""

_log = log.get(__name__)


class Lookups:
    """Finds what workloads refer to; `on_change` hears of what came, went or was changed, some at a time."""

    def __init__(self, hub: Client) -> None:
        self.on_change: Callable[[Collection[Place]], None] = _nobody
        self._hub = hub
        self._clock = hub.clock
        self._decoded = Decoded()
        self._copies: dict[tuple[str, str], Informer[Head]] = {}
        self._resources: dict[str, Resource] = {}
        self._holders: dict[str, set[str]] = {}
        """By the name of a CRD: the kinds of workloads that refer to it, and are followed."""

        self._settled: dict[str, asyncio.Event] = {}
        self._running: dict[str, supervise.Child] = {}
        self._changed: dict[Place, None] = {}
        self._presence: Presence | None = None
        self._tasks: supervise.Supervisor | None = None
        self._queue: WorkQueue[str] = WorkQueue(hub.clock)
        self._loop = Loop(
            "lookups",
            self._see_to,
            queue=self._queue,
            failures=Failures(BACKOFF, hub.random),
            workers=1,
        )

    def find(self, namespace: str, reference: Reference) -> Obj | None:
        """Find what a workload of a namespace refers to; None: it is not there, or we may not look."""
        copy = self._copies.get((reference.group, reference.kind))
        within = namespace if reference.is_namespaced else ""
        item = copy.get(Key(within, reference.name)) if copy is not None else None
        return self._decoded(item) if item is not None else None

    # Which kinds

    def want(self, kind: str, resources: Iterable[Resource]) -> None:
        """Take note that workloads of a kind are followed, which refer to these."""
        for each in resources:
            self._resources[str(each)] = each
            settled = self._settled.setdefault(str(each), asyncio.Event())
            if str(each) not in self._running:
                settled.clear()
            self._holders.setdefault(str(each), set()).add(kind)
            self._queue.add(str(each))

    def release(self, kind: str) -> None:
        """Take note that workloads of a kind are followed no more."""
        for name, kinds in self._holders.items():
            if kind in kinds:
                kinds.remove(kind)
                self._queue.add(name)

    def note_definition(self, name: str) -> None:
        """Take note that a CRD came, changed or went."""
        if name in self._resources:
            self._queue.add(name)

    async def settled(self, resources: Collection[Resource]) -> None:
        """Wait until it is known what there is of these, or that this is not to be known now."""
        if not resources:
            return
        try:
            async with timeout(self._clock, SETTLE_WITHIN):
                for each in resources:
                    await self._settled[str(each)].wait()
        except TimeoutError:
            _log.warning("What workloads refer to is not known yet")

    # What follows

    async def run(self, presence: Presence) -> None:
        """Follow until cancelled."""
        self._presence = presence
        async with supervise.tasks("lookups", clock=self._clock) as self._tasks:
            await self._loop.run()

    async def _see_to(self, name: str) -> Outcome:
        assert self._presence is not None  # noqa: S101 (the loop runs once it is set)
        resource, is_wanted = self._resources[name], bool(self._holders[name])
        if is_wanted and await self._presence.has(resource):
            self._start(resource)
            return DONE
        await self._stop(resource)
        self._settled[name].set()
        after = self._presence.look_again(resource) if is_wanted else None
        return DONE if after is None else Again(after)

    def _start(self, resource: Resource) -> None:
        name = str(resource)
        if name in self._running:
            return
        assert self._tasks is not None  # noqa: S101 (as above)
        copy = Informer(self._hub, Scope(resource=resource), Head, heeds_refusal=True)
        copy.listen(partial(self._note, resource))
        copy.listen_to_link(partial(self._note_link, name))
        self._copies[resource.group, resource.kind] = copy
        self._running[name] = self._tasks.start(name, partial(self._follow, name, copy))

    async def _follow(self, name: str, copy: Informer[Head]) -> None:
        async with supervise.tasks(name, clock=self._clock) as tasks:
            run = partial(optional.follow, copy, self._clock, partial(_warn, name))
            tasks.start("informer", run)
            await copy.synced.wait()
            self._settled[name].set()
            await tasks.ended()

    async def _stop(self, resource: Resource) -> None:
        running = self._running.pop(str(resource), None)
        if running is not None:
            await running.stop()
            for item in self._copies.pop((resource.group, resource.kind)):
                self._note(resource, Change(item, None))

    # What changes

    def _note(self, resource: Resource, change: Change[Head]) -> None:
        generations = {each.head.metadata.generation for each in change if each is not None}
        if None not in change and len(generations) == 1:
            return  # it means what it meant
        if not self._changed:
            # All that is told of at once is looked at in one go.
            asyncio.get_running_loop().call_soon(self._tell)
        self._changed[resource.group, resource.kind, change.item.key] = None

    def _tell(self) -> None:
        changed, self._changed = self._changed, {}
        self.on_change(changed)

    def _note_link(self, name: str, link: Freshness) -> None:
        if link.trouble is not None:
            self._settled[name].set()


def referring(
    workloads: Workloads, changed: Collection[Place]
) -> Iterator[tuple[WorkloadKey, Item[WorkloadHead]]]:
    """Yield the unfinished workloads that refer to any of these."""
    types = {(group, kind) for group, kind, _ in changed}
    for kind, copy in list(workloads.copies.items()):
        adapter = workloads.adapters[kind]
        if types.isdisjoint((each.group, each.kind) for each in adapter.looks_up):
            continue
        for item in [each for each in copy if not each.head.is_over]:
            key = WorkloadKey(kind, *item.key)
            if any(_place(key, each) in changed for each in adapter.references(item.object())):
                yield key, item


def _place(key: WorkloadKey, reference: Reference) -> Place:
    within = key.namespace if reference.is_namespaced else ""
    return reference.group, reference.kind, Key(within, reference.name)


def _nobody(changed: Collection[Place]) -> None:
    """Tell nobody."""


def _warn(name: str, refusal: Error) -> None:
    _log.warning(
        "What workloads refer to cannot be read: what they need there is not counted",
        kind=name,
        error=refusal,
    )
