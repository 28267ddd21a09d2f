"""Workloads on the hub, as far as each of them is looked at: whose it is, whether it has ended, who made it."""

from collections.abc import Callable

import msgspec
import orjson

from jobferry.core import placement
from jobferry.core.kind import Gang
from jobferry.core.placement import Placement
from jobferry.kinds.adapter import Adapter
from jobferry.kinds.job.progress import Condition, JobProgress
from jobferry.kube.items import Head, Json, Metadata, Reading
from jobferry.kube.resources import JOBS

FAILED = "Failed"
"""How a workload ended, in the words of its adapter, that another may have to come in place of."""


class Owner(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """An object that another belongs to."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None

    @property
    def type(self) -> str:
        """Its kind and group, as in JobSet.jobset.x-k8s.io."""
        group, slash, _ = self.api_version.rpartition("/")
        return f"{self.kind}.{group}" if slash else self.kind


class WorkloadMetadata(Metadata, frozen=True, gc=False, rename="camel"):
    """Also, who made it."""

    owner_references: tuple[Owner, ...] = ()

    @property
    def controller(self) -> Owner | None:
        """The owner that manages it, if there is one."""
        return next((each for each in self.owner_references if each.controller), None)


class WorkloadHead(Head, frozen=True, gc=False):
    """A workload of any kind."""

    metadata: WorkloadMetadata

    @property
    def managed_by(self) -> str:
        """Who runs it; empty: nobody is named."""
        raise NotImplementedError

    @property
    def has_ended(self) -> bool:
        """Whether it has."""
        raise NotImplementedError

    @property
    def told(self) -> Placement | None:
        """Its placement, as it tells itself in words that nobody but us can write."""
        return None

    @property
    def gang(self) -> Gang | None:
        """Those that it goes with; None: it goes alone, or counts no more because it failed."""
        return None

    @property
    def is_over(self) -> bool:
        """Whether it keeps no worker busy any more: it has ended, or goes from the hub and its mirror with it."""
        return self.has_ended or self.metadata.deletion_timestamp is not None


class CustomHead(WorkloadHead, frozen=True, gc=False):
    """A workload whose adapter has read it."""

    runs_it: str = ""
    is_ended: bool = False
    goes_with: Gang | None = None

    @property
    def managed_by(self) -> str:
        """Who runs it."""
        return self.runs_it

    @property
    def has_ended(self) -> bool:
        """Whether it has."""
        return self.is_ended

    @property
    def gang(self) -> Gang | None:
        """Those that it goes with."""
        return self.goes_with


class Spec(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Whose a Job is."""

    managed_by: str = ""


class JobCondition(Condition, frozen=True, gc=False):
    """One condition, with what it says: of a placement, all."""

    message: str = ""


class JobStatus(JobProgress, frozen=True, gc=False):
    """How far a Job has got, and where it was placed."""

    conditions: tuple[JobCondition, ...] = ()


class JobHead(WorkloadHead, frozen=True, gc=False):
    """A Job: there may be many, so no more is decoded of one than is needed."""

    spec: Spec = Spec()
    status: JobStatus = JobStatus()

    @property
    def managed_by(self) -> str:
        """Who runs it."""
        return self.spec.managed_by

    @property
    def has_ended(self) -> bool:
        """Whether it is Complete or Failed."""
        return self.status.has_ended

    @property
    def told(self) -> Placement | None:
        """Its placement, as its condition vouches: an annotation may be anybody's."""
        for condition in self.status.conditions:
            if condition.type == placement.CONDITION and condition.status == "True":
                return placement.told(self.metadata.uid, condition.message)
        return None


def reading(adapter: Adapter) -> Reading[WorkloadHead]:
    """Return how the heads of a kind are read."""
    return JobHead if adapter.resource == JOBS else _by_adapter(adapter)


def _by_adapter(adapter: Adapter) -> Callable[[Json], WorkloadHead]:
    decode = msgspec.json.Decoder(WorkloadHead).decode

    def read(raw: Json) -> WorkloadHead:
        obj = orjson.loads(raw if isinstance(raw, bytes) else bytes(raw))
        runs_it, end = adapter.managed_by(obj), adapter.finish(obj)
        counts = runs_it in adapter.claims and end != FAILED
        gang = adapter.gang(obj) if counts else None
        return CustomHead(decode(raw).metadata, runs_it, end is not None, gang)

    return read
