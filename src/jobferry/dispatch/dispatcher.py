"""The dispatcher: observes the hub and the workers, and has looked at what a change concerns."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from itertools import chain

from jobferry.clock import Seconds
from jobferry.dispatch.act import Actor
from jobferry.dispatch.claims import Claims, follow_jobs
from jobferry.dispatch.jobs import NOWHERE, JobHead, workers_of
from jobferry.dispatch.loads import Loads, Used
from jobferry.dispatch.memory import Memory
from jobferry.dispatch.meters import Meters
from jobferry.dispatch.queue_status import QueueStatuses, is_news
from jobferry.dispatch.queues import QueueHead, Queues
from jobferry.dispatch.reconciler import Reconciler
from jobferry.dispatch.views import Holders, Views
from jobferry.kube.cache import Change
from jobferry.kube.client import Client, Reach
from jobferry.kube.events import Tell
from jobferry.kube.items import Item, Key
from jobferry.kube.transport import HttpTransport
from jobferry.runtime import supervise
from jobferry.runtime.backoff import Backoff, Failures
from jobferry.runtime.reconcile import Loop
from jobferry.runtime.workqueue import WorkQueue
from jobferry.workers.caretaker import Load
from jobferry.workers.link import Link
from jobferry.workers.mirrors import MirrorHead
from jobferry.workers.registry import Workers
from jobferry.workers.source import STRICT, Rules

WAKE = 16
"""How many Jobs that wait are looked at when there is room: the first of them may be too large for it."""

BACKOFF = Backoff(first=0.05, cap=30.0)

Lead = Callable[[supervise.Run], Awaitable[None]]
"""Runs a function while, and only while, it is for us to act."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a dispatcher is told when it is started."""

    origin: str
    """The UID of the hub's kube-system namespace."""

    dispatcher: str
    claims: Claims
    requests: int = 8
    passes: int = 64
    lost_after: Seconds = 900.0
    kubeconfigs: Rules = STRICT
    reach: Reach = HttpTransport
    """How workers are reached."""


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
        self._clock = hub.clock
        self._is_acting = False
        self.meters = meters or Meters(hub.clock)
        self._queue = WorkQueue[Key](hub.clock)
        self.jobs = follow_jobs(hub, options.claims)
        self.jobs.listen(self._on_job)
        loads = Loads(lambda worker: self.jobs.count("worker", worker))
        self.workers = Workers(
            hub,
            origin=options.origin,
            dispatcher=options.dispatcher,
            requests=options.requests,
            lost_after=options.lost_after,
            rules=options.kubeconfigs,
            reach=options.reach,
            observe=self.meters.observe,
            load=self._load,
            tell=record,
            may_write=is_leading,
            on_mirror=self._on_mirror,
            on_change=self._on_worker,
        )
        self.queues = Queues(hub, self.workers.objects, options.lost_after)
        self.queues.objects.listen(self._on_queue)
        self._queue_statuses = QueueStatuses(hub, self.queues)
        self._views = Views(
            origin=options.origin,
            dispatcher=options.dispatcher,
            claims=options.claims,
            clock=hub.clock,
            jobs=self.jobs,
            queues=self.queues,
            workers=self.workers,
            holders=Holders(),
            loads=loads,
            used=Used(),
            memory=Memory(hub.clock.monotonic),
        )
        actor = Actor(hub, self.jobs.absorb, self.workers, options.requests, record)
        reconciler = Reconciler(
            self._views, actor, self._queue, self.meters, record=record, may_act=is_leading
        )
        self._loop = Loop(
            "dispatch",
            reconciler.look,
            queue=self._queue,
            failures=Failures(BACKOFF, hub.random),
            workers=options.passes,
        )

    async def run(self, lead: Lead) -> None:
        """Observe until cancelled, and act as long as `lead` lets us: a standby has warm caches."""
        self.meters.follow(
            queue=self._queue.stats, passes=self._loop.stats, links=self.workers.links
        )
        async with supervise.tasks("dispatcher", clock=self._clock) as tasks:
            tasks.start("hub jobs", self.jobs.run)
            tasks.start("queues", self.queues.objects.run)
            tasks.start("workers", self.workers.run)
            for informer in (self.jobs, self.queues.objects, self.workers.objects):
                await informer.synced.wait()
            await lead(self._act)

    async def _act(self) -> None:
        """Look at everything, and then at what changes: a standby takes note of nothing but its caches."""
        self.meters.begin()
        self._is_acting = True
        try:
            self.workers.look_at_all()
            self._look_at_all()
            async with supervise.tasks("acting", clock=self._clock) as tasks:
                tasks.start("queue statuses", self._queue_statuses.run)
                await self._loop.run()
        finally:
            self._is_acting = False

    # Observing

    def _on_job(self, change: Change[JobHead]) -> None:
        self._views.used.note(change)
        if not self._is_acting:
            return
        self._queue.add(change.item.key)
        if change.before is not None and change.after is None:
            self._views.memory.bury(change.item.key, change.before.uid)
        elif _is_edited(change):
            self._views.memory.reconsider(change.item.key)
        self._let_next_in(change)
        self.meters.see(change)

    def _on_queue(self, change: Change[QueueHead]) -> None:
        if is_news(change):
            self._look_at_all()

    def _on_mirror(self, worker: str, change: Change[MirrorHead]) -> None:
        self._views.holders.note(worker, change)
        if not self._is_acting:
            return
        key = change.item.head.workload
        # People wait for an end; what happens on the way there may pile up and be told in one.
        has_ended = change.after is not None and change.after.head.status.has_ended
        self._queue.add(key, priority=int(has_ended))
        self.meters.reporting.start(key)

    def _on_worker(self, name: str) -> None:
        """Look at all that has to do with a worker, and at what may go there."""
        self.meters.placements.add(name, by=0)
        self._views.memory.refused.forgive(name)
        if not self._is_acting:
            return
        self._look_at_mirrors(self.workers.link(name))
        for worker in {name, *self._restless()}:
            for item in self.jobs.by("worker", worker):
                self._queue.add(item.key)
        for item in self._wanderers():
            self._queue.add(item.key)

    def _restless(self) -> list[str]:
        """Return where Jobs may be that would rather be on another worker."""
        workers = self.workers.views().values()
        left = [each.name for each in workers if not each.is_up or each.gives_away]
        return [NOWHERE, *left]

    def _wanderers(self) -> list[Item[JobHead]]:
        """Return the Jobs that run nowhere because workers refused them, wherever they were placed."""
        views = self._views
        found = (self.jobs.get(key) for key in views.memory.refused_ones())
        return [item for item in found if item is not None and not views.holders.of(item.key)]

    def _look_at_all(self) -> None:
        if not self._is_acting:
            return
        for item in self.jobs:
            self._queue.add(item.key)
        for link in self.workers.links():
            self._look_at_mirrors(link)

    def _load(self, worker: str) -> Load:
        """Count the unfinished Jobs of a worker, and those that are in namespaces out of sight there."""
        seen, active = self.workers.views().get(worker), self._views.loads[worker]
        if seen is None or seen.watched is None:
            return Load(active)
        placed = self.jobs.by("worker", worker)
        return Load(active, sum(not seen.shows(item.key.namespace) for item in placed))

    def _look_at_mirrors(self, link: Link | None) -> None:
        """See to what is on a worker: nobody else will, if its Job went or moved while we were away."""
        for mirror in link.connection.mirrors if link and link.connection else ():
            self._queue.add(mirror.head.workload)

    def _let_next_in(self, change: Change[JobHead]) -> None:
        """Look at some that wait, if a Job has made room on a worker that takes only so much."""
        if change.before is None:
            return
        left = {*workers_of(change.before)} - {
            *(workers_of(change.after) if change.after else ())
        }
        views = self.workers.views()
        for worker in left:
            if worker in views and views[worker].is_limited:
                self._look_at_waiting(worker)

    def _look_at_waiting(self, worker: str) -> None:
        looked_at = 0
        restless = chain.from_iterable(self.jobs.by("worker", w) for w in self._restless())
        for item in chain(self._wanderers(), restless):
            policy = self.queues.policy(item.head.metadata)
            if isinstance(policy, str) or worker not in policy.workers:
                continue
            has_refused = worker in self._views.memory.refusals(item.key)
            if not has_refused and not self._queue.is_due(item.key):
                self._queue.add(item.key)
                looked_at += 1
                if looked_at == WAKE:
                    return


def _is_edited(change: Change[JobHead]) -> bool:
    """Tell whether somebody changed the spec of a Job."""
    generations = {each.head.metadata.generation for each in change if each is not None}
    return len(generations) > 1
