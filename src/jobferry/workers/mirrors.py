"""Mirrors on a worker, as far as each of them is looked at."""

from collections.abc import Callable

import msgspec
import orjson

from jobferry.core import marks
from jobferry.kinds.adapter import Adapter
from jobferry.kinds.job.progress import JobProgress
from jobferry.kinds.job.status import INTERIM
from jobferry.kube.cache import Change
from jobferry.kube.items import Head, Json, Key, Metadata, Reading
from jobferry.kube.resources import JOBS


class Annotations(msgspec.Struct, frozen=True, gc=False):
    """Whose mirror it is."""

    hub_name: str = msgspec.field(name=marks.HUB_NAME, default="")


class Owner(msgspec.Struct, frozen=True, gc=False):
    """An object that another belongs to."""

    controller: bool | None = None


class MirrorMetadata(Metadata, frozen=True, gc=False, rename="camel"):
    """Also, whose mirror it is."""

    annotations: Annotations = Annotations()
    owner_references: tuple[Owner, ...] = ()


class MirrorHead(Head, frozen=True, gc=False):
    """A mirror of a workload of any kind."""

    metadata: MirrorMetadata

    @property
    def has_ended(self) -> bool:
        """Whether it has."""
        raise NotImplementedError

    @property
    def is_about_to_end(self) -> bool:
        """Whether nothing runs any more and it is decided how to end: the next status is the last."""
        raise NotImplementedError

    @property
    def workload(self) -> Key:
        """The workload on the hub, of its kind, that it is, or says to be, the mirror of."""
        meta = self.metadata
        return Key(meta.namespace, meta.annotations.hub_name or meta.name)

    @property
    def is_made_by_others(self) -> bool:
        """Whether a controller made it, maybe of a mirror of ours, marks and all: no mirror is owned."""
        return any(each.controller for each in self.metadata.owner_references)


class CustomMirrorHead(MirrorHead, frozen=True, gc=False):
    """A mirror whose adapter has read it."""

    is_ended: bool = False
    ends_soon: bool = False

    @property
    def has_ended(self) -> bool:
        """Whether it has."""
        return self.is_ended

    @property
    def is_about_to_end(self) -> bool:
        """Whether the next status is the last."""
        return self.ends_soon


class JobMirrorStatus(JobProgress, frozen=True, gc=False):
    """Also, whether anything runs."""

    active: int = 0
    terminating: int = 0


class JobMirrorHead(MirrorHead, frozen=True, gc=False):
    """A mirror of a Job: there may be many, so no more is decoded of one than is needed."""

    status: JobMirrorStatus = JobMirrorStatus()

    @property
    def has_ended(self) -> bool:
        """Whether it is Complete or Failed."""
        return self.status.has_ended

    @property
    def is_about_to_end(self) -> bool:
        """Whether nothing runs any more and it is decided how to end: the next status is the last."""
        status = self.status
        is_decided = any(
            condition.status == "True" and condition.type in INTERIM.values()
            for condition in status.conditions
        )
        return is_decided and not (status.active or status.terminating or status.has_ended)


def reading(adapter: Adapter) -> Reading[MirrorHead]:
    """Return how the heads of a kind's mirrors are read."""
    return JobMirrorHead if adapter.resource == JOBS else _by_adapter(adapter)


def _by_adapter(adapter: Adapter) -> Callable[[Json], MirrorHead]:
    decode = msgspec.json.Decoder(MirrorHead).decode

    def read(raw: Json) -> MirrorHead:
        obj = orjson.loads(raw if isinstance(raw, bytes) else bytes(raw))
        return CustomMirrorHead(
            decode(raw).metadata,
            is_ended=adapter.finish(obj) is not None,
            ends_soon=adapter.is_about_to_end(obj),
        )

    return read


def says_nothing(change: Change[MirrorHead]) -> bool:
    """Tell whether a change of a mirror is no more than the announcement of its end: the end will tell all of it."""
    if change.before is None or change.after is None:
        return False
    was, now = change.before.head, change.after.head
    return (
        now.is_about_to_end
        and was.metadata.labels == now.metadata.labels
        and was.metadata.generation == now.metadata.generation
        and was.metadata.deletion_timestamp == now.metadata.deletion_timestamp
    )
