"""Puts together what the caches know about one workload, for the core to decide on."""

from collections.abc import Collection
from dataclasses import dataclass, field

from jobferry.clock import Clock
from jobferry.core import marks, times, view
from jobferry.core.key import WorkloadKey
from jobferry.core.view import Policy, View
from jobferry.dispatch.admitting import Admitting
from jobferry.dispatch.claims import Claims
from jobferry.dispatch.heads import WorkloadHead
from jobferry.dispatch.memory import Memory
from jobferry.dispatch.priorities import Priorities, Priority
from jobferry.dispatch.queues import Queues
from jobferry.dispatch.workloads import Workloads
from jobferry.kinds.adapter import Adapter
from jobferry.kube.cache import Change
from jobferry.kube.decoded import Decoded
from jobferry.kube.hearing import Hearing
from jobferry.kube.items import Item, Key
from jobferry.objects import Obj
from jobferry.workers.mirrors import MirrorHead
from jobferry.workers.registry import Workers

NO_POLICY = Policy(workers=())
"""For what is gone from the hub."""


@dataclass(slots=True)
class Known:
    """What one pass has learnt about its workload, besides what the caches say."""

    key: WorkloadKey
    is_live: bool = False
    seen: set[str] = field(default_factory=set)
    """Workers whose mirror was read live."""

    lost_kinds: dict[str, bool] = field(default_factory=dict)
    """By worker: whether it has certainly nothing of the kind any more, as it said."""

    looked: set[str] = field(default_factory=set)
    """Workers on which was looked for what it refers to."""

    kept: dict[str, str] = field(default_factory=dict)
    """By worker that did not let us delete what it has of it: why."""

    created: list[str] = field(default_factory=list)
    """Workers that were sent a mirror, as often as they were."""

    keeps_records: bool = False
    """Whether the hub does not let us delete records."""

    gone: str = ""
    """The UID that the cache still had when the API server said that there is no such workload."""

    unclaimed: str = ""
    """The UID of what the API server has under that name, and is not ours: the cache may not keep such."""

    def learn(
        self, found: Obj | None, cached: Item[WorkloadHead] | None, kind: Adapter
    ) -> None:
        """Take in what the API server has just said, besides what went into the cache."""
        self.is_live = True
        if found is None:
            self.gone, self.unclaimed = cached.uid if cached else "", ""
        elif kind.managed_by(found) not in kind.claims:
            is_going = found["metadata"].get("deletionTimestamp")
            self.unclaimed = "" if is_going else found["metadata"]["uid"]

    def hides(self, item: Item[WorkloadHead]) -> bool:
        """Tell whether what the cache has is gone; one that was made since under the same name is not."""
        return item.uid == self.gone


class Holders:
    """Which workers have, or had, a mirror of a workload: few of many."""

    def __init__(self) -> None:
        self._names: dict[WorkloadKey, dict[str, tuple[str, ...]]] = {}
        """By workload and worker: those of the mirror, and of copies that people made of it."""

    def note(self, worker: str, key: WorkloadKey, change: Change[MirrorHead]) -> None:
        """Take note that a mirror of a workload came, changed or went."""
        if change.before is not None:
            was = WorkloadKey(key.kind, *change.before.head.workload)
            self._set(was, worker, self._others(was, worker, change.before))
        if change.after is not None:
            name = change.after.key.name
            self._set(key, worker, (*self._others(key, worker, change.after), name))

    def _others(self, key: WorkloadKey, worker: str, item: Item[MirrorHead]) -> tuple[str, ...]:
        known = self._names.get(key, {}).get(worker, ())
        return tuple(name for name in known if name != item.key.name)

    def _set(self, key: WorkloadKey, worker: str, names: tuple[str, ...]) -> None:
        held = self._names.setdefault(key, {})
        if names:
            held[worker] = names
        else:
            held.pop(worker, None)
        if not held:
            del self._names[key]

    def of(self, key: WorkloadKey) -> Collection[str]:
        """Name the workers that have a mirror of a workload; one that was removed may be among them."""
        return self._names.get(key, ())


