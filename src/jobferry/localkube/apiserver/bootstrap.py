"""What a fresh server has, and what every start makes sure of."""

import asyncio
from collections.abc import Iterable

from jobferry.localkube.apiserver import own_writes
from jobferry.localkube.apiserver.access import bootstrap as roles
from jobferry.localkube.apiserver.access.rbac import GROUP
from jobferry.localkube.apiserver.handlers.backend import Backend
from jobferry.localkube.apiserver.resource import Resource
from jobferry.localkube.apiserver.status import StatusError
from jobferry.objects import Obj

NAMESPACES = ("kube-system", "kube-public", "kube-node-lease", "default")

_CRITICAL = (
    (
        "system-cluster-critical",
        2_000_000_000,
        "Pods that the cluster cannot do without, wherever they run.",
    ),
    (
        "system-node-critical",
        2_000_001_000,
        "Pods that their node cannot do without.",
    ),
)


async def bootstrap(backend: Backend, port: int) -> None:
    """Create what is missing; what is there stays as it is."""
    await _create_missing(backend, "", "namespaces", map(_namespace, NAMESPACES))
    await _create_missing(
        backend, "scheduling.k8s.io", "priorityclasses", map(_priority_class, _CRITICAL)
    )
    await _create_missing(backend, "", "services", [_service(port)])
    await _settle_roles(backend)


async def _create_missing(
    backend: Backend, group: str, plural: str, wanted: Iterable[Obj]
) -> None:
    resource = backend.registry.get(group, "v1", plural)
    async with asyncio.TaskGroup() as tasks:
        for obj in wanted:
            meta = obj["metadata"]
            key = resource.key(meta.get("namespace", ""), meta["name"])
            if backend.storage.get(key) is None:
                tasks.create_task(own_writes.create(backend, resource, obj))


async def _settle_roles(backend: Backend) -> None:
    """Bring the roles and bindings of a fresh server about, and what was taken from them back."""
    served = {
        resource.kind: resource
        for resource in backend.registry.in_version(GROUP, "v1").values()
    }
    existing = [
        entry.object
        for resource in served.values()
        for entry in backend.storage.range(resource.prefix).entries
    ]
    async with asyncio.TaskGroup() as tasks:
        for write in roles.plan(existing, roles.objects()):
            tasks.create_task(_settle(backend, served[write.obj["kind"]], write))


async def _settle(backend: Backend, resource: Resource, write: roles.Write) -> None:
    if write.operation == "update":
        await own_writes.replace(backend, resource, write.obj)
        return
    meta = write.obj["metadata"]
    key = resource.key(meta.get("namespace", ""), meta["name"])
    entry = backend.door.newest(key)
    if entry is not None:
        await backend.door.remove(resource, entry, entry.fresh())
    try:
        await own_writes.create(backend, resource, write.obj)
    except StatusError as error:
        if error.reason != "AlreadyExists":
            raise


def _namespace(name: str) -> Obj:
    return {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": name}}


def _priority_class(row: tuple[str, int, str]) -> Obj:
    name, value, description = row
    return {
        "kind": "PriorityClass",
        "apiVersion": "scheduling.k8s.io/v1",
        "metadata": {"name": name},
        "value": value,
        "description": description,
    }


def _service(port: int) -> Obj:
    labels = {"component": "apiserver", "provider": "kubernetes"}
    return {
        "kind": "Service",
        "apiVersion": "v1",
        "metadata": {"name": "kubernetes", "namespace": "default", "labels": labels},
        "spec": {
            "type": "ClusterIP",
            "clusterIP": "10.0.0.1",
            "ports": [
                {"name": "https", "port": 443, "protocol": "TCP", "targetPort": port},
            ],
            "sessionAffinity": "None",
        },
    }
