"""The Worker object as the registry reads it."""

import msgspec

from jobferry.kube.items import Head
from jobferry.kube.resources import Resource

WORKERS = Resource("jobferry.io", "v1alpha1", "workers", "Worker", namespaced=False)


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
    """What to do about namespaces that the worker lacks."""

    create: bool = False


class Spec(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """What a Worker asks for."""

    kubeconfig: Kubeconfig = Kubeconfig()
    namespaces: Namespaces = Namespaces()
    drain: str = "None"
    max_mirrors: int | None = None


class WorkerHead(Head, frozen=True, gc=False):
    """A Worker, as far as it is read often."""

    spec: Spec = Spec()
