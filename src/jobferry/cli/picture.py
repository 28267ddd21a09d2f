"""What the dispatcher of a hub goes by when it places a Job, made from objects of the hub alone.

Nothing is decided here: it hands the objects to the dispatcher's own parts, as its informers would, and lets
the core choose. The only thing that is not on the hub is which worker refused a Job in the last minute, and of
that events tell.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import msgspec

from jobferry.core import choose, times
from jobferry.core.view import Policy, View, Worker
from jobferry.dispatch.claims import Claims, follow_jobs
from jobferry.dispatch.jobs import NOWHERE, JobHead
from jobferry.dispatch.loads import Loads, Used
from jobferry.dispatch.queues import QUEUES, Queues
from jobferry.kinds import job as job_kind
from jobferry.kube.calls import Scope
from jobferry.kube.client import Client
from jobferry.kube.informer import Informer
from jobferry.kube.items import H, Item, Key, Metadata
from jobferry.kube.resources import JOBS
from jobferry.objects import Obj, conditions
from jobferry.settings import Settings
from jobferry.workers import cluster
from jobferry.workers.link import State
from jobferry.workers.resource import WORKERS, WorkerHead
from jobferry.workers.roster import Roster


@dataclass(frozen=True, slots=True, kw_only=True)
class Objects:
    """What there is on a hub."""

    jobs: Sequence[Obj]
    workers: Sequence[Obj]
    queues: Sequence[Obj]


@dataclass(frozen=True, slots=True)
class Opinion:
    """Whether a worker could take a Job, and why not."""

    worker: str
    fits: bool
    reason: str


async def read(hub: Client) -> Objects:
    """Read all of it."""
    return Objects(
        jobs=(await hub.list(Scope(resource=JOBS))).items,
        workers=(await hub.list(Scope(resource=WORKERS))).items,
        queues=(await hub.list(Scope(resource=QUEUES))).items,
    )


class Picture:
    """The parts of a dispatcher that placement rests on, with these objects in their caches.

    `but` is the UID of a Job that is left out: it must not be in its own way.
    """

    def __init__(
        self, hub: Client, settings: Settings, objects: Objects, now: datetime, *, but: str = ""
    ) -> None:
        self._now = now
        self._settings = settings
        self.claims = Claims(frozenset(settings.managed_by), settings.lease.namespace)
        self._jobs = follow_jobs(hub, self.claims)
        workers = Informer(hub, Scope(resource=WORKERS), WorkerHead)
        self._queues = Queues(hub, workers, settings.worker_lost_after)
        self.used = Used()
        self.loads = Loads(lambda worker: self._jobs.count("worker", worker))
        self._jobs.listen(self.used.note)
        _fill(self._jobs, (each for each in objects.jobs if each["metadata"]["uid"] != but))
        _fill(workers, objects.workers)
        _fill(self._queues.objects, objects.queues)
        roster = Roster(lambda _: None)
        states = {each["metadata"]["name"]: state(each) for each in objects.workers}
        roster.update(workers, states, now)
        self.workers: Mapping[str, Worker] = roster.views

    def policy(self, job: Obj) -> Policy | str:
        """Return what the Job's queue says, or why it has none."""
        known = {key: each for key, each in job["metadata"].items() if key != "managedFields"}
        return self._queues.policy(msgspec.convert(known, Metadata))

    def view(self, job: Obj, policy: Policy, refusals: Mapping[str, str]) -> View:
        """Return what the core would be told about a Job; the one place where that is put together."""
        meta = job["metadata"]
        return View(
            namespace=meta["namespace"],
            name=meta["name"],
            hub=job,
            is_live=True,
            mirrors={},
            workers=self.workers,
            policy=policy,
            origin="",
            dispatcher=self._settings.dispatcher_name,
            now=self._now,
            loads=self.loads,
            used=self.used,
            refusals=refusals,
        )

    def opinions(self, view: View) -> list[Opinion]:
        """Ask of every worker whether it could take a Job."""
        found = [_opinion(view, name) for name in view.policy.workers]
        others = sorted({*self.workers} - {*view.policy.workers})
        return found + [Opinion(name, False, "its queue does not use it") for name in others]

    def choice(self, view: View) -> str | None:
        """Return the worker that the Job would be placed on now."""
        chosen = choose.choose(view, job_kind).worker
        return chosen.name if chosen else None

    def waiting(self) -> list[Item[JobHead]]:
        """Return the Jobs that wait for a worker, the oldest first."""
        found = (item for item in self._jobs.by("worker", NOWHERE) if _waits(item.object()))
        return sorted(found, key=_age)


def state(worker: Obj) -> State:
    """Read from its status how it stands with a worker, as far as the dispatcher said."""
    status = worker.get("status") or {}
    connected = conditions.find(status.get("conditions"), "Connected") or {}
    lost, reason = status.get("lostSince"), str(connected.get("reason") or "Connecting")
    return State(
        is_up=connected.get("status") == "True" and reason != "Silent",
        reason=reason,
        message=str(connected.get("message") or "Not connected yet."),
        cluster=cluster.recall(status),
        lost_since=times.instant(lost) if lost else None,
    )


def _opinion(view: View, worker: str) -> Opinion:
    alone = replace(view, policy=replace(view.policy, workers=(worker,)))
    choice = choose.choose(alone, job_kind)
    return Opinion(worker, choice.worker is not None, choice.reason.removeprefix(f"{worker}: "))


def _fill(informer: Informer[H], objects: Iterable[Obj]) -> None:
    for each in objects:
        informer.absorb(each)


def _waits(job: Obj) -> bool:
    return not job["spec"].get("suspend") and not job["metadata"].get("deletionTimestamp")


def _age(item: Item[JobHead]) -> tuple[str, Key]:
    return item.head.metadata.creation_timestamp, item.key
