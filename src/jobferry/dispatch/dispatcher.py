"""The dispatcher: observes the hub and the workers, and queues what a change concerns."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass

from jobferry.clock import Seconds
from jobferry.core.key import WorkloadKey
from jobferry.dispatch import lookups
from jobferry.dispatch.act import Actor
from jobferry.dispatch.admitting import Admitting
from jobferry.dispatch.claims import Claims
from jobferry.dispatch.following import Following
from jobferry.dispatch.heads import WorkloadHead
from jobferry.dispatch.lookups import Lookups, Place
from jobferry.dispatch.memory import Memory
from jobferry.dispatch.meters import Meters
from jobferry.dispatch.placements import PlacementHead
from jobferry.dispatch.priorities import Priorities
from jobferry.dispatch.queue_status import QueueStatuses, is_news
from jobferry.dispatch.queues import QueueHead, Queues
from jobferry.dispatch.reconciler import Reconciler
from jobferry.dispatch.views import Holders, Views
from jobferry.dispatch.workloads import NOWHERE, Workloads
from jobferry.kinds.adapter import Adapter
from jobferry.kube.cache import Change
from jobferry.kube.client import Client, Reach
from jobferry.kube.decoded import Decoded
from jobferry.kube.events import Tell
from jobferry.kube.heartbeat import Heartbeat, Hooks
from jobferry.kube.transport import HttpTransport
from jobferry.runtime import supervise
from jobferry.runtime.backoff import Backoff, Failures
from jobferry.runtime.reconcile import Loop
from jobferry.runtime.workqueue import WorkQueue
from jobferry.workers.caretaker import Load
from jobferry.workers.link import Link
from jobferry.workers.mirrors import MirrorHead, says_nothing
from jobferry.workers.registry import Workers
from jobferry.workers.roster import Turn
from jobferry.workers.source import STRICT, Rules

MOST_SLOW = 1000
"""How many passes may wait for workers, besides those that go on: one that hangs is not known for seconds."""

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
    kinds: Sequence[Adapter]
    """Those that it knows how to bring to workers."""

    lookups: Lookups | None = None
    """What their workloads refer to, if that is looked up."""

    requests: int = 8
    passes: int = 64
    tells_all_placements: bool = False
    """Whether an Event tells of a workload's first placement, too."""

    lost_after: Seconds = 900.0
    kubeconfigs: Rules = STRICT
    reach: Reach = HttpTransport
    """How workers are reached."""


