"""The dispatcher: observes the hub and the workers, asks the core, carries out what it says."""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from jobferry import log
from jobferry.clock import Seconds
from jobferry.core import marks
from jobferry.core.decide import decide
from jobferry.core.steps import (
    CreateMirror,
    DeleteMirror,
    EditMirror,
    Look,
    Record,
    Rest,
    Step,
    WriteStatus,
)
from jobferry.core.view import Policy, View, Worker
from jobferry.dispatch.act import Actor, Refused, Tell
from jobferry.dispatch.jobs import JobHead, workers_of
from jobferry.dispatch.meters import Meters
from jobferry.dispatch.queues import Queues
from jobferry.kinds import job
from jobferry.kube import errors
from jobferry.kube.cache import Change
from jobferry.kube.calls import Scope
from jobferry.kube.client import Client
from jobferry.kube.informer import Informer
from jobferry.kube.items import Head, Item, Key
from jobferry.kube.resources import JOBS
from jobferry.objects import Obj
from jobferry.runtime import supervise
from jobferry.runtime.backoff import Backoff, Failures
from jobferry.runtime.reconcile import DONE, Again, Loop, Outcome
from jobferry.runtime.workqueue import WorkQueue
from jobferry.workers.registry import Workers
from jobferry.workers.source import STRICT, Rules

MOST_STEPS = 20
"""More in one pass means that two rules contradict each other; the next pass begins afresh."""

REFUSAL_LASTS: Seconds = 60.0
"""How long a worker that refused a workload is not asked again: a quota may be raised meanwhile."""

_log = log.get(__name__)

T = TypeVar("T")

Lead = Callable[[supervise.Run], Awaitable[None]]
"""Runs a function while, and only while, it is for us to act."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a dispatcher is told when it is started."""

    origin: str
    """The UID of the hub's kube-system namespace."""

    dispatcher: str
    managed_by: frozenset[str]
    requests: int = 8
    passes: int = 64
    lost_after: Seconds = 900.0
    kubeconfigs: Rules = STRICT


