"""Which Jobs are for us: those whose managedBy we claim. Others under our prefix may be for nobody."""

from collections.abc import Iterable
from dataclasses import dataclass

from jobferry.core.bounds import NO_BOUNDS, Bounds
from jobferry.core.marks import PREFIX
from jobferry.dispatch.jobs import JobHead, workers_of
from jobferry.kube.calls import Scope
from jobferry.kube.client import Client
from jobferry.kube.informer import Informer
from jobferry.kube.items import Item
from jobferry.kube.resources import JOBS


@dataclass(frozen=True, slots=True)
class Claims:
    """What one dispatcher claims; `namespace` is where dispatchers have their Leases."""

    names: frozenset[str]
    namespace: str
    bounds: Bounds = NO_BOUNDS
    """Which namespaces may go to workers."""

    def has(self, job: JobHead) -> bool:
        """Tell whether a Job is ours."""
        return job.spec.managed_by in self.names

    def concerns(self, job: JobHead) -> bool:
        """Tell whether a Job is ours, or looks as if it were meant to be."""
        return self.has(job) or job.spec.managed_by.startswith(PREFIX)


def follow_jobs(hub: Client, claims: Claims) -> Informer[JobHead]:
    """Return an informer of the Jobs that concern us, ours by the workers that they keep busy."""

    def index(item: Item[JobHead]) -> Iterable[str]:
        return workers_of(item) if claims.has(item.head) else ()

    scope = Scope(resource=JOBS)
    return Informer(hub, scope, JobHead, keep=claims.concerns, indexes={"worker": index})
