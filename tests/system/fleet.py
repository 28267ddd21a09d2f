"""The fleet of system tests: three clusters, their kubelets, and one dispatcher.

Real clusters where there are any (`make kube`), else localkube: see `processes` and `one_process`.
"""

import base64
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import replace
from secrets import token_hex
from typing import Any, Protocol, Self

import orjson

from jobferry import app
from jobferry.clock import Clock
from jobferry.dispatch import manifests
from jobferry.dispatch.meters import Meters
from jobferry.dispatch.queues import QUEUES
from jobferry.kube import errors
from jobferry.kube.access import Access
from jobferry.kube.client import Client, Reach, connect
from jobferry.kube.resources import NAMESPACES, SECRETS
from jobferry.objects import Obj
from jobferry.objects.resource import Resource
from jobferry.runtime import supervise
from jobferry.settings import Settings
from jobferry.testing import assets
from jobferry.testing.fake_kubelet import fake_kubelet
from jobferry.testing.pods import Run, by_annotations
from jobferry.workers.resource import WORKERS
from tests.system.jobs import holds
from tests.system.world import named, until_one

SYSTEM = "jobferry-system"
DISPATCHER = f"system:serviceaccount:{SYSTEM}:jobferry-dispatcher"
WORKER = f"system:serviceaccount:{SYSTEM}:jobferry-worker"
"""Whom the manifests give just the rights they need."""

MIRROR_SECONDS = "example.com/run-seconds"
"""The annotation that says how long a Pod runs that is a workload."""

ADMIN = "admin"
_DEFAULT = assets.LOCALKUBE if assets.missing() else assets.CURRENT
HUB_VERSION = os.environ.get("JOBFERRY_HUB_VERSION", _DEFAULT)
WORKER_VERSION = os.environ.get("JOBFERRY_WORKER_VERSION", _DEFAULT)
VERSIONS = {"hub": HUB_VERSION, "east": WORKER_VERSION, "west": HUB_VERSION}
"""Which Kubernetes each cluster is. East is the only one that need not be fit to be a hub."""

NAMES = tuple(VERSIONS)

IS_REAL = {*VERSIONS.values()} != {assets.LOCALKUBE}
"""Whether any cluster is a real one."""

IS_CHOSEN = bool({"JOBFERRY_HUB_VERSION", "JOBFERRY_WORKER_VERSION"} & os.environ.keys())
"""Whether somebody has said what the clusters are: then they are processes, for all tests."""

CANNOT_RESUME = WORKER_VERSION.startswith("1.32.") and int(WORKER_VERSION.split(".")[2]) < 10
"""Whether the API server of east refuses what its own Job controller writes about a Job that ran and is resumed."""

_RBAC = "rbac.authorization.k8s.io"
RESOURCES = {
    resource.kind: resource
    for resource in (
        NAMESPACES,
        QUEUES,
        SECRETS,
        WORKERS,
        Resource("", "v1", "serviceaccounts", "ServiceAccount"),
        Resource(
            "apiextensions.k8s.io",
            "v1",
            "customresourcedefinitions",
            "CustomResourceDefinition",
            namespaced=False,
        ),
        Resource(_RBAC, "v1", "clusterroles", "ClusterRole", namespaced=False),
        Resource(_RBAC, "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False),
        Resource(_RBAC, "v1", "roles", "Role"),
        Resource(_RBAC, "v1", "rolebindings", "RoleBinding"),
    )
}


class Plane(Protocol):
    """A cluster of the fleet, and the ways in."""

    @property
    def url(self) -> str:
        """Where its API server is."""
        ...

    def kubeconfig(self, user: str = ADMIN, *groups: str) -> str:
        """Return a kubeconfig; without arguments, for somebody who may do everything."""
        ...

    def access(self, user: str = ADMIN, *groups: str) -> Access:
        """Return how to reach it; without arguments, as somebody who may do everything."""
        ...


class Network(Protocol):
    """The way to a cluster, which a test can cut, and mend."""

    @property
    def url(self) -> str:
        """Where this way begins."""
        ...

    def through(self, kubeconfig: str) -> str:
        """Return a kubeconfig that leads this way."""
        ...

    async def cut(self) -> None:
        """Close every connection and take no new one."""
        ...

    def drop(self) -> None:
        """Close every connection."""
        ...

    async def mend(self) -> None:
        """Take connections again."""
        ...

    def freeze(self) -> None:
        """Keep all connections open, and pass nothing on."""
        ...

    def thaw(self) -> None:
        """Pass on what has waited."""
        ...

    def strand(self) -> None:
        """Pass on again what is new; of the connections there were nobody will hear any more."""
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *_: object) -> None: ...