@dataclass(frozen=True, slots=True, kw_only=True)
class Views:
    """Reads all caches."""

    origin: str
    dispatcher: str
    claims: Claims
    clock: Clock
    hub: Hearing
    workloads: Workloads
    queues: Queues
    workers: Workers
    holders: Holders
    admitting: Admitting
    priorities: Priorities
    memory: Memory
    decoded: Decoded

    def of(self, known: Known) -> View:
        """Return all that is known of a workload."""
        key = known.key
        item, unclaimed = self.workloads.get(key), known.unclaimed
        if item is not None and known.hides(item):
            item = None
        if item is not None and not self.workloads.has(key.kind, item.head):
            unclaimed, item = _standing(item), None
        hub = times.made_on_our_clock(self.decoded(item), self.hub.skew) if item else None
        policy = self._policy(item)
        priority = self._priority(key, hub, policy)
        return View(
            namespace=key.namespace,
            name=key.name,
            hub=hub,
            record=self._record(item),
            ownerless=() if known.keeps_records else self._ownerless(key),
            unclaimed=unclaimed,
            is_live=known.is_live,
            mirrors=self._mirrors(key),
            workers=self.workers.views_of(key.kind),
            policy=policy,
            origin=self.origin,
            dispatcher=self.dispatcher,
            now=self.clock.now(),
            bounds=self.claims.bounds,
            priority=priority.value,
            priority_note=priority.note,
            reserved=self.admitting.reserved(key),
            lacks=self.admitting.lacks(key),
            held=self.admitting.held(key),
            follows=self.admitting.follows(key),
            kept=known.kept,
            seen=known.seen,
            lost_kinds=known.lost_kinds,
            refusals=self.memory.refusals(key),
            buried=self.memory.buried(key),
            untold=self.memory.untold(key),
            vain=self.memory.vain(key),
        )

    def _record(self, item: Item[WorkloadHead] | None) -> Obj | None:
        found = self.workloads.placements.of(item) if item is not None else None
        return self.decoded(found) if found is not None else None

    def _ownerless(self, key: WorkloadKey) -> tuple[Obj, ...]:
        return tuple(each.object() for each in self.workloads.placements.ownerless(key))

    def _priority(self, key: WorkloadKey, hub: Obj | None, policy: Policy) -> Priority:
        if hub is None:
            return Priority()
        return self.priorities.of(self.workloads.adapters[key.kind], hub, policy)

    def _policy(self, item: Item[WorkloadHead] | None) -> Policy:
        if item is None:
            return NO_POLICY
        found = self.queues.policy(item.head.metadata)
        if isinstance(found, Policy):
            return found
        return self.queues.without(item.head.metadata, found)

    def stranger(self, key: WorkloadKey) -> WorkloadHead | None:
        """Return the workload of that name if it is not ours, though it looks as if it were meant to be."""
        item = self.workloads.get(key)
        is_ours = item is None or self.workloads.has(key.kind, item.head)
        return None if item is None or is_ours else item.head

    def is_settled(self, worker: str, key: WorkloadKey, mirror: MirrorHead) -> bool:
        """Tell, by heads alone, whether nothing is to be done about a mirror, however its worker fares.

        It is so for most: their workloads have ended, as they have, and both stay until somebody deletes one.
        """
        item, meta = self.workloads.get(key), mirror.metadata
        seen = self.workers.views().get(worker)
        if item is None or not self.workloads.has(key.kind, item.head):
            return False
        placed = self.workloads.placed(key.kind, item)
        return (
            item.head.has_ended
            and mirror.has_ended
            and not (item.head.metadata.deletion_timestamp or meta.deletion_timestamp)
            and placed is not None
            and meta.labels.get(marks.HUB_UID) == item.uid
            and meta.labels.get(marks.ATTEMPT) == str(placed.attempt)
            and [each.worker for each in placed.shards] == [worker] == [*self.holders.of(key)]
            and seen is not None
            and not seen.is_being_removed
            and self._policy(item).keep_finished is None
        )

    def _mirrors(self, key: WorkloadKey) -> dict[str, Obj]:
        found = {}
        for worker in self.holders.of(key):
            link = self.workers.link(worker)
            seen = self.workers.views_of(key.kind).get(worker)
            if seen is not None and not seen.shows(key.namespace):
                continue  # what we knew of it may be long over
            if link is not None and link.connection is not None:
                name = view.mirror_name(key.name, seen, self.origin)
                item = link.connection.mirrors.get(key.kind, Key(key.namespace, name))
                if item is not None:
                    found[worker] = times.on_our_clock(self.decoded(item), link.hearing.skew)
        return found


def _standing(item: Item[WorkloadHead]) -> str:
    """Return the UID of a workload, unless it is on its way out."""
    return "" if item.head.metadata.deletion_timestamp else item.uid
