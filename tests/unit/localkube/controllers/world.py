"""A cluster in this process, with a clock that stands still: the API server and our controllers."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from jobferry.kube import errors
from jobferry.kube.calls import Scope
from jobferry.kube.client import Client
from jobferry.kube.in_process import App, InProcessTransport
from jobferry.kube.resources import CRDS, EVENTS, NAMESPACES, NODES, PODS
from jobferry.kube.wire import Transport
from jobferry.localkube.apiserver.execution import Execution
from jobferry.localkube.apiserver.identity.user import MASTERS, User
from jobferry.localkube.apiserver.server import Settings, serve
from jobferry.localkube.controllers import manager
from jobferry.localkube.controllers.manager import Manager
from jobferry.objects import Obj, conditions
from jobferry.objects.resource import Resource
from jobferry.testing.clock import ManualClock, settle
from jobferry.testing.wait import until

ADMIN = User("admin", groups=(MASTERS,))
ROOT_CA = "-----BEGIN CERTIFICATE-----\n"
CONTAINER: Obj = {"name": "main", "image": "busybox"}


class World:
    """What tests do with such a cluster."""

    def __init__(self, client: Client, clock: ManualClock, controllers: Manager) -> None:
        self.client = client
        self.clock = clock
        self.controllers = controllers

    async def settle(self) -> None:
        """Let everything happen that needs no time."""
        await settle()

    async def pass_time(self, seconds: float) -> None:
        """Let time pass."""
        await self.clock.pass_time(seconds)
        await settle()

    async def namespace(self, name: str) -> str:
        """Make a namespace, with all that belongs to it."""
        await self.client.create(NAMESPACES, {"metadata": {"name": name}})
        await settle()
        return name

    async def define(self, definition: Obj) -> None:
        """Make a custom kind, and let all hear of it."""
        await self.client.create(CRDS, definition)
        name = definition["metadata"]["name"]
        await until(self.client, CRDS, name, None, _is_established)
        await self.pass_time(5)

    async def find(
        self, resource: Resource, name: str, namespace: str = "default"
    ) -> Obj | None:
        """Return an object, if there is one of that name."""
        where = namespace if resource.namespaced else None
        try:
            return await self.client.get(resource, name, where)
        except errors.NotFound:
            return None

    async def all(self, resource: Resource, namespace: str | None = "default") -> list[Obj]:
        """Return all objects of a kind."""
        return (await self.client.list(Scope(resource=resource, namespace=namespace))).items

    async def names(self, resource: Resource, namespace: str | None = "default") -> set[str]:
        """Return the names of all objects of a kind."""
        return {each["metadata"]["name"] for each in await self.all(resource, namespace)}

    async def told(self, about: str, namespace: str = "default") -> list[tuple[str, str]]:
        """Return the reason and message of each Event about an object."""
        return [
            (event["reason"], event["message"])
            for event in await self.all(EVENTS, namespace)
            if event["involvedObject"]["name"] == about
        ]

    async def add_node(
        self, name: str, *, labels: dict[str, str] | None = None, **parts: Any
    ) -> Obj:
        """Add a node that is ready, with 4 cpus unless told otherwise."""
        amounts = {"cpu": "4", "memory": "8Gi", "pods": "110", **parts.pop("amounts", {})}
        status = {
            "allocatable": amounts,
            "capacity": amounts,
            "conditions": [{"type": "Ready", "status": "True"}],
        }
        node = {
            "metadata": {"name": name, "labels": labels or {}},
            "spec": parts,
            "status": status,
        }
        made = await self.client.create(NODES, node)
        await settle()
        return made

    async def add_pod(self, name: str, namespace: str = "default", **spec: Any) -> Obj:
        """Add a pod."""
        made = await self.client.create(PODS, pod(name, namespace, **spec))
        await settle()
        return made

    async def change(
        self,
        resource: Resource,
        name: str,
        change: Callable[[Obj], None],
        *,
        subresource: str | None = None,
        namespace: str = "default",
    ) -> Obj:
        """Change an object in place."""
        found = await self.client.get(
            resource, name, namespace if resource.namespaced else None
        )
        change(found)
        changed = await self.client.update(resource, found, subresource=subresource)
        await settle()
        return changed


def _is_established(definition: Obj) -> bool:
    return conditions.is_true(definition.get("status", {}).get("conditions"), "Established")


def pod(name: str, namespace: str = "default", **spec: Any) -> Obj:
    """Return a pod; `requests` is what its container asks for, `meta` more of its metadata."""
    container = {**CONTAINER, "resources": {"requests": spec.pop("requests", {})}}
    meta = {"name": name, "namespace": namespace, **spec.pop("meta", {})}
    return {
        "metadata": meta,
        "spec": {"restartPolicy": "Never", "containers": [container], **spec},
    }


@asynccontextmanager
async def server(
    folder: Path, *, plugins: bool = False
) -> AsyncIterator[tuple[App, ManualClock]]:
    """Run an API server during the block; with all of admission if `plugins`."""
    clock = ManualClock()
    left_out = (
        frozenset() if plugins else frozenset({"ServiceAccount", "TaintNodesByCondition"})
    )
    settings = Settings(folder=folder, in_memory=True, without_plugins=left_out)
    async with serve(settings, clock, execution=Execution(inline=True)) as running:
        yield running.app, clock


def admin(app: App, clock: ManualClock) -> Transport:
    """Return how somebody who may do everything reaches a server."""
    return InProcessTransport(app, clock, {"jobferry.user": ADMIN})


@asynccontextmanager
async def cluster(
    folder: Path, *, without: frozenset[str] = frozenset(), plugins: bool = False
) -> AsyncIterator[World]:
    """Run a cluster during the block; with all of admission if `plugins`."""
    async with (
        server(folder, plugins=plugins) as (app, clock),
        Client(admin(app, clock), name="local", clock=clock) as client,
        manager.running(client, root_ca=ROOT_CA, without=without) as controllers,
    ):
        await settle()
        yield World(client, clock, controllers)
