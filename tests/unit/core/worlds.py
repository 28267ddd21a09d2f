"""What is known about one workload, built up step by step, for tests of the decisions about it."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from jobferry.core import records, wishes
from jobferry.core.bounds import NO_BOUNDS, Bounds
from jobferry.core.decide import decide
from jobferry.core.gangs import Gangs
from jobferry.core.kind import Kind
from jobferry.core.line import Held
from jobferry.core.placement import Placement, Shard
from jobferry.core.room import Lack, amounts
from jobferry.core.steps import (
    CreateMirror,
    EditMirror,
    Into,
    ReadMirror,
    Record,
    Rest,
    Step,
    Store,
    Want,
    WriteStatus,
)
from jobferry.core.view import Policy, View, Worker
from jobferry.kinds.job import base as bases
from jobferry.kinds.job.adapter import JOB
from jobferry.kinds.job.base import Base
from jobferry.objects import Obj, merge_patch
from jobferry.objects.demand import Demand

NOW = datetime(2026, 1, 2, 12, tzinfo=UTC)


def hub_job(uid: str = "uid-1", **spec: Any) -> Obj:
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": "a",
            "namespace": "ns",
            "uid": uid,
            "resourceVersion": "1",
            "generation": 1,
            "creationTimestamp": "2026-01-02T11:00:00Z",
        },
        "spec": {"managedBy": "jobferry.io/dispatcher", "template": template, **spec},
    }


def up(name: str, **facts: Any) -> Worker:
    return Worker(name=name, cluster=f"{name}-uid", is_up=True, **facts)


def lost(name: str, *, minutes: float) -> Worker:
    since = NOW - timedelta(minutes=minutes)
    return Worker(name=name, cluster=f"{name}-uid", is_up=False, lost_since=since)


def silent(name: str, *, seconds: float) -> Worker:
    since = NOW - timedelta(seconds=seconds)
    return Worker(name=name, cluster=f"{name}-uid", is_up=False, silent_since=since)


def condition(type: str, **members: Any) -> Obj:
    return {
        "type": type,
        "status": "True",
        "lastTransitionTime": "2026-01-02T11:30:00Z",
        **members,
    }


@dataclass
class World:
    """The hub object, its mirrors and the workers, as the dispatcher would know them."""

    hub: Obj | None = field(default_factory=hub_job)
    workers: list[Worker] = field(default_factory=lambda: [up("east"), up("west")])
    loads: dict[str, int] = field(default_factory=Counter)
    used: dict[str, Demand] = field(default_factory=lambda: defaultdict(dict))
    mirrors: dict[str, Obj] = field(default_factory=dict)
    refusals: dict[str, str] = field(default_factory=dict)
    policy: dict[str, Any] = field(default_factory=dict)
    is_live: bool = True
    seen: set[str] = field(default_factory=lambda: {"east", "west"})
    kept: dict[str, str] = field(default_factory=dict)
    lost_kinds: dict[str, bool] = field(default_factory=dict)
    buried: str = ""
    unclaimed: str = ""
    bounds: Bounds = NO_BOUNDS
    reserved: str | None = None
    lacks: dict[str, Lack] | None = None
    held: Held | None = None
    follows: bool = False
    untold: Placement | None = None
    priority_note: str = ""
    kind: Kind = JOB
    record: Obj | None = None
    vain: Obj | None = None
    ownerless: tuple[Obj, ...] = ()

    def view(self) -> View:
        names = tuple(worker.name for worker in self.workers)
        return View(
            namespace="ns",
            name="a",
            hub=self.hub,
            record=self.record,
            ownerless=self.ownerless,
            is_live=self.is_live,
            mirrors=self.mirrors,
            workers={worker.name: worker for worker in self.workers},
            reserved=self.reserved,
            lacks=None if self.lacks is None else lambda: self.lacks or {},
            held=self.held,
            follows=self.follows,
            policy=Policy(workers=names, **self.policy),
            origin="hub-uid",
            dispatcher="jobferry.io/dispatcher",
            now=NOW,
            seen=self.seen,
            kept=self.kept,
            lost_kinds=self.lost_kinds,
            refusals=self.refusals,
            buried=self.buried,
            unclaimed=self.unclaimed,
            bounds=self.bounds,
            untold=self.untold,
            priority_note=self.priority_note,
            vain=self.vain,
        )

    def next(self) -> Step:
        """Return the next step, after a pass over all that wait if it waits for one."""
        self.reserved, self.lacks = None, None
        step = decide(self.view(), self.kind)
        if isinstance(step, Rest) and step.wants is not None:
            self.weigh(step.wants)
            step = decide(self.view(), self.kind)
        return replace(step, wants=None) if isinstance(step, Rest) else step

    def weigh(self, wants: Want) -> None:
        """Let it line up alone."""
        assert self.hub is not None
        admission = Gangs[Any]()
        for worker in self.workers:
            wishes.note(admission, worker)
            used = [amounts(self.used[worker.name])] if worker.name in self.used else []
            others = [()] * (self.loads.get(worker.name, 0) - len(used))
            for number, demand in enumerate([*used, *others]):
                admission.place((worker.name, number), worker.name, demand)
        admission.want(wishes.wish("a", self.view(), self.kind, self.hub, wants))
        admission.admit(NOW.timestamp())
        self.reserved, self.lacks = admission.reservation("a"), admission.lacks("a")

    def place(self, worker: str = "east", attempt: int = 1, base: Base | None = None) -> None:
        """Record a placement, as the dispatcher would have."""
        assert self.hub is not None
        shard = Shard(worker, f"{worker}-uid", bases.write(base or Base()))
        decision = Placement(self.hub["metadata"]["uid"], attempt, (shard,))
        step = records.write(self.view(), self.kind, self.hub, decision)
        assert isinstance(step, Record), step
        self.keep(step)

    def mirror(self, worker: str = "east", attempt: int = 1, **status: Any) -> None:
        """Put the mirror of an attempt on a worker, with a status."""
        assert self.hub is not None
        marks = self.view().marks(worker, self.hub["metadata"]["uid"], attempt)
        made = self.kind.mirror(self.hub, marks, "")
        made["metadata"] |= {"uid": f"mirror-{worker}-{attempt}", "resourceVersion": "7"}
        self.mirrors[worker] = {**made, "status": status}

    def edit(self, step: Step, active: int = 0) -> None:
        """Change a mirror as its worker would; a Job controller notes first that it is suspended."""
        assert isinstance(step, EditMirror), step
        edited = merge_patch.apply(self.mirrors[step.worker], step.patch)
        if (edited.get("spec") or {}).get("suspend"):
            stopped = {"active": active, "conditions": [condition("Suspended")]}
            edited = {**edited, "status": {**edited["status"], **stopped}}
        self.mirrors[step.worker] = edited

    def let_go(self, worker: str = "east", **metadata: Any) -> None:
        """Have the mirror on a worker deleted there, and held by a finalizer."""
        held = {"finalizers": ["example.com/hold"], "deletionTimestamp": "2026-01-02T11:59:00Z"}
        self.mirrors[worker]["metadata"] |= {**held, **metadata}

    def write(self, patch: Obj) -> None:
        """Change the hub object as a merge patch does."""
        self.hub = merge_patch.apply(self.hub, patch)

    def keep(self, step: Record | Store) -> None:
        """Record or store something as the hub's API server does."""
        match step.into:
            case Into.STATUS:
                self.write(step.body)
            case Into.NEW:
                assert self.record is None, "there is one"
                self.record = merge_patch.apply(
                    step.body, {"metadata": {"resourceVersion": "1"}}
                )
            case Into.OBJECT:
                assert self.record is not None, "there is none"
                version = self.record["metadata"]["resourceVersion"]
                assert step.body["metadata"]["resourceVersion"] == version
                patched = merge_patch.apply(self.record, step.body)
                patched["metadata"]["resourceVersion"] = str(int(version) + 1)
                self.record = patched

    def settle(self) -> Step:
        """Carry out what is only a matter of the hub or of a create, and return what comes then."""
        for _ in range(10):
            step = self.next()
            if isinstance(step, Record | Store):
                self.keep(step)
            elif isinstance(step, WriteStatus):
                self.write(step.patch)
            elif isinstance(step, CreateMirror):
                self.mirrors[step.worker] = step.obj
            else:
                return step
        raise AssertionError("the decisions go round in circles")


def recorded(world: World) -> tuple[str, int]:
    """Return the worker and the attempt of the placement that comes next."""
    step = world.next()
    assert isinstance(step, Record), step
    return step.placement.shards[0].worker, step.placement.attempt


def looks_at(step: Step) -> str | None:
    """Return the worker whose mirror is to be read."""
    return step.marks.worker if isinstance(step, ReadMirror) else None
