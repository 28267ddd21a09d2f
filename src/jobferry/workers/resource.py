"""The Worker object as the registry reads it."""

import msgspec

from jobferry.core import marks
from jobferry.kube.items import Head, Metadata
from jobferry.objects.resource import Resource

WORKERS = Resource("jobferry.io", "v1alpha1", "workers", "Worker", namespaced=False)


def finalizer(dispatcher: str) -> str:
    """Return what guards a Worker while one dispatcher has mirrors there; each has its own."""
    return f"mirrors.jobferry.io/{marks.label_value(dispatcher)}"


class SecretKey(msgspec.Struct, frozen=True, gc=False):
    """One key of one Secret on the hub."""

    namespace: str
    name: str
    key: str = "kubeconfig"


class Kubeconfig(msgspec.Struct, frozen=True, gc=False):
    """Where a worker's kubeconfig is: in a Secret or in a file."""

    secret: SecretKey | None = None
    file: str | None = None
    context: str | None = None


class Namespaces(msgspec.Struct, frozen=True, gc=False):
    """Which namespaces go to the worker, and what to do about those that it lacks."""

    create: bool = False
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    """Where we have rights; empty: everywhere."""


class Spec(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """What a Worker asks for."""

    kubeconfig: Kubeconfig = Kubeconfig()
    namespaces: Namespaces = Namespaces()
    drain: str = "None"
    max_mirrors: int | None = None
    capacity: dict[str, str | int] = {}
    shared_cluster: bool = False


class WorkerMetadata(Metadata, frozen=True, gc=False, rename="camel"):
    """Also, what keeps it from being deleted."""

    finalizers: tuple[str, ...] = ()


class WorkerHead(Head, frozen=True, gc=False):
    """A Worker, as far as it is read often."""

    metadata: WorkerMetadata
    spec: Spec = Spec()

    @property
    def is_being_removed(self) -> bool:
        """Whether somebody has deleted it."""
        return self.metadata.deletion_timestamp is not None
