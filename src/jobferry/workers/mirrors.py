"""Mirrors on a worker, as far as each of them is looked at."""

import msgspec

from jobferry.core import marks
from jobferry.kinds.job.progress import JobProgress
from jobferry.kinds.job.status import INTERIM
from jobferry.kube.cache import Change
from jobferry.kube.items import Head, Key, Metadata


class Annotations(msgspec.Struct, frozen=True, gc=False):
    """Whose mirror it is."""

    hub_name: str = msgspec.field(name=marks.HUB_NAME, default="")


class MirrorMetadata(Metadata, frozen=True, gc=False, rename="camel"):
    """Also, whose mirror it is."""

    annotations: Annotations = Annotations()


class MirrorStatus(JobProgress, frozen=True, gc=False):
    """Also, whether anything runs."""

    active: int = 0
    terminating: int = 0

    @property
    def is_about_to_end(self) -> bool:
        """Whether nothing runs any more and it is decided how to end: the next status is the last."""
        is_decided = any(
            condition.status == "True" and condition.type in INTERIM.values()
            for condition in self.conditions
        )
        return is_decided and not (self.active or self.terminating or self.has_ended)


class MirrorHead(Head, frozen=True, gc=False):
    """A mirror."""

    metadata: MirrorMetadata
    status: MirrorStatus = MirrorStatus()

    @property
    def workload(self) -> Key:
        """The workload on the hub that it is, or says to be, the mirror of."""
        meta = self.metadata
        return Key(meta.namespace, meta.annotations.hub_name or meta.name)


def says_nothing(change: Change[MirrorHead]) -> bool:
    """Tell whether a change of a mirror is no more than the announcement of its end: the end will tell all of it."""
    if change.before is None or change.after is None:
        return False
    was, now = change.before.head, change.after.head
    return (
        now.status.is_about_to_end
        and was.metadata.labels == now.metadata.labels
        and was.metadata.generation == now.metadata.generation
        and was.metadata.deletion_timestamp == now.metadata.deletion_timestamp
    )
