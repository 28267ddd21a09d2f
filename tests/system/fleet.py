"""The fleet that all system tests share: three real clusters, their kubelets, and one dispatcher."""

import asyncio
import base64
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, suppress
from typing import Any

import orjson

from jobferry import app
from jobferry.clock import SystemClock
from jobferry.dispatch import manifests
from jobferry.dispatch.meters import Meters
from jobferry.dispatch.queues import QUEUES
from jobferry.kube import errors
from jobferry.kube.client import Client, connect
from jobferry.kube.resources import NAMESPACES, SECRETS, Resource
from jobferry.objects import Obj
from jobferry.runtime import supervise
from jobferry.settings import Settings
from jobferry.testing import assets
from jobferry.testing.control_plane import JOB_CONTROLLERS, ControlPlane
from jobferry.testing.fake_kubelet import fake_kubelet
from jobferry.workers.resource import WORKERS
from tests.conftest import new_event_loop
from tests.system.jobs import holds
from tests.system.world import named, until_one

SYSTEM = "jobferry-system"
DISPATCHER = f"system:serviceaccount:{SYSTEM}:jobferry-dispatcher"
WORKER = f"system:serviceaccount:{SYSTEM}:jobferry-worker"
"""Whom the manifests give just the rights they need."""

ADMIN = "admin"
HUB_VERSION = os.environ.get("JOBFERRY_HUB_VERSION", assets.CURRENT)
WORKER_VERSION = os.environ.get("JOBFERRY_WORKER_VERSION", assets.CURRENT)
VERSIONS = {"hub": HUB_VERSION, "east": WORKER_VERSION, "west": HUB_VERSION}
"""Which Kubernetes each cluster is. East is the only one that need not be fit to be a hub."""

NAMES = tuple(VERSIONS)

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


class Fleet:
    """A hub and two workers. West is fit to be a hub, too, for tests that need one of their own."""

    def __init__(self) -> None:
        self.planes = {
            name: ControlPlane(version=version, controllers=JOB_CONTROLLERS, audit=True)
            for name, version in VERSIONS.items()
        }
        self.races: set[str] = set()
        """Namespaces in which users act on the very Jobs that a dispatcher writes about at that moment."""

        self._background = Background()

    def start(self) -> None:
        """Start everything, and wait until the dispatcher has both workers."""
        try:
            with ThreadPoolExecutor() as pool:
                list(pool.map(ControlPlane.start, self.planes.values()))
            self._background.start(self._serve)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End everything."""
        self._background.stop()
        for plane in self.planes.values():
            plane.stop()

    def check(self) -> None:
        """Raise what has ended the dispatcher or a kubelet, if anything has."""
        self._background.check()

    def client(self, name: str, user: str = ADMIN) -> Client:
        """Return a new client of a cluster; by default, of somebody who may do everything there."""
        return connect(self.planes[name].access(user), name=name, clock=SystemClock())

    def audited(self, name: str, user: str) -> list[Obj]:
        """Return what a user has asked of a cluster so far, from its audit log."""
        lines = self.planes[name].audit_log.read_bytes().splitlines()
        entries = (orjson.loads(line) for line in lines)
        return [entry for entry in entries if entry["user"].get("username") == user]

    async def _serve(self, ready: Callable[[], None]) -> None:
        async with AsyncExitStack() as stack:
            for name in NAMES:
                client = await stack.enter_async_context(self.client(name))
                await prepare(client)
                await stack.enter_async_context(fake_kubelet(client, bind=True))
            admin = await stack.enter_async_context(self.client("hub"))
            for name in NAMES[1:]:
                await add_worker(admin, name, self.planes[name].kubeconfig(WORKER))
                selected = {"selector": {"matchLabels": {"name": name}}}
                queue = {"metadata": {"name": name}, "spec": {"workers": selected}}
                await admin.create(QUEUES, queue)
            hub = await stack.enter_async_context(self.client("hub", DISPATCHER))
            tasks = await stack.enter_async_context(supervise.tasks("fleet", clock=hub.clock))
            tasks.start("dispatcher", lambda: dispatch(hub, Settings()))
            for name in NAMES[1:]:
                await until_one(admin, named(WORKERS, name), holds("Ready"))
            ready()
            await tasks.ended()


class Background:
    """Runs what lasts as long as the session, on an event loop in a thread of its own."""

    def __init__(self) -> None:
        self._failure: BaseException | None = None
        self._loop = new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._task: asyncio.Task[None] | None = None
        self._settled = threading.Event()

    def start(self, serve: Callable[[Callable[[], None]], Coroutine[Any, Any, None]]) -> None:
        """Start it, and wait until it says that it is ready."""
        self._thread.start()
        self._loop.call_soon_threadsafe(self._begin, serve)
        assert self._settled.wait(60), "the fleet was not ready within a minute"
        self.check()

    def stop(self) -> None:
        """End it."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._end)
            self._thread.join()
        self._loop.close()

    def check(self) -> None:
        """Raise what has ended it, if anything has."""
        if self._failure is not None:
            raise self._failure

    def _begin(self, serve: Callable[[Callable[[], None]], Coroutine[Any, Any, None]]) -> None:
        self._task = self._loop.create_task(serve(self._settled.set))
        self._task.add_done_callback(self._note_end)

    def _note_end(self, task: asyncio.Task[None]) -> None:
        self._failure = None if task.cancelled() else task.exception()
        self._settled.set()

    def _end(self) -> None:
        assert self._task is not None
        self._task.add_done_callback(lambda _: self._loop.stop())
        self._task.cancel()


async def dispatch(hub: Client, settings: Settings) -> None:
    """Run a dispatcher, as `jobferry run` does."""
    await app.dispatch(hub, settings, meters=Meters(hub.clock))


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
