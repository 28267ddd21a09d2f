"""What the dispatcher of a hub goes by when it places a Job, made from objects of the hub alone.

Nothing is decided here: it hands the objects to the dispatcher's own parts, as its informers would, and lets
the core admit. The only thing that is not on the hub is which workers have refused a Job, and of that events tell.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime

from jobferry.app import bounds
from jobferry.core import records, times, verdicts, wishes
from jobferry.core.gangs import Gangs
from jobferry.core.key import WorkloadKey
from jobferry.core.kind import Kind
from jobferry.core.placement_object import RESOURCE as PLACEMENTS
from jobferry.core.room import amounts
from jobferry.core.steps import Want
from jobferry.core.view import Policy, View, Worker
from jobferry.dispatch import priorities, switches
from jobferry.dispatch.claims import Claims
from jobferry.dispatch.priorities import Classes, ClassHead
from jobferry.dispatch.queues import QUEUES, Queues
from jobferry.dispatch.workloads import NOWHERE, Workload, Workloads
from jobferry.kinds.adapter import Adapter, Lookup
from jobferry.kinds.job.adapter import JOB
from jobferry.kinds.references import Reference
from jobferry.kube import errors, items
from jobferry.kube.calls import Scope
from jobferry.kube.client import Client
from jobferry.kube.informer import Informer
from jobferry.kube.items import H, Metadata
from jobferry.kube.resources import JOBS, PRIORITY_CLASSES
from jobferry.objects import Obj, conditions, demand
from jobferry.objects.demand import Demand
from jobferry.objects.resource import Resource
from jobferry.settings import Settings
from jobferry.workers import cluster, sight
from jobferry.workers.link import State
from jobferry.workers.resource import WORKERS, WorkerHead
from jobferry.workers.roster import Roster

_ITS_OWN = ""
"""Where a placed workload is that somebody asks about: on no worker that others are on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Objects:
    """What there is on a hub."""

    jobs: Sequence[Obj]
    workers: Sequence[Obj]
    queues: Sequence[Obj]
    others: Mapping[str, Sequence[Obj]] = field(default_factory=dict)
    """Workloads that are no Jobs, by the names of their kinds, as far as we may read them."""

    referred: Mapping[tuple[str, str], Sequence[Obj]] = field(default_factory=dict)
    """What those refer to that tells what they need, by group and kind, as far as we may read it."""

    placements: Sequence[Obj] = ()
    priority_classes: Sequence[Obj] | None = None
    """None: we may not read them."""


@dataclass(frozen=True, slots=True)
class Turn:
    """Where in line a Job is, among those of its queue that wait."""

    place: int
    """The first is 1."""

    length: int
    worker: str | None
    """Where it would be placed now."""

    held: str = ""
    """Why it is not in line at all, if it waits for its gang."""


@dataclass(frozen=True, slots=True)
class Opinion:
    """Whether a worker could take a Job, and why not."""

    worker: str
    fits: bool
    reason: str


async def read(hub: Client, settings: Settings) -> Objects:
    """Read all of it that the dispatcher of these settings goes by."""
    kinds = await _there(hub, settings)
    every = [(each.name, await _all(hub, each.resource)) for each in kinds]
    others = {name: found for name, found in every if found is not None}
    return Objects(
        others=others,
        referred=await _referred(hub, kinds) if any(others.values()) else {},
        placements=(await hub.list(Scope(resource=PLACEMENTS))).items if others else (),
        jobs=(await hub.list(Scope(resource=JOBS))).items,
        workers=(await hub.list(Scope(resource=WORKERS))).items,
        queues=(await hub.list(Scope(resource=QUEUES))).items,
        priority_classes=await _priority_classes(hub),
    )


async def _there(hub: Client, settings: Settings) -> list[Adapter]:
    """Return the kinds besides Jobs that are on the hub."""
    kinds = [each for each in switches.switched_on(settings) if each.resource != JOBS]
    there = await cluster.served(hub, [each.resource for each in kinds])
    return [each for each in kinds if each.resource in there]


async def _referred(
    hub: Client, kinds: Sequence[Adapter]
) -> dict[tuple[str, str], Sequence[Obj]]:
    wanted = dict.fromkeys(each for kind in kinds for each in kind.looks_up)
    there = await cluster.served(hub, wanted) if wanted else []
    return {(each.group, each.kind): await _all(hub, each) or () for each in there}


async def _all(hub: Client, resource: Resource) -> Sequence[Obj] | None:
    """Return all objects of a kind; None: we may not read them."""
    with suppress(errors.Forbidden):
        return (await hub.list(Scope(resource=resource))).items
    return None