class Fleet(ABC):
    """A hub and two workers. West is fit to be a hub, too, for tests that need one of their own."""

    planes: Mapping[str, Plane]
    clock: Clock
    reach: Reach
    is_shared = True
    """Whether other tests have it next; else it goes with all that a test left."""

    def __init__(self) -> None:
        self.races: set[str] = set()
        """Namespaces in which users act on the very Jobs that a dispatcher writes about at that moment."""

    @abstractmethod
    def check(self) -> None:
        """Raise what has ended the dispatcher or a kubelet, if anything has."""

    @abstractmethod
    def network(self, url: str) -> Network:
        """Return another way to where a URL leads, to be used as a block."""

    @abstractmethod
    def audit_log(self, name: str) -> bytes:
        """Return what a cluster was asked so far, a line for each request."""

    def connect(self, access: Access, name: str, clock: Clock | None = None) -> Client:
        """Return a client of a cluster."""
        return connect(access, name=name, clock=clock or self.clock, reach=self.reach)

    def client(self, name: str, user: str = ADMIN) -> Client:
        """Return a new client of a cluster; by default, of somebody who may do everything there."""
        return self.connect(self.planes[name].access(user), name)

    def audited(self, name: str, user: str) -> list[Obj]:
        """Return what a user has asked of a cluster so far, from its audit log."""
        entries = (orjson.loads(line) for line in self.audit_log(name).splitlines())
        return [entry for entry in entries if entry["user"].get("username") == user]

    async def dispatch(
        self, hub: Client, settings: Settings, *, reach: Reach | None = None
    ) -> None:
        """Run a dispatcher, as `jobferry run` does; `reach` is its way to workers."""
        me, meters = f"test-{token_hex(4)}", Meters(hub.clock)
        await app.dispatch(hub, settings, me=me, meters=meters, reach=reach or self.reach)

    async def prepare(self) -> None:
        """Make the clusters fit for dispatchers, and tell the hub of its workers."""
        for name in NAMES:
            async with self.client(name) as client:
                await prepare(client)
        async with self.client("hub") as hub:
            for name in NAMES[1:]:
                await add_worker(hub, name, self.planes[name].kubeconfig(WORKER))
                selected = {"selector": {"matchLabels": {"name": name}}}
                queue = {"metadata": {"name": name}, "spec": {"workers": selected}}
                await hub.create(QUEUES, queue)

    async def serve(self, ready: Callable[[], None]) -> None:
        """Run kubelets and the dispatcher until cancelled; it is ready once the dispatcher has both workers."""
        async with AsyncExitStack() as stack:
            for name in NAMES:
                client = await stack.enter_async_context(self.client(name))
                await stack.enter_async_context(fake_kubelet(client, bind=True, play=play))
            admin = await stack.enter_async_context(self.client("hub"))
            hub = await stack.enter_async_context(self.client("hub", DISPATCHER))
            tasks = await stack.enter_async_context(supervise.tasks("fleet", clock=hub.clock))
            tasks.start("dispatcher", lambda: self.dispatch(hub, Settings()))
            for name in NAMES[1:]:
                await until_one(admin, named(WORKERS, name), holds("Ready"))
            ready()
            await tasks.ended()


def play(pod: Obj) -> Run:
    """Let a pod say itself what it does; one that is a mirror says it in words that are not ours, which do not travel."""
    said = (pod["metadata"].get("annotations") or {}).get(MIRROR_SECONDS)
    run = by_annotations(pod)
    return run if said is None else replace(run, seconds=float(said))


async def prepare(client: Client) -> None:
    """Make a cluster fit to be a hub and a worker."""
    for name in manifests.NAMES:
        for obj in manifests.objects(name):
            with suppress(errors.AlreadyExists):
                await client.create(RESOURCES[obj["kind"]], obj)
    for crd in manifests.objects("crds"):
        scope = named(RESOURCES["CustomResourceDefinition"], crd["metadata"]["name"])
        await until_one(client, scope, holds("Established"))


async def add_worker(hub: Client, name: str, kubeconfig: str, **spec: Any) -> None:
    """Create a Worker, and the Secret that says how it is reached."""
    await hub.create(SECRETS, secret(name, kubeconfig))
    where = {"secret": {"namespace": SYSTEM, "name": name}}
    worker = {
        "metadata": {"name": name, "labels": {"name": name}},
        "spec": {"kubeconfig": where, **spec},
    }
    await hub.create(WORKERS, worker)


def secret(name: str, kubeconfig: str) -> Obj:
    """Return the Secret that says how a worker is reached."""
    encoded = base64.b64encode(kubeconfig.encode()).decode()
    return {
        "metadata": {"name": name, "namespace": SYSTEM, "labels": {"holds": "kubeconfig"}},
        "data": {"kubeconfig": encoded},
    }