class Dispatcher:
    """Brings every delegated Job to a worker, and its status back."""

    def __init__(
        self,
        hub: Client,
        options: Options,
        *,
        record: Tell,
        is_leading: Callable[[], bool],
        meters: Meters | None = None,
    ) -> None:
        self._hub = hub
        self._clock = hub.clock
        self._options = options
        self._record = record
        self._is_leading = is_leading
        self.meters = meters or Meters(hub.clock)
        self._queue: WorkQueue[Key] = WorkQueue(hub.clock)
        self._choosing: Counter[str] = Counter()
        self._refusals: dict[tuple[Key, str], tuple[Seconds, str]] = {}
        self.jobs = Informer(
            hub,
            Scope(resource=JOBS),
            JobHead,
            keep=lambda head: head.spec.managed_by in options.managed_by,
            indexes={"worker": workers_of},
        )
        self.jobs.listen(self._on_job)
        self.queues = Queues(hub, options.lost_after)
        self.queues.objects.listen(lambda _: self._look_at_all())
        self.workers = Workers(
            hub,
            selector=marks.selector(options.origin, options.dispatcher),
            requests=options.requests,
            rules=options.kubeconfigs,
            observe=self.meters.observe,
            load=self._load,
            may_write=is_leading,
            on_mirror=self._on_mirror,
            on_change=self._on_worker,
        )
        self._actor = Actor(hub, self.jobs.absorb, self.workers, options.requests, record)
        self._loop = Loop(
            "dispatch",
            self._reconcile,
            queue=self._queue,
            failures=Failures(Backoff(first=0.05, cap=30.0), hub.random),
            workers=options.passes,
        )
        self.meters.follow(
            queue=self._queue.stats, passes=self._loop.stats, links=self.workers.links
        )

    async def run(self, lead: Lead) -> None:
        """Observe until cancelled, and act as long as `lead` lets us: a standby has warm caches."""
        async with supervise.tasks("dispatcher", clock=self._clock) as tasks:
            tasks.start("hub jobs", self.jobs.run)
            tasks.start("queues", self.queues.objects.run)
            tasks.start("workers", self.workers.run)
            for informer in (self.jobs, self.queues.objects, self.workers.objects):
                await informer.synced.wait()
            await lead(self._act)

    async def _act(self) -> None:
        self.meters.begin()
        self.workers.look_at_all()
        self._look_at_all()
        await self._loop.run()

    # Observing

    def _on_job(self, change: Change[JobHead]) -> None:
        self._queue.add(change.item.key)
        if self._is_leading():
            self.meters.see(change)

    def _on_mirror(self, worker: str, change: Change[Head]) -> None:
        found = marks.read(change.item.object())
        if found is not None:
            key = Key(found.namespace, found.hub_name)
            self._queue.add(key)
            if self._is_leading():
                self.meters.reporting.start(key)

    def _on_worker(self, name: str) -> None:
        self.meters.placements.add(name, by=0)
        self._look_at_all()

    def _look_at_all(self) -> None:
        for item in self.jobs:
            self._queue.add(item.key)
        for link in self.workers.links():
            for mirror in link.connection.mirrors if link.connection else ():
                self._look_at_orphan(mirror)

    def _look_at_orphan(self, mirror: Item[Head]) -> None:
        """See to a mirror whose Job is gone: nobody else will, if it went while we were down."""
        if self.jobs.get(mirror.key) is None and (found := marks.read(mirror.object())):
            self._queue.add(Key(found.namespace, found.hub_name))

    def _load(self, worker: str) -> int:
        """Count the Jobs that a worker has, or is about to get: many are placed at the same time."""
        return len(self.jobs.by("worker", worker)) + self._choosing[worker]

    # Deciding

    async def _reconcile(self, key: Key) -> Outcome:
        """Take steps until there is none to take."""
        known = Known(key)
        for _ in range(MOST_STEPS):
            view = self._view(known)
            if view is None:
                return DONE
            step = decide(view, job)
            if isinstance(step, Rest):
                self.meters.reporting.drop(key)
                return self._rest(view, step)
            try:
                await self._take(known, view, step)
            except errors.Conflict:
                await self._look(known)  # the hub object changed meanwhile: decide anew
        raise errors.ServerFailure(f"{key}: no end after {MOST_STEPS} steps")

    async def _take(self, known: "Known", view: View, step: Step) -> None:
        match step:
            case Look():
                await self._look(known)
            case Record():
                await self._place(_there(view.hub), step)
                known.is_live = True
            case WriteStatus():
                with self.meters.reporting.stopping(known.key):
                    await self._actor.write_status(_there(view.hub), step)
                known.is_live = True
            case CreateMirror():
                await self._create(known.key, view, step)
            case EditMirror():
                await self._actor.edit(step)
            case DeleteMirror():
                await self._actor.delete(step)

    async def _place(self, hub: Obj, step: Record) -> None:
        chosen = [shard.worker for shard in step.placement.shards]
        self._choosing.update(chosen)
        try:
            await self._actor.record(hub, step)
            self.meters.place(chosen)
        finally:
            self._choosing.subtract(chosen)

    async def _look(self, known: "Known") -> None:
        known.is_gone = await self._actor.look(known.key) is None
        known.is_live = True

    async def _create(self, key: Key, view: View, step: CreateMirror) -> None:
        try:
            with self.meters.mirroring.stopping(key):
                await self._actor.create(step)
        except Refused as refusal:
            until = self._clock.monotonic() + REFUSAL_LASTS
            self._refusals[key, step.worker] = until, str(refusal)
            message = f"Worker {step.worker} refused it: {refusal}"
            self._record(_there(view.hub), "Warning", "Refused", message)

    def _rest(self, view: View, step: Rest) -> Outcome:
        _log.debug("Rests", why=step.why)
        if view.refusals and view.hub is not None:
            return Again(min(step.after or REFUSAL_LASTS, REFUSAL_LASTS))
        return DONE if step.after is None else Again(step.after)

    def _view(self, known: "Known") -> View | None:
        key = known.key
        item = None if known.is_gone else self.jobs.get(key)
        policy = (
            self.queues.policy(item.head.metadata, self.workers.objects) if item else NO_POLICY
        )
        if isinstance(policy, str):
            self._record(_there(item).object(), "Warning", "NoQueue", policy)
            return None
        workers = self.workers.views()
        names = self._other_names(key, workers)
        return View(
            namespace=key.namespace,
            name=key.name,
            hub=item.object() if item else None,
            is_live=known.is_live,
            mirrors=self._mirrors(key, names),
            workers=workers,
            policy=policy,
            origin=self._options.origin,
            dispatcher=self._options.dispatcher,
            now=self._clock.now(),
            refusals=self._refusals_of(key, workers),
            names=names,
        )

    def _other_names(self, key: Key, workers: Mapping[str, Worker]) -> dict[str, str]:
        """Name the mirrors on the hub itself otherwise than the Jobs that they mirror."""
        origin = self._options.origin
        return {
            name: f"{key.name}-mirror"
            for name, each in workers.items()
            if each.cluster == origin
        }

    def _mirrors(self, key: Key, names: Mapping[str, str]) -> dict[str, Obj]:
        found = {}
        for link in self.workers.links():
            mirror = Key(key.namespace, names.get(link.name, key.name))
            item = link.connection.mirrors.get(mirror) if link.connection else None
            if item is not None:
                found[link.name] = item.object()
        return found

    def _refusals_of(self, key: Key, workers: Iterable[str]) -> dict[str, str]:
        now = self._clock.monotonic()
        found = {}
        for worker in workers:
            until, why = self._refusals.get((key, worker), (0.0, ""))
            if until > now:
                found[worker] = why
            elif why:
                del self._refusals[key, worker]
        return found


NO_POLICY = Policy(workers=())
"""For what is gone from the hub."""


@dataclass(slots=True)
class Known:
    """What one pass has learnt about its workload, besides what the caches say."""

    key: Key
    is_live: bool = False
    is_gone: bool = False


def _there(found: T | None) -> T:
    assert found is not None  # noqa: S101 (the core takes such a step only for a workload that is there)
    return found
