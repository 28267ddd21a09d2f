"""The clusters of a simulation: localkube without sockets or disk, with controllers and simulated pods."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from random import Random

from jobferry.kube.access import Fixed, Identity
from jobferry.kube.client import Client
from jobferry.localkube.apiserver.admission.plugin import Plugin
from jobferry.localkube.apiserver.storage.entry import Change
from jobferry.localkube.apiserver.storage.following import follow
from jobferry.localkube.apiserver.storage.journal import Contents
from jobferry.localkube.controllers import manager
from jobferry.localkube.in_process import Cluster, in_process
from jobferry.localkube.runner.simulated import simulating
from jobferry.runtime.supervise import Supervisor
from jobferry.testing.simulation import job_sets
from jobferry.testing.simulation.clocks import SimulatedClock
from jobferry.testing.simulation.gates import ADMIN, PASS, Gate, Inside
from jobferry.testing.simulation.job_set_operator import operating
from jobferry.testing.simulation.service import Service

UNWANTED = ("nodes", "evictions", "cron-jobs", "accounts")
"""Controllers that have nothing to do here."""

Follower = Callable[["SimulatedCluster", Change], None]
"""Told of each change in a cluster when it happens, before anybody else."""

FOLLOWED = (
    "/registry/batch/jobs/",
    f"/custom/{job_sets.RESOURCE.group}/{job_sets.RESOURCE.plural}/",
    "/registry/core/pods/",
    "/custom/jobferry.io/workers/",
    "/custom/jobferry.io/queues/",
    "/custom/jobferry.io/placements/",
)


class SimulatedCluster:
    """A cluster whose API server can be stopped and started again, also from what it held earlier."""

    def __init__(
        self,
        name: str,
        contents: Contents,
        *,
        tasks: Supervisor,
        seed: str,
        has_job_sets: bool = False,
        plugins: Sequence[Plugin] = (),
        followers: Sequence[Follower] = (),
    ) -> None:
        self.name = name
        self.clock = SimulatedClock()
        self.gate = Gate(name)
        self.server: Cluster | None = None
        """The API server, while there is one."""

        self._contents = contents
        self._random = Random(f"{seed} {name}")  # noqa: S311 (the same numbers each time)
        self._has_job_sets = has_job_sets
        self._plugins = plugins
        self._followers = followers
        self._serving = Service(tasks, f"{name}: API server", self._serve)
        self._living = Service(tasks, f"{name}: controllers", self._live)

    async def start(self) -> None:
        """Start its API server, and whoever lives in the cluster."""
        await self._serving.start()
        await self._living.start()

    async def stop(self) -> None:
        """Stop all of it."""
        await self._living.stop()
        await self._serving.stop()

    async def go_down(self) -> None:
        """Stop its API server; what it holds stays."""
        if self.server is not None:
            self.gate.shut()
            self._contents = await self.server.storage.snapshot()
            await self._serving.stop()

    async def come_up(self) -> None:
        """Start its API server again; controllers find it by themselves."""
        if self.server is None:
            await self._serving.start()

    async def snapshot(self) -> Contents:
        """Return what it holds."""
        return self._contents if self.server is None else await self.server.storage.snapshot()

    async def restore(self, contents: Contents) -> None:
        """Start it anew from what it, or another cluster, held."""
        self.gate.shut()
        await self.stop()
        self._contents = contents
        await self.start()

    def client(self) -> Client:
        """Return somebody within the cluster who may do everything."""
        return Client(
            Inside(self.gate, self.clock),
            name=self.name,
            clock=self.clock,
            credentials=Fixed(Identity(authorization=f"{PASS}{ADMIN}")),
            random=Random(self._random.getrandbits(64)),  # noqa: S311 (as above)
        )

    @asynccontextmanager
    async def _serve(self) -> AsyncIterator[None]:
        async with in_process(
            self.clock,
            name=self.name,
            random=self._random,
            contents=self._contents,
            without_plugins={"ServiceAccount"},
            plugins=self._plugins,
        ) as server:
            with ExitStack() as stack:
                for prefix in FOLLOWED:
                    stack.enter_context(follow(server.storage, prefix, self._tell))
                self.server = server
                self.gate.open(server.app)
                try:
                    yield
                finally:
                    self.gate.shut()
                    self.server = None

    def _tell(self, change: Change) -> None:
        for follower in self._followers:
            follower(self, change)

    @asynccontextmanager
    async def _live(self) -> AsyncIterator[None]:
        is_hub = self.name == "hub"
        without = (*UNWANTED, "scheduler") if is_hub else UNWANTED
        async with AsyncExitStack() as stack:
            client = await stack.enter_async_context(self.client())
            managed = await stack.enter_async_context(manager.running(client, without=without))
            if not is_hub:
                await stack.enter_async_context(simulating(client, ["node"]))
            if self._has_job_sets and not is_hub:
                await stack.enter_async_context(operating(client, managed.informers.jobs))
            yield
