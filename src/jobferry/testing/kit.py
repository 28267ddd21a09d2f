"""A fleet for a test: a hub, workers and a dispatcher in this process, whose time passes only while the test waits.

    with Fleet(workers=2) as fleet:
        fleet.hub.create(JOBS, job)
        fleet.run_until(lambda: fleet.workers[0].list(JOBS))
        fleet.freeze(fleet.workers[0])

Tests of it are plain functions: an hour takes moments, and the same happens each time. Docs: docs/testing.md.
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from datetime import datetime
from random import Random
from types import TracebackType
from typing import Any, Self, TypeVar

from jobferry.clock import Seconds, sleep
from jobferry.errors import BadInput, Error
from jobferry.kube import errors
from jobferry.kube.access import Access, Fixed, Identity, Server
from jobferry.kube.calls import Scope
from jobferry.kube.client import Client, connect
from jobferry.kube.resources import JOBS, PODS
from jobferry.objects import Obj
from jobferry.objects.resource import Resource
from jobferry.runtime import supervise
from jobferry.runtime.supervise import Child
from jobferry.settings import Settings
from jobferry.testing import picture
from jobferry.testing.mistakes import (
    answered,
    awaited,
    refuse_count,
    refuse_loop,
    refuse_resource,
    refuse_settings,
)
from jobferry.testing.simulation import prepared
from jobferry.testing.simulation.clocks import SimulatedClock
from jobferry.testing.simulation.clusters import SimulatedCluster
from jobferry.testing.simulation.gates import ADMIN, PASS
from jobferry.testing.simulation.loop import VirtualLoop
from jobferry.testing.simulation.network import Process
from jobferry.testing.simulation.replicas import Replica
from jobferry.testing.simulation.world import World

STEP: Seconds = 0.05
"""How often it is looked whether anything has changed."""

SELDOM: Seconds = 1.0
"""How often a condition is looked at though nothing has: it may be about anything."""

SETTINGS = Settings()

T = TypeVar("T")


class NotReached(Error, AssertionError):
    """What a test waited for did not come to be in time."""


class Cluster:
    """The hub or a worker, as somebody sees it who may do everything there."""

    def __init__(self, fleet: "Fleet", name: str) -> None:
        self.name = name
        self._fleet = fleet

    def __repr__(self) -> str:
        return f"<cluster {self.name}>"

    def create(self, resource: Resource, obj: Obj) -> Obj:
        """Create an object, in the namespace default unless it names one, and return it."""
        refuse_resource(resource)
        meta = obj.get("metadata") or {}
        if resource.namespaced and not meta.get("namespace"):
            obj = {**obj, "metadata": {**meta, "namespace": "default"}}
        return self.ask(lambda client: client.create(resource, obj))

    def get(self, resource: Resource, name: str, namespace: str = "default") -> Obj:
        """Return an object; raises `jobferry.kube.errors.NotFound`."""
        refuse_resource(resource)
        return self.ask(lambda client: client.get(resource, name, namespace))

    def list(self, resource: Resource, namespace: str = "", labels: str = "") -> list[Obj]:
        """Return the objects of a namespace, or of all, that have these labels."""
        refuse_resource(resource)
        scope = Scope(resource=resource, namespace=namespace or None, labels=labels)
        return self.ask(lambda client: client.list(scope)).items

    def patch(
        self,
        resource: Resource,
        name: str,
        patch: Obj,
        namespace: str = "default",
        *,
        subresource: str | None = None,
    ) -> Obj:
        """Apply a merge patch to an object, or to its status, and return it."""
        refuse_resource(resource)
        return self.ask(
            lambda client: client.patch(
                resource, name, patch, namespace=namespace, subresource=subresource
            )
        )

    def delete(self, resource: Resource, name: str, namespace: str = "default") -> None:
        """Delete an object and, after it, what it owns."""
        refuse_resource(resource)
        self.ask(
            lambda client: client.delete(resource, name, namespace, propagation="Background")
        )

    def ask(self, question: Callable[[Client], Coroutine[Any, Any, T]]) -> T:
        """Do anything else that a client can."""

        async def answer() -> T:
            async with self._fleet.client(self) as client:
                return await awaited(question, question(client))

        return self._fleet.run(answer())


class Controller:
    """Something of yours that runs beside the fleet."""

    def __init__(self, process: Process, child: Child) -> None:
        self._process = process
        self._child = child

    def kill(self) -> None:
        """End it as by SIGKILL: nothing that it still sends arrives."""
        self._process.is_cut = True
        self._child.ask_to_stop()


class Fleet:
    """A hub, workers and dispatchers; all that happens follows from `seed` and from what the test does."""

    def __init__(
        self,
        *,
        workers: int = 2,
        dispatchers: int = 1,
        seed: int = 0,
        settings: Settings = SETTINGS,
    ) -> None:
        refuse_count("workers", workers)
        refuse_count("dispatchers", dispatchers)
        refuse_settings(settings)
        self.hub = Cluster(self, "hub")
        self.workers: Sequence[Cluster] = ()
        self._size = workers, dispatchers
        self._seed = seed
        self._settings = settings
        self._failures: list[BaseException] = []

    def __enter__(self) -> Self:
        refuse_loop()
        prepared.contents("hub")  # it has a loop of its own, so before there is another
        self._runner = asyncio.Runner(loop_factory=VirtualLoop)
        self._over = asyncio.Event()
        self._life = self._runner.get_loop().create_task(self._live())
        self._clock = SimulatedClock()
        try:
            self._runner.run(self._begin())
        except BaseException:
            self._runner.close()
            raise
        self.workers = [Cluster(self, name) for name in self._world.workers]
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with self._runner:
            self._over.set()
            self._runner.run(_end(self._life))
        if error is None:
            self._check()

    # Time

    @property
    def now(self) -> datetime:
        """The time of day in the fleet."""
        return self.run(_now(self._clock))

    def run(self, main: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine to its end, while all else goes on; raises what became of your controllers."""
        refuse_loop(main)
        try:
            return self._runner.run(main)
        finally:
            self._check()

    def run_for(self, seconds: Seconds) -> None:
        """Let so much time pass."""
        self.run(sleep(self._clock, seconds))

    def run_until(self, condition: Callable[[], T], *, within: Seconds = 300.0) -> T:
        """Let time pass until a condition holds, and return what it gave; not found is not yet.

        Raises `NotReached`, an AssertionError, with what there is in the fleet, after so many seconds of its time.
        """
        until = self._time() + within
        while self._time() <= until:
            with suppress(errors.NotFound):
                if value := answered(condition()):
                    return value
            self.run(self._change())
        raise NotReached(f"not within {within:g} s. There is:\n{self.picture()}")

    def _time(self) -> Seconds:
        return self._runner.get_loop().time()

    async def _change(self) -> None:
        """Wait until something was written in some cluster, but not for long."""
        before = self._revisions()
        for _ in range(round(SELDOM / STEP)):
            await sleep(self._clock, STEP)
            if self._revisions() != before:
                return

    def _revisions(self) -> list[int]:
        servers = [cluster.server for cluster in self._world.clusters.values()]
        return [server.storage.revision if server else 0 for server in servers]

    # What goes wrong

    def freeze(self, cluster: Cluster) -> None:
        """Let a cluster hang: connections stay, and nothing is answered. What runs there runs on."""
        self._simulated(cluster).gate.freeze()

    def thaw(self, cluster: Cluster) -> None:
        """Let a frozen cluster answer again, also what it was asked before."""
        self._simulated(cluster).gate.thaw()

    def shut_down(self, cluster: Cluster) -> None:
        """Stop the API server of a cluster: connections are refused."""
        self.run(self._simulated(cluster).go_down())

    def bring_up(self, cluster: Cluster) -> None:
        """Start the API server of a cluster again."""
        self.run(self._simulated(cluster).come_up())

    def kill_dispatcher(self, number: int = 1) -> None:
        """End a dispatcher as by SIGKILL."""
        self._replica(number).kill()

    def start_dispatcher(self, number: int = 1) -> None:
        """Start a dispatcher again that was killed."""
        self.run(self._start(self._replica(number)))

    # Yours

    def client(self, cluster: Cluster, who: Process | None = None) -> Client:
        """Return a client of a cluster, to be used as a block within `run`, or in what `start` runs."""
        world, who = self._world, who or self._world.people
        identity = Fixed(Identity(authorization=f"{PASS}{ADMIN}"))
        url = self._simulated(cluster).gate.url
        return connect(
            Access(server=Server(url=url), credentials=identity),
            name=cluster.name,
            clock=who.clock,
            reach=world.network.reach(who),
            random=Random(f"{self._seed} {who.name} {cluster.name}"),  # noqa: S311 (the same each time)
        )

    def start(
        self,
        run: Callable[[Client], Coroutine[Any, Any, None]],
        *,
        on: Cluster | None = None,
        name: str = "controller",
    ) -> Controller:
        """Run a controller of yours beside the fleet, with a client of the hub or of another cluster.

        What it fails with is raised wherever the test next lets time pass.
        """
        process = Process(name)
        cluster = on or self.hub
        self._simulated(cluster)

        async def live() -> None:
            async with self.client(cluster, process) as client:
                await awaited(run, run(client))

        async def begin() -> Child:
            return self._tasks.start(name, live, on_failure=self._failures.append)

        return Controller(process, self.run(begin()))

    def picture(self) -> str:
        """Say which Jobs there are, and how far, and which Pods cannot run, in all clusters that answer."""
        names = [each for each in (self.hub, *self.workers) if self._is_open(each)]
        return "\n".join(line for cluster in names for line in _lines(cluster))

    def timeline(self) -> Sequence[str]:
        """Return what was written so far, by whom and when."""
        return self._world.journal.lines

    def _is_open(self, cluster: Cluster) -> bool:
        return self._simulated(cluster).gate.is_open

    def _simulated(self, cluster: Cluster) -> SimulatedCluster:
        if not isinstance(cluster, Cluster):
            raise BadInput(
                f"{cluster!r} is no cluster: give hub, worker or one of fleet.workers"
            )
        return self._world.clusters[cluster.name]

    def _replica(self, number: int) -> Replica:
        if (name := f"d{number}") not in self._world.replicas:
            there = len(self._world.replicas)
            raise BadInput(
                f"there is no dispatcher {number!r}: this fleet has {there}, from 1 on"
            )
        return self._world.replicas[name]

    def _check(self) -> None:
        """Raise what a controller failed with, or the fleet itself: whatever else went wrong follows from that."""
        if self._failures:
            raise self._failures.pop(0)
        if self._life.done():
            self._life.result()

    # Its life

    async def _begin(self) -> None:
        """Wait until the fleet is there, or what kept it from that is known."""
        self._ready = asyncio.Event()
        ready = asyncio.ensure_future(self._ready.wait())
        await asyncio.wait((ready, self._life), return_when=asyncio.FIRST_COMPLETED)
        ready.cancel()
        if self._life.done():
            self._life.result()

    async def _live(self) -> None:
        async with supervise.tasks("fleet", clock=self._clock) as self._tasks:
            workers, dispatchers = self._size
            self._world = World(
                self._seed, workers=workers, dispatchers=dispatchers, tasks=self._tasks
            )
            for replica in self._world.replicas.values():
                replica.settings = self._settings
            await self._world.start()
            self._ready.set()
            await self._over.wait()
        await self._world.network.close()

    async def _start(self, replica: Replica) -> None:
        replica.start()


async def _now(clock: SimulatedClock) -> datetime:
    return clock.now()


async def _end(task: "asyncio.Task[None]") -> None:
    await asyncio.wait((task,))


def _lines(cluster: Cluster) -> list[str]:
    """Describe the Jobs of a cluster, and the Pods that cannot run, a line each."""
    told = [
        *(picture.jobs(cluster.list(JOBS)) or ["no Job"]),
        *picture.pods_in_trouble(cluster.list(PODS)),
    ]
    return [f"  {cluster.name}: {line}" for line in told]
