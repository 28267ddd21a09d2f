"""The Jobs on the hub, as far as each of them is looked at."""

from collections.abc import Iterable

import msgspec

from jobferry.core import placement
from jobferry.kube.items import Head, Item, Metadata
from jobferry.workers.mirrors import Status

NOWHERE = ""
"""In place of a worker's name: where Jobs are that were not placed yet."""


class Annotations(msgspec.Struct, frozen=True, gc=False):
    """The one annotation that is ours to read."""

    placement: str = msgspec.field(name=placement.ANNOTATION, default="")


class JobMetadata(Metadata, frozen=True, gc=False, rename="camel"):
    """Also, where a Job was placed."""

    annotations: Annotations = Annotations()


class Spec(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Whose a Job is."""

    managed_by: str = ""


class JobHead(Head, frozen=True, gc=False):
    """A Job on the hub."""

    metadata: JobMetadata
    spec: Spec = Spec()
    status: Status = Status()


def workers_of(item: Item[JobHead]) -> Iterable[str]:
    """Name the workers that an unfinished Job keeps busy; `NOWHERE` stands for those it waits for."""
    if item.head.status.has_ended:
        return ()
    return placement.workers(item.head.metadata.annotations.placement) or (NOWHERE,)
