"""A fleet that a test may break: its own dispatchers, and workers behind a network that can be cut."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from typing import Any, Self

from jobferry.clock import Clock
from jobferry.kube import errors
from jobferry.kube.calls import Scope
from jobferry.kube.client import Client, Reach, connect
from jobferry.kube.resources import SECRETS
from jobferry.objects import Obj
from jobferry.runtime import supervise
from jobferry.settings import Lease, Settings
from jobferry.testing.control_plane import ControlPlane
from jobferry.workers.resource import WORKERS
from tests.system.fleet import DISPATCHER, SYSTEM, WORKER, Fleet, Network, add_worker
from tests.system.jobs import Holds, ready
from tests.system.world import World, named, until_one

BRISK = Lease(duration=2, deadline=1.5, retry=0.3)
"""For tests in which one dispatcher takes over from another."""


class Lab:
    """A world without a dispatcher; `clusters` says which cluster of the fleet each worker is."""

    def __init__(self, fleet: Fleet, world: World, clusters: Mapping[str, str]) -> None:
        self.fleet = fleet
        self.world = world
        self.clusters = dict(clusters)
        self.proxies: dict[str, Network] = {}
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        for name, cluster in self.clusters.items():
            network = self.fleet.network(self.fleet.planes[cluster].url)
            self.proxies[name] = await self._stack.enter_async_context(network)
        return self

    async def __aexit__(self, *_: object) -> None:
        hub = self.world.hub
        for worker in (await hub.list(Scope(resource=WORKERS))).items:
            name = worker["metadata"]["name"]
            # Nobody is left who would take off a finalizer.
            await hub.patch(WORKERS, name, {"metadata": {"finalizers": None}})
            with suppress(errors.NotFound):
                await hub.delete(WORKERS, name)
        await hub.delete_collection(
            Scope(resource=SECRETS, namespace=SYSTEM, labels="holds=kubeconfig")
        )
        await self._stack.aclose()

    def kubeconfig(self, worker: str, user: str = WORKER) -> str:
        """Return a kubeconfig for a worker that leads through its proxy."""
        plane = self.fleet.planes[self.clusters[worker]]
        return self.proxies[worker].through(plane.kubeconfig(user))

    def connect(self, plane: ControlPlane) -> Client:
        """Return a client of a cluster that is not of the fleet."""
        return self.fleet.connect(plane.access(), "extra")

    async def add_worker(self, name: str, **spec: Any) -> None:
        """Create the Worker of that name, on the lab's hub."""
        await add_worker(self.world.hub, name, self.kubeconfig(name), **spec)

    async def add_workers(self, **spec: Any) -> None:
        """Create both Workers."""
        for name in self.clusters:
            await self.add_worker(name, **spec)

    async def edit_worker(self, name: str, **spec: Any) -> None:
        """Change a Worker."""
        await self.world.hub.patch(WORKERS, name, {"spec": spec})

    async def worker(self, name: str, is_as_wanted: Holds = ready) -> Obj:
        """Wait until a Worker is as wanted, by default Ready."""
        return await until_one(self.world.hub, named(WORKERS, name), is_as_wanted)

    @asynccontextmanager
    async def dispatcher(self, **changes: Any) -> AsyncIterator[None]:
        """Run a dispatcher during the block, and wait until it has all Workers that there are."""
        async with self.standby(**changes):
            for worker in (await self.world.hub.list(Scope(resource=WORKERS))).items:
                await self.worker(worker["metadata"]["name"])
            yield

    @asynccontextmanager
    async def standby(self, **changes: Any) -> AsyncIterator[None]:
        """Run a dispatcher during the block."""
        async with supervise.tasks("standby", clock=self.world.hub.clock) as tasks:
            tasks.start("dispatcher", lambda: self.replica(**changes))
            yield

    async def replica(
        self,
        *,
        network: Network | None = None,
        clock: Clock | None = None,
        reach: Reach | None = None,
        **changes: Any,
    ) -> None:
        """Run a dispatcher until cancelled.

        `network` is between it and the hub, `clock` is its own, `reach` its way to all clusters.
        """
        access = self.fleet.planes["west"].access(DISPATCHER)
        if network is not None:
            access = replace(access, server=replace(access.server, url=network.url))
        reach = reach or self.fleet.reach
        async with connect(
            access, name="west", clock=clock or self.fleet.clock, reach=reach
        ) as hub:
            await self.fleet.dispatch(hub, replace(Settings(), **changes), reach=reach)

    def network(self) -> Network:
        """Return a network to the hub that can be cut."""
        return self.fleet.network(self.fleet.planes["west"].url)