async def _priority_classes(hub: Client) -> Sequence[Obj] | None:
    try:
        return (await hub.list(Scope(resource=PRIORITY_CLASSES))).items
    except errors.Forbidden:
        return None


class Picture:
    """The parts of a dispatcher that placement rests on, with these objects in their caches.

    `but` is the UID of a workload that is left out: it must not be in its own way.
    """

    def __init__(
        self, hub: Client, settings: Settings, objects: Objects, now: datetime, *, but: str = ""
    ) -> None:
        self._now = now
        self._settings = settings
        names = frozenset(settings.managed_by)
        self.claims = Claims(names, settings.lease.namespace, bounds(settings))
        self._workloads = Workloads(hub, switches.switched_on(settings, lookup(objects)))
        self._kinds: Mapping[str, Kind] = {**self._workloads.adapters, JOB.name: JOB}
        workers = Informer(hub, Scope(resource=WORKERS), WorkerHead)
        self._queues = Queues(hub, workers, settings.worker_lost_after)
        _fill(self._workloads.placements.objects, objects.placements)
        for name, found in {JOB.name: objects.jobs, **objects.others}.items():
            others = (each for each in found if each["metadata"]["uid"] != but)
            _fill(self._workloads.follow(name), others)
        _fill(workers, objects.workers)
        _fill(self._queues.objects, objects.queues)
        self._classes = _classes(hub, objects.priority_classes)
        roster = Roster()
        states = {each["metadata"]["name"]: state(each) for each in objects.workers}
        roster.update(workers, states, now)
        self._roster = roster
        self.workers: Mapping[str, Worker] = roster.views

    def policy(self, job: Obj) -> Policy | str:
        """Return what the Job's queue says, or why it has none."""
        return self._queues.policy(items.metadata(job, Metadata))

    def view(
        self,
        job: Obj,
        policy: Policy,
        refusals: Mapping[str, str],
        *,
        kind: Kind = JOB,
        record: Obj | None = None,
    ) -> View:
        """Return what the core would be told about a workload; the one place where that is put together."""
        meta = job["metadata"]
        priority = priorities.value(kind.priority_class(job), self._classes, policy)
        return View(
            namespace=meta["namespace"],
            name=meta["name"],
            hub=job,
            record=record,
            is_live=True,
            mirrors={},
            workers=self._roster.of_kind(kind.name),
            policy=policy,
            origin="",
            dispatcher=self._settings.dispatcher_name,
            now=self._now,
            bounds=self.claims.bounds,
            priority=priority.value,
            priority_note=priority.note,
            refusals=refusals,
        )

    def load(self, worker: str) -> int:
        """Return how many unfinished workloads a worker has."""
        return self._workloads.count(worker)

    def used(self, worker: str) -> Demand:
        """Return what those need together."""
        total: Demand = {}
        for key in self._workloads.on(worker):
            total = demand.add(total, self._demand(key))
        return total

    def opinions(self, view: View, kind: Kind = JOB) -> list[Opinion]:
        """Ask of every worker whether it could take a workload, were it the only one that waits."""
        account = self._account(view, kind)
        mates = [
            each for each in self.waiting() if account.are_mates(each[0], _key(view, kind))
        ]
        self._line_up_all(account, mates)
        found = [_opinion(account, view, kind, name) for name in view.policy.workers]
        others = sorted({*self.workers} - {*view.policy.workers})
        return found + [Opinion(name, False, "its queue does not use it") for name in others]

    def turn(self, view: View, kind: Kind = JOB) -> Turn:
        """Return where in line a workload is, with all others that wait, and where it would be placed now."""
        account, mine = self._account(view, kind), _key(view, kind)
        self._line_up_all(account, self.waiting())
        _line_up(account, mine, view, kind)
        account.gather()
        place, length = account.turn(mine) or (0, 0)
        held = account.held(mine)
        account.admit(self._now.timestamp())
        return Turn(place, length, account.reservation(mine), held.now if held else "")

    def _line_up_all(self, account: Gangs[WorkloadKey], workloads: Iterable[Workload]) -> None:
        for key, item in workloads:
            other = item.object()
            policy, its = self.policy(other), self._kinds[key.kind]
            if isinstance(policy, Policy) and its.refusal(other) is None:
                _line_up(account, key, self.view(other, policy, {}, kind=its), its)

    def _demand(self, key: WorkloadKey) -> Demand:
        item = self._workloads.get(key)
        return self._kinds[key.kind].demand(item.object()) if item is not None else {}

    def _account(self, view: View, kind: Kind) -> Gangs[WorkloadKey]:
        """Return the account of room, with what is placed, and who goes with whom."""
        account = Gangs[WorkloadKey]()
        for key, item in self._workloads:
            if (gang := item.head.gang) and item.head.metadata.deletion_timestamp is None:
                account.note(key, gang, is_done=item.head.has_ended)
        if view.hub is not None:
            is_ganged = account.note(_key(view, kind), kind.gang(view.hub))
            if is_ganged and records.read(kind, view.hub, view.record) is not None:
                # Who has a place waits for nobody. It takes no room: it is not in its own way.
                account.place(_key(view, kind), _ITS_OWN, ())
        for worker in self.workers.values():
            wishes.note(account, worker)
            for key in self._workloads.on(worker.name):
                account.place(key, worker.name, amounts(self._demand(key)))
        return account

    def waiting(self) -> list[Workload]:
        """Return the workloads that wait for a worker, the oldest first."""
        known = ((key, self._workloads.get(key)) for key in self._workloads.on(NOWHERE))
        found = [(key, item) for key, item in known if item and self._waits(key, item.object())]
        return sorted(found, key=_age)

    def _waits(self, key: WorkloadKey, obj: Obj) -> bool:
        is_going = bool(obj["metadata"].get("deletionTimestamp"))
        return not is_going and not self._kinds[key.kind].is_suspended(obj)