class Dispatcher:
    """Brings every delegated workload to a worker, and its status back."""

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
        self._is_acting = False
        self.meters = meters or Meters(hub.clock)
        self._queue = WorkQueue[WorkloadKey](hub.clock)
        self.workloads = Workloads(hub, options.kinds)
        found = options.lookups or Lookups(hub)
        found.on_change = self._on_lookup
        self.following = Following(hub, self.workloads, self._on_kind, found)
        self.workloads.listen(self._on_workload)
        decoded = Decoded()
        self._admitting = Admitting(hub.clock, self._queue.add, decoded)
        self.workers = Workers(
            hub,
            options.kinds,
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
        self.workloads.listen_to_load(self.workers.count_soon)
        self.queues = Queues(hub, self.workers.objects, options.lost_after)
        self.queues.objects.listen(self._on_queue)
        self._queue_statuses = QueueStatuses(hub, self.queues)
        self._priorities = Priorities(hub, self._admitting.wake_all)
        self._views = Views(
            origin=options.origin,
            dispatcher=options.dispatcher,
            claims=options.claims,
            clock=hub.clock,
            hub=hub.hearing,
            workloads=self.workloads,
            queues=self.queues,
            workers=self.workers,
            holders=Holders(),
            admitting=self._admitting,
            priorities=self._priorities,
            memory=Memory(hub.clock.monotonic),
            decoded=decoded,
        )
        actor = self._actor(options, record, is_leading)
        reconciler = Reconciler(self._views, actor, self._queue, self.meters, record=record)
        self._loop = self._looping(reconciler, options.passes)

    def _actor(self, options: Options, record: Tell, is_leading: Callable[[], bool]) -> Actor:
        return Actor(
            self._hub,
            self.workloads,
            self.workers,
            options.requests,
            record,
            may_act=is_leading,
            tells_all_placements=options.tells_all_placements,
        )

    def _looping(self, reconciler: Reconciler, passes: int) -> Loop[WorkloadKey]:
        return Loop(
            "dispatch",
            reconciler.reconcile,
            queue=self._queue,
            failures=Failures(BACKOFF, self._hub.random),
            workers=passes,
            most_slow=MOST_SLOW,
        )

    async def run(self, lead: Lead) -> None:
        """Observe until cancelled, and act as long as `lead` lets us: a standby has warm caches."""
        self.meters.follow(
            queue=self._queue.stats, passes=self._loop.stats, links=self.workers.links
        )
        self.workloads.placements.objects.listen(self._on_record)
        async with supervise.tasks("dispatcher", clock=self._clock) as tasks:
            tasks.start("hub", self._listen_to_hub)
            tasks.start("kinds of the hub", self.following.run)
            tasks.start("placements", self.workloads.placements.objects.run)
            tasks.start("queues", self.queues.objects.run)
            tasks.start("priority classes", self._priorities.run)
            tasks.start("workers", self.workers.run)
            placements = self.workloads.placements.objects
            for informer in (placements, self.queues.objects, self.workers.objects):
                await informer.synced.wait()
            await self.following.settled.wait()
            await self._priorities.settled.wait()
            await lead(self._act)

    async def _listen_to_hub(self) -> None:
        """Open the watches anew that a hub has left hanging, once it is silent and when it is back."""
        hearing = self._hub.hearing
        hearing.on_return = hearing.reopen
        await Heartbeat(self._hub, Hooks(on_lost=hearing.hang_up)).run()

    async def _act(self) -> None:
        """Reconcile everything, and then what changes: a standby takes note of nothing but its caches."""
        self.meters.begin()
        self._is_acting = True
        self._admitting.begin()
        self._views.memory.doubt_all()
        try:
            self.workers.report_all()
            self._queue_unfinished()
            self._queue_all_mirrors()
            for key in self.workloads.placements.all_ownerless():
                self._queue_record(key)
            async with supervise.tasks("acting", clock=self._clock) as tasks:
                tasks.start("queue statuses", self._queue_statuses.run)
                await self._loop.run()
        finally:
            self._is_acting = False
            self._admitting.end()

    # Observing

    def _on_workload(self, key: WorkloadKey, change: Change[WorkloadHead]) -> None:
        item = change.after
        placed = self.workloads.placed(key.kind, item) if item is not None else None
        worker = placed.shards[0].worker if placed else None
        kind = self.workloads.adapters[key.kind]
        self._admitting.note_workload(key, item, worker, kind)
        if not self._is_acting:
            return
        self._queue.add(key)
        if change.before is not None and item is None:
            self._views.memory.bury(key, change.before.uid)
        elif _is_edited(change):
            self._views.memory.reconsider(key)
        self.meters.see(key, change, is_placed=placed is not None)

    def _on_record(self, change: Change[PlacementHead]) -> None:
        if self._is_acting and change.after is not None and change.after.head.is_ownerless:
            self._queue_record(change.after.head.workload)

    def _queue_record(self, key: WorkloadKey) -> None:
        """See to a record that has no owner any more: its workload may be gone."""
        if key.kind in self.workloads.adapters:
            self._queue.add(key)

    def _on_kind(self, kind: str) -> None:
        """See to what is on workers of a kind that is followed from now on: its workloads may have gone meanwhile."""
        if not self._is_acting:
            return
        for link in self.workers.links():
            for key, _ in link.connection.mirrors if link.connection else ():
                if key.kind == kind:
                    self._queue.add(key)

    def _on_lookup(self, changed: Collection[Place]) -> None:
        """Weigh anew, and wake, the workloads that refer to what is another now."""
        for key, item in lookups.referring(self.workloads, changed):
            placed = self.workloads.placed(key.kind, item)
            worker = placed.shards[0].worker if placed else None
            kind = self.workloads.adapters[key.kind]
            self._admitting.reweigh(key, item, worker, kind)
            if self._is_acting:
                self._queue.add(key)

    def _on_queue(self, change: Change[QueueHead]) -> None:
        if self._is_acting and is_news(change):
            self._queue_unfinished()
            if self.queues.concerns_finished(change):
                self._queue_all_mirrors()

    def _on_mirror(self, worker: str, key: WorkloadKey, change: Change[MirrorHead]) -> None:
        self._views.holders.note(worker, key, change)
        if not self._is_acting or says_nothing(change):
            return
        if change.before is None and self._views.is_settled(worker, key, change.item.head):
            return  # its worker has told of all of them, as it does when it is back
        # People wait for an end; what happens on the way there may pile up and be told in one.
        has_ended = change.after is not None and change.after.head.has_ended
        self._queue.add(key, priority=int(has_ended))
        self.meters.reporting.start(key)

    def _on_worker(self, turn: Turn) -> None:
        """Queue all that has to do with a worker; what may go there has its turn when a pass says so."""
        name = turn.name
        self.meters.placements.add(name, by=0)
        forgiven = set() if turn.is_silence else self._views.memory.refused.forgive(name)
        self._admitting.note_worker(name, turn.after.view if turn.after else None)
        if not self._is_acting:
            return
        self._queue_mirrors(self.workers.link(name))
        for worker in dict.fromkeys((name, *self._lost())):
            for key in self.workloads.on(worker):
                self._queue.add(key)
        for key in self._wanderers():
            self._queue.add(key)
        # Who is in line knows which workers may take it, as long as that is for the same reasons.
        for key in self.workloads.on(NOWHERE):
            if turn.is_for_others or not self._admitting.waits(key):
                self._queue.add(key)
        for key, _ in self.workloads if forgiven else ():
            if key.namespace in forgiven:
                self._queue.add(key)

    def _lost(self) -> list[str]:
        """Return the workers that are out of reach: what happens to theirs depends on the others, too."""
        return [each.name for each in self.workers.views().values() if not each.is_up]

    def _wanderers(self) -> list[WorkloadKey]:
        """Return the workloads that run nowhere because workers refused them, wherever they were placed."""
        views = self._views
        return [
            key
            for key in views.memory.refused_ones()
            if self.workloads.get(key) is not None and not views.holders.of(key)
        ]

    def _queue_unfinished(self) -> None:
        """Queue all workloads but those that have ended: of these, at most their mirrors are to be seen to."""
        for key, item in self.workloads:
            if not (item.head.has_ended and self.workloads.has(key.kind, item.head)):
                self._queue.add(key)

    def _queue_all_mirrors(self) -> None:
        for link in self.workers.links():
            self._queue_mirrors(link)

    def _load(self, worker: str) -> Load:
        """Count the unfinished workloads of a worker, and those that are out of sight there."""
        active = self.workloads.count(worker)
        sight = self.workers.watched(worker)
        is_whole = sight is None or self.workloads.followed <= sight.keys()
        if sight is None or (is_whole and all(each is None for each in sight.values())):
            return Load(active)
        shows = self.workers.shows
        return Load(active, sum(not shows(worker, key) for key in self.workloads.on(worker)))

    def _queue_mirrors(self, link: Link | None) -> None:
        """See to what is on a worker: nobody else will, if its workload went or moved while we were away."""
        if link is None or link.connection is None:
            return
        for key, mirror in link.connection.mirrors:
            if not self._views.is_settled(link.name, key, mirror.head):
                self._queue.add(key)


def _is_edited(change: Change[WorkloadHead]) -> bool:
    """Tell whether somebody changed the spec of a workload."""
    generations = {each.head.metadata.generation for each in change if each is not None}
    return len(generations) > 1
