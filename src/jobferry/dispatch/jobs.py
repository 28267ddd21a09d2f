"""The Jobs on the hub, as far as each of them is looked at."""

from collections.abc import Iterable

import msgspec

from jobferry.core import placement
from jobferry.core.status import COMPLETE, FAILED
from jobferry.kube.items import Head, Item, Metadata


class Annotations(msgspec.Struct, frozen=True, gc=False):
    """The one annotation that is ours to read."""

    placement: str = msgspec.field(name=placement.ANNOTATION, default="")


class JobMetadata(Metadata, frozen=True, gc=False, rename="camel"):
    """Also, where a Job was placed."""

    annotations: Annotations = Annotations()


class Spec(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Whose a Job is."""

    managed_by: str = ""


class Condition(msgspec.Struct, frozen=True, gc=False):
    """One condition."""

    type: str
    status: str


class Status(msgspec.Struct, frozen=True, gc=False):
    """How far a Job has got."""

    conditions: list[Condition] = []


class JobHead(Head, frozen=True, gc=False):
    """A Job on the hub."""

    metadata: JobMetadata
    spec: Spec = Spec()
    status: Status = Status()

    @property
    def has_ended(self) -> bool:
        """Whether it is Complete or Failed."""
        return any(
            condition.status == "True" and condition.type in (COMPLETE, FAILED)
            for condition in self.status.conditions
        )


def workers_of(item: Item[JobHead]) -> Iterable[str]:
    """Name the workers that an unfinished Job keeps busy."""
    return (
        ()
        if item.head.has_ended
        else placement.workers(item.head.metadata.annotations.placement)
    )
