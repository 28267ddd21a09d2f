"""What the Job controller is made of, and what wakes it."""

import asyncio

from jobferry.clock import Seconds
from jobferry.kube.cache import Change
from jobferry.kube.client import Client
from jobferry.kube.events import Record
from jobferry.kube.items import Item, Key
from jobferry.kube.resources import JOBS
from jobferry.localkube.controllers.controller import Controller
from jobferry.localkube.controllers.heads import Job, Owner, Pod
from jobferry.localkube.controllers.informers import CONTROLLER, NAMESPACE, Informers
from jobferry.localkube.controllers.job import claims, jobs
from jobferry.localkube.controllers.job.hands import Hands
from jobferry.localkube.controllers.job.orphans import Orphans
from jobferry.localkube.controllers.job.reconciler import Reconciler, Service
from jobferry.metrics import Registry

DEFAULT_NAMES: frozenset[str | None] = frozenset({None, jobs.RESERVED})
"""What managedBy says in the Jobs that every cluster's own controller runs."""

TRACKING = "batch.kubernetes.io/job-tracking"
"""What keeps the pods of those Jobs until they are accounted for."""

WORKERS = 16

MANY = 25
SHORTEST_DELAY: Seconds = 0.0025
LONGEST_DELAY: Seconds = 1.0
"""Jobs of up to so many pods are looked at at once; the more there are, the later, up to a second."""


class JobController:
    """Runs the Jobs of a cluster, or those that name us."""

    def __init__(
        self,
        client: Client,
        informers: Informers,
        *,
        tell: Record,
        service: Service,
        registry: Registry,
    ) -> None:
        self._jobs, self._pods = informers.jobs, informers.pods
        self._service = service
        hands = Hands(client, self._pods, tell=tell, finalizer=service.finalizer)
        self._reconciler = Reconciler(
            client, jobs=self._jobs, pods=self._pods, hands=hands, service=service
        )
        self._orphans = Orphans(self._jobs, self._pods, hands, service)
        self._syncing = Controller("jobs", client, self._reconciler.reconcile, workers=WORKERS)
        self._cleaning = Controller("orphaned pods", client, self._orphans.reconcile)
        self._others = registry.counter(
            "job_controller_jobs_by_external_controller_total",
            "Jobs that were seen for the first time and that another controller runs.",
            "controller_name",
        )
        self._jobs.listen(self._note_job)
        self._pods.listen(self._note_pod)

    async def run(self) -> None:
        """Work until cancelled; the informers are whole by then."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._syncing.run(), name="jobs")
            group.create_task(self._cleaning.run(), name="orphaned pods")

    def _note_job(self, change: Change[Job]) -> None:
        item = change.item
        if change.after is None:
            self._reconciler.forget(item.uid)
        elif change.before is None:
            self._count(item.head)
        if change.after is None or item.head.is_finished:
            self._clean_after(item)
        self._syncing.add(item.key)

    def _count(self, job: Job) -> None:
        name = job.spec.managed_by
        if name is not None and not self._service.is_ours(job):
            self._others.add(name)

    def _clean_after(self, job: Item[Job]) -> None:
        for item in self._pods.by(CONTROLLER, job.uid):
            if self._is_tracked(item.head):
                self._cleaning.add(item.key)

    def _note_pod(self, change: Change[Pod]) -> None:
        before, after = change
        owners = {each.head.metadata.controller for each in (before, after) if each}
        for owner in owners:
            if owner is not None and _is_job(owner):
                key = Key(change.item.key.namespace, owner.name)
                self._syncing.queue.add_after(key, self._delay(owner.uid))
        if after is None:
            return
        if self._is_tracked(after.head) and self._orphans.may_be_orphan(after.head):
            self._cleaning.add(after.key)
        if _is_news_to_adopters(before, after) and self._pods.synced.is_set():
            # At the start every Job is looked at anyway.
            self._offer(after.head)

    def _delay(self, job: str) -> Seconds:
        """Return how long to gather news of a Job's pods: a pass looks at all of them."""
        return min(LONGEST_DELAY, self._pods.count(CONTROLLER, job) // MANY * SHORTEST_DELAY)

    def _offer(self, pod: Pod) -> None:
        """Wake the Jobs that may want to adopt a pod."""
        for item in self._jobs.by(NAMESPACE, pod.metadata.namespace):
            if self._service.is_ours(item.head) and not item.head.is_finished:
                match = claims.matcher(jobs.decode(item.body).spec.selector)
                if match(pod.metadata.labels):
                    self._syncing.add(item.key)

    def _is_tracked(self, pod: Pod) -> bool:
        return self._service.finalizer in pod.metadata.finalizers


def controller(
    client: Client,
    informers: Informers,
    tell: Record,
    *,
    names: frozenset[str | None] = DEFAULT_NAMES,
    finalizer: str = TRACKING,
    registry: Registry | None = None,
) -> JobController:
    """Return a Job controller for the Jobs whose managedBy is one of `names`; `tell` takes its Events.

    Make it before the informers are started, and start its `run` once they are whole.
    """
    service = Service(names, finalizer)
    return JobController(
        client, informers, tell=tell, service=service, registry=registry or Registry()
    )


def _is_news_to_adopters(before: Item[Pod] | None, after: Item[Pod]) -> bool:
    """Tell whether a pod that nobody manages may be wanted now by a Job that did not want it before."""
    meta = after.head.metadata
    if meta.controller is not None:
        return False
    if before is None:
        return True
    old = before.head.metadata
    return old.controller is not None or old.labels != meta.labels


def _is_job(owner: Owner) -> bool:
    return (owner.api_version, owner.kind) == (JOBS.api_version, JOBS.kind)
