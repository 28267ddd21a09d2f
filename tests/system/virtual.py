"""A localkube cluster in this process whose time passes as soon as nothing else is to be done."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from jobferry.kube.client import Client
from jobferry.kube.events import Recorder
from jobferry.kube.wire import Transport
from jobferry.localkube import in_process
from jobferry.localkube.controllers.informers import Informers
from jobferry.localkube.controllers.job.controller import DEFAULT_NAMES, controller
from jobferry.metrics import Registry
from jobferry.runtime import supervise
from jobferry.testing.clock import ManualClock

Wrap = Callable[[Transport], Transport]


@dataclass(frozen=True)
class Cluster:
    """A cluster of its own time."""

    server: in_process.Cluster
    clock: ManualClock

    def client(self, wrap: Wrap = lambda inner: inner) -> Client:
        """Return somebody who may do everything."""
        return Client(wrap(self.server.transport()), name="local", clock=self.clock)


@asynccontextmanager
async def cluster() -> AsyncIterator[Cluster]:
    """A cluster in which nobody runs anything."""
    clock = ManualClock()
    async with (
        in_process.in_process(clock) as server,
        supervise.tasks("virtual cluster", clock=clock) as tasks,
    ):
        tasks.start("time", clock.flow)
        yield Cluster(server, clock)


@asynccontextmanager
async def running_jobs(
    client: Client,
    *,
    names: frozenset[str | None] = DEFAULT_NAMES,
    registry: Registry | None = None,
) -> AsyncIterator[None]:
    """Run the Jobs of a cluster during the block."""
    recorder = Recorder(client, component="job-controller", instance="test")
    informers = Informers(client)
    jobs = controller(client, informers, recorder.record, names=names, registry=registry)
    async with client, supervise.tasks("jobs", clock=client.clock) as tasks:
        await informers.start(tasks)
        tasks.start("events", recorder.run)
        tasks.start("jobs", jobs.run)
        yield