def lookup(objects: Objects) -> Lookup:
    """Return what finds what workloads refer to among these objects."""

    def find(namespace: str, reference: Reference) -> Obj | None:
        within = namespace if reference.is_namespaced else None
        for each in objects.referred.get((reference.group, reference.kind), ()):
            meta = each["metadata"]
            if (meta["name"], meta.get("namespace")) == (reference.name, within):
                return each
        return None

    return find


def _classes(hub: Client, objects: Sequence[Obj] | None) -> Classes | None:
    if objects is None:
        return None
    found = Informer(hub, Scope(resource=PRIORITY_CLASSES), ClassHead)
    _fill(found, objects)
    return priorities.read(found)


def state(worker: Obj) -> State:
    """Read from its status how it stands with a worker, as far as the dispatcher said."""
    status = worker.get("status") or {}
    connected = conditions.find(status.get("conditions"), "Connected") or {}
    lost, reason = status.get("lostSince"), str(connected.get("reason") or "Connecting")
    return State(
        is_up=connected.get("status") == "True",
        silent_since=_silence(status, reason),
        reason=reason,
        message=str(connected.get("message") or "Not connected yet."),
        cluster=cluster.recall(status),
        watched=_served(status),
        hidden=sight.recall(status),
        lost_since=times.instant(lost) if lost else None,
    )


def _served(status: Obj) -> dict[str, None] | None:
    """Return the kinds that are in sight on a worker, as far as the dispatcher said."""
    listed = status.get("kinds")
    if listed is None:
        return None
    hidden = sight.recall(status)
    return {kind: None for kind in map(cluster.kind_of, listed) if kind not in hidden}


def _silence(status: Obj, reason: str) -> datetime | None:
    """Return since when nothing is heard of a worker that still counts as connected; about."""
    ready = conditions.find(status.get("conditions"), "Ready") or {}
    if "Silent" not in (reason, ready.get("reason")):
        return None
    return times.instant(str(ready["lastTransitionTime"]))


def _key(view: View, kind: Kind) -> WorkloadKey:
    return WorkloadKey(kind.name, view.namespace, view.name)


def _opinion(account: Gangs[WorkloadKey], view: View, kind: Kind, worker: str) -> Opinion:
    mine = _key(view, kind)
    if worker in verdicts.eligible(view, kind):
        _line_up(account, mine, view, kind, (worker,))
        account.admit(0.0)  # long ago: nothing is kept for anybody
    fits, lack = account.reservation(mine) == worker, account.lacks(mine).get(worker)
    held = account.held(mine)
    account.withdraw(mine)
    why = held.now if held else verdicts.verdict(view, kind, worker, lack)
    return Opinion(worker, fits, "" if fits else why)


def _line_up(
    account: Gangs[WorkloadKey],
    key: WorkloadKey,
    view: View,
    kind: Kind,
    workers: tuple[str, ...] | None = None,
) -> None:
    wants = Want(verdicts.eligible(view, kind) if workers is None else workers)
    if view.hub is not None:
        account.want(wishes.wish(key, view, kind, view.hub, wants))


def _fill(informer: Informer[H], objects: Iterable[Obj]) -> None:
    for each in objects:
        informer.absorb(each)


def _age(workload: Workload) -> tuple[str, WorkloadKey]:
    key, item = workload
    return item.head.metadata.creation_timestamp, key
