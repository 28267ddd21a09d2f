"""The Jobs on the hub, as far as each of them is looked at."""

from collections.abc import Iterable

import msgspec

from jobferry.core import placement
from jobferry.core.placement import Placement
from jobferry.kinds.job.progress import Condition, JobProgress
from jobferry.kube.cache import Change
from jobferry.kube.items import Head, Item

NOWHERE = ""
"""In place of a worker's name: where Jobs are that were not placed yet."""


class Spec(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Whose a Job is."""

    managed_by: str = ""


class JobCondition(Condition, frozen=True, gc=False):
    """One condition, with what it says: of a placement, all."""

    message: str = ""


class JobStatus(JobProgress, frozen=True, gc=False):
    """How far a Job has got, and where it was placed."""

    conditions: tuple[JobCondition, ...] = ()


class JobHead(Head, frozen=True, gc=False):
    """A Job on the hub."""

    spec: Spec = Spec()
    status: JobStatus = JobStatus()

    @property
    def is_over(self) -> bool:
        """Whether it keeps no worker busy any more: it has ended, or goes from the hub and its mirror with it."""
        return self.status.has_ended or self.metadata.deletion_timestamp is not None

    @property
    def placed(self) -> Placement | None:
        """Its placement, as its condition vouches: an annotation may be anybody's."""
        for condition in self.status.conditions:
            if condition.type == placement.CONDITION and condition.status == "True":
                return placement.told(self.metadata.uid, condition.message)
        return None

    @property
    def workers(self) -> list[str]:
        """Where it was placed."""
        placed = self.placed
        return [shard.worker for shard in placed.shards] if placed else []


def workers_of(item: Item[JobHead]) -> Iterable[str]:
    """Name the workers that an unfinished Job keeps busy; `NOWHERE` stands for those it waits for."""
    if item.head.is_over:
        return ()
    return item.head.workers or (NOWHERE,)


def concerned(change: Change[JobHead]) -> list[str]:
    """Name the workers that have more to do, or less, since a Job changed."""
    before, after = ([*workers_of(each)] if each else [] for each in change)
    if before == after:
        return []
    return [name for name in dict.fromkeys((*before, *after)) if name != NOWHERE]
