"""A cluster in memory that admission looks at, and requests to it."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from jobferry.clock import Clock
from jobferry.localkube.apiserver import status
from jobferry.localkube.apiserver.admission.chain import Chain, chain
from jobferry.localkube.apiserver.admission.request import CREATE, Request
from jobferry.objects import Obj
from jobferry.testing.clock import ManualClock

SUFFIX = "zzzzz"

KINDS = {
    "pods": ("", "Pod"),
    "namespaces": ("", "Namespace"),
    "nodes": ("", "Node"),
    "configmaps": ("", "ConfigMap"),
    "secrets": ("", "Secret"),
    "services": ("", "Service"),
    "serviceaccounts": ("", "ServiceAccount"),
    "persistentvolumeclaims": ("", "PersistentVolumeClaim"),
    "limitranges": ("", "LimitRange"),
    "resourcequotas": ("", "ResourceQuota"),
    "jobs": ("batch", "Job"),
    "priorityclasses": ("scheduling.k8s.io", "PriorityClass"),
}


@dataclass(frozen=True)
class Somebody:
    """A user."""

    name: str = "somebody"
    groups: tuple[str, ...] = ()


@dataclass
class World:
    """What is stored; every write gives a new version."""

    objects: dict[tuple[str, str], dict[str, Obj]] = field(default_factory=dict)
    writes: int = 0
    revision: int = 1
    before_write: Callable[["World"], Any] | None = None
    """Called before a write is looked at: a chance for others to be faster."""

    def put(self, resource: str, obj: Obj) -> Obj:
        """Store an object."""
        self.revision += 1
        metadata = obj["metadata"] | {"resourceVersion": str(self.revision)}
        stored = obj | {"metadata": metadata}
        key = resource, metadata.get("namespace", "")
        self.objects.setdefault(key, {})[metadata["name"]] = stored
        return stored

    def load(self, resource: str, items: Iterable[Obj]) -> None:
        """Store objects just as they are."""
        for obj in items:
            metadata = obj["metadata"]
            key = resource, metadata.get("namespace", "")
            self.objects.setdefault(key, {})[metadata["name"]] = obj

    def get(self, group: str, resource: str, namespace: str, name: str) -> Obj | None:
        """Return an object."""
        assert KINDS[resource][0] == group
        return self.objects.get((resource, namespace), {}).get(name)

    def list(self, group: str, resource: str, namespace: str) -> Sequence[Obj]:
        """Return objects, by name."""
        assert KINDS[resource][0] == group
        found = self.objects.get((resource, namespace), {})
        return [found[name] for name in sorted(found)]

    async def update_status(self, group: str, resource: str, obj: Obj) -> Obj:
        """Replace the status of an object, if nobody was faster."""
        await asyncio.sleep(0)  # as a real write does, it lets others run
        self.writes += 1
        if self.before_write:
            self.before_write(self)
        metadata = obj["metadata"]
        stored = self.get(group, resource, metadata.get("namespace", ""), metadata["name"])
        if stored is None:
            raise status.not_found(group, resource, metadata["name"])
        if stored["metadata"]["resourceVersion"] != metadata["resourceVersion"]:
            raise status.changed(group, resource, metadata["name"])
        return self.put(resource, stored | {"status": obj["status"]})


def admission(world: World, clock: Clock | None = None) -> Chain:
    """Return the chain of a fresh cluster."""
    return chain(world, clock or ManualClock(), suffix=lambda: SUFFIX)


def request(
    resource: str,
    obj: Obj | None,
    operation: str = CREATE,
    *,
    namespace: str = "ns",
    **more: Any,
) -> Request:
    """Return a request to change something."""
    group, kind = KINDS[resource]
    more.setdefault("name", ((obj or {}).get("metadata") or {}).get("name", ""))
    return Request(
        operation=operation,
        group=group,
        version="v1",
        resource=resource,
        kind=kind,
        namespace=namespace,
        obj=obj,
        user=Somebody(),
        **more,
    )


def world(*quotas: Obj) -> World:
    """Return a cluster with one namespace, its default account, and quotas."""
    made = World()
    made.put("namespaces", {"metadata": {"name": "ns"}, "status": {"phase": "Active"}})
    made.put("serviceaccounts", {"metadata": {"name": "default", "namespace": "ns"}})
    for quota in quotas:
        made.put("resourcequotas", quota)
    return made


def quota(
    hard: Obj, used: Obj | None = None, *, name: str = "q", namespace: str = "ns", **spec: Any
) -> Obj:
    """Return a quota that was counted; without `used`, nothing is used."""
    counted = dict.fromkeys(hard, "0") if used is None else used
    return {
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"hard": hard} | spec,
        "status": {"hard": hard, "used": counted},
    }


def pod(name: str = "p", **spec: Any) -> Obj:
    """Return a pod with one container that asks for nothing, unless told otherwise."""
    return {
        "metadata": {"name": name, "namespace": "ns"},
        "spec": {"containers": [container()]} | spec,
    }


def container(
    name: str = "c", *, requests: Obj | None = None, limits: Obj | None = None, **more: Any
) -> Obj:
    """Return a container."""
    wanted = (("requests", requests), ("limits", limits))
    resources = {what: amounts for what, amounts in wanted if amounts}
    return {"name": name, "image": "i", "resources": resources} | more
