"""What controllers look at in objects all the time; the rest of an object stays JSON until it is needed."""

from collections.abc import Hashable, Iterable
from datetime import datetime
from typing import TypeVar

import msgspec

from jobferry.kube.items import Head, Item, Metadata


class Owner(msgspec.Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """One entry of ownerReferences."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool = False
    block_owner_deletion: bool = False


class ObjectMetadata(Metadata, frozen=True, gc=False, rename="camel"):
    """What is known of any object that controllers keep."""

    annotations: dict[str, str] = msgspec.field(default_factory=dict)
    finalizers: list[str] = msgspec.field(default_factory=list)
    owner_references: list[Owner] = msgspec.field(default_factory=list)
    deletion_grace_period_seconds: int | None = None

    @property
    def controller(self) -> Owner | None:
        """The owner that manages it."""
        return next((owner for owner in self.owner_references if owner.controller), None)

    @property
    def is_deleted(self) -> bool:
        """Whether somebody has deleted it, though it is still there."""
        return self.deletion_timestamp is not None


class Object(Head, frozen=True, gc=False):
    """Any object."""

    metadata: ObjectMetadata


O = TypeVar("O", bound=Object)  # noqa: E741 (an object, as H is a head)


class Condition(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """One entry of a status's conditions."""

    type: str
    status: str
    last_transition_time: datetime | None = None


class InitContainer(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A container that is started before the others; a sidecar, if it is to run on beside them."""

    name: str
    restart_policy: str | None = None


class PodSpec(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Where a pod runs, and who decides that."""

    node_name: str = ""
    scheduler_name: str = ""
    priority: int = 0
    scheduling_gates: list[msgspec.Raw] = []
    init_containers: list[InitContainer] = []


class Terminated(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """How a container ended."""

    exit_code: int = 0
    finished_at: datetime | None = None


class ContainerState(msgspec.Struct, frozen=True, gc=False):
    """What a container does; None: it has not ended."""

    terminated: Terminated | None = None


class ContainerStatus(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """How far a container has got."""

    name: str
    restart_count: int = 0
    state: ContainerState = ContainerState()


class PodStatus(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """How far a pod has got."""

    phase: str = "Pending"
    start_time: datetime | None = None
    conditions: list[Condition] = []
    container_statuses: list[ContainerStatus] = []
    init_container_statuses: list[ContainerStatus] = []


class Pod(Object, frozen=True, gc=False):
    """A pod."""

    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def is_finished(self) -> bool:
        """Whether all of it has ended, well or not."""
        return self.status.phase in {"Succeeded", "Failed"}


class JobSpec(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Who runs a Job."""

    managed_by: str | None = None


class JobStatus(msgspec.Struct, frozen=True, gc=False):
    """How far a Job has got."""

    conditions: list[Condition] = []


class Job(Object, frozen=True, gc=False):
    """A Job, as all look at it; what its controller needs besides, it reads from the JSON."""

    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()

    @property
    def is_finished(self) -> bool:
        """Whether it has ended, well or not."""
        return any(
            each.type in {"Complete", "Failed"} and each.status == "True"
            for each in self.status.conditions
        )


def by_controller(item: Item[O]) -> Iterable[Hashable]:
    """Index an object under the UID of the owner that manages it."""
    owner = item.head.metadata.controller
    return () if owner is None else (owner.uid,)


def by_missing_controller(item: Item[O]) -> Iterable[Hashable]:
    """Index an object that nobody manages under its namespace."""
    metadata = item.head.metadata
    return (metadata.namespace,) if metadata.controller is None else ()


def by_owner(item: Item[O]) -> Iterable[Hashable]:
    """Index an object under the UID of each of its owners."""
    return [owner.uid for owner in item.head.metadata.owner_references]


def by_namespace(item: Item[O]) -> Iterable[Hashable]:
    """Index an object under its namespace."""
    return (item.head.metadata.namespace,)


def by_node(item: Item[Pod]) -> Iterable[Hashable]:
    """Index a pod under the node that it is bound to; empty for one that waits."""
    return (item.head.spec.node_name,)
