"""Mirrors on a worker, as far as each of them is looked at."""

import msgspec

from jobferry.core import marks
from jobferry.core.status import COMPLETE, FAILED
from jobferry.kube.items import Head, Key, Metadata


class Annotations(msgspec.Struct, frozen=True, gc=False):
    """Whose mirror it is."""

    hub_name: str = msgspec.field(name=marks.HUB_NAME, default="")


class MirrorMetadata(Metadata, frozen=True, gc=False, rename="camel"):
    """Also, whose mirror it is."""

    annotations: Annotations = Annotations()


class Condition(msgspec.Struct, frozen=True, gc=False):
    """One condition."""

    type: str
    status: str


class Status(msgspec.Struct, frozen=True, gc=False):
    """How far a Job has got."""

    conditions: tuple[Condition, ...] = ()

    @property
    def has_ended(self) -> bool:
        """Whether it is Complete or Failed."""
        return any(
            condition.status == "True" and condition.type in (COMPLETE, FAILED)
            for condition in self.conditions
        )


class MirrorHead(Head, frozen=True, gc=False):
    """A mirror."""

    metadata: MirrorMetadata
    status: Status = Status()

    @property
    def workload(self) -> Key:
        """The workload on the hub that it is, or says to be, the mirror of."""
        meta = self.metadata
        return Key(meta.namespace, meta.annotations.hub_name or meta.name)
