"""A fleet in virtual time: a hub, workers, dispatchers, and the people who use them."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from random import Random
from typing import Any

from jobferry.clock import Seconds, sleep, timeout
from jobferry.errors import Error
from jobferry.kube import errors
from jobferry.kube.access import Access, Fixed, Identity, Server
from jobferry.kube.calls import PatchKind
from jobferry.kube.client import Client, connect
from jobferry.kube.resources import JOBS, SECRETS
from jobferry.localkube.apiserver.storage.journal import Contents
from jobferry.objects import Obj
from jobferry.runtime.supervise import Supervisor
from jobferry.testing.simulation import prepared, webhooks
from jobferry.testing.simulation.clocks import SimulatedClock
from jobferry.testing.simulation.clusters import Follower, SimulatedCluster
from jobferry.testing.simulation.gates import ADMIN, PASS
from jobferry.testing.simulation.meddling import Meddling
from jobferry.testing.simulation.network import PEOPLE, Network, Process
from jobferry.testing.simulation.prepared import SYSTEM, WORKER
from jobferry.testing.simulation.record import Journal
from jobferry.testing.simulation.replicas import Replica
from jobferry.workers.resource import WORKERS

HELD = "example.com/held"
"""The finalizer of somebody who holds mirrors."""


class World:
    """All there is in a history."""

    def __init__(
        self,
        seed: int,
        *,
        workers: int,
        dispatchers: int,
        tasks: Supervisor,
        has_job_sets: bool = False,
    ) -> None:
        self.seed = str(seed)
        self._has_job_sets = has_job_sets
        self.clock = SimulatedClock()
        self.meddling = Meddling(self.clock)
        self.network = Network(self.seed, self.meddling)
        self.journal = Journal(self.clock)
        self.network.observers.append(self.journal.observe)
        self.people = Process(PEOPLE)
        self.workers = [f"w{number}" for number in range(1, workers + 1)]
        self.webhooks: dict[str, set[str]] = {name: set() for name in self.workers}
        """What the webhooks of each worker do."""

        self.followers: list[Follower] = []
        """Told of each change in a cluster, when it happens."""

        self.restored: dict[str, Seconds] = {}
        """When a cluster was last put back to an earlier state, or replaced."""

        self.tampered: set[tuple[str, str]] = set()
        """Jobs, by namespace and name, whose mirrors others have changed."""

        self.made: set[str] = set()
        """The UIDs of all Jobs that dispatchers have created on workers."""

        self.jumped: dict[str, bool] = {}
        """Clusters whose clocks were set to another time while they ran, and whether it was ever an earlier one."""

        self.misled = False
        """Whether the clock of a dispatcher was ever wrong."""

        self.guessed: set[str] = set()
        """The UIDs of Jobs that were ended by a dispatcher that cannot know how their mirrors had decided to end."""

        self.refusing: set[str] = set()
        """Workers that would not have a Job of dispatchers."""

        self.calm = asyncio.Event()
        """Set once nothing goes wrong any more."""

        self.calm_since: Seconds = 0.0

        self._tasks = tasks
        self._changing = {name: asyncio.Lock() for name in ("hub", *self.workers)}
        self._tokens = dict.fromkeys(self.workers, 0)
        self.clusters = {name: self._cluster(name) for name in ("hub", *self.workers)}
        self.replicas = {
            name: Replica(name, self.network, tasks, self.journal, self.seed)
            for name in (f"d{number}" for number in range(1, dispatchers + 1))
        }
        self._feel_meddling()

    def _feel_meddling(self) -> None:
        self.meddling.on_kill = lambda who: self.kill(who, 1.0)
        self.meddling.on_pause = self.pause
        self.meddling.on_hit = lambda trap, exchange: self.journal.say(
            f"! {trap.effect} {trap.phase} {exchange}"
        )

    def _cluster(self, name: str) -> SimulatedCluster:
        plugins = [webhooks.plugin(self.webhooks[name])] if name in self.webhooks else []
        cluster = SimulatedCluster(
            name,
            self.fresh(name),
            tasks=self._tasks,
            seed=self.seed,
            has_job_sets=self._has_job_sets,
            plugins=plugins,
            followers=self.followers,
        )
        self.network.add(cluster.gate)
        return cluster

    def fresh(self, name: str) -> Contents:
        """Return what a new cluster of that name holds."""
        return prepared.contents(name, with_job_sets=self._has_job_sets)

    # Beginning and end

    async def start(self) -> None:
        """Start everything, and tell the hub of its workers."""
        for cluster in self.clusters.values():
            await cluster.start()
        async with self.client("hub") as hub:
            for name in self.workers:
                await hub.create(SECRETS, secret(name, self.clusters[name].gate.url))
                await hub.create(WORKERS, worker(name))
        for replica in self.replicas.values():
            replica.start()

    async def stop(self) -> None:
        """Stop everything."""
        for replica in self.replicas.values():
            replica.kill()
        for cluster in self.clusters.values():
            await cluster.stop()
        await self.network.close()

    async def lasting(self, seconds: Seconds) -> None:
        """Wait for so long, or until nothing is to go wrong any more."""
        with suppress(TimeoutError):
            async with timeout(self.clock, seconds):
                await self.calm.wait()

    # People

    def client(self, name: str) -> Client:
        """Return somebody who may do everything in a cluster, to be used as a block."""
        who = Fixed(Identity(authorization=f"{PASS}{ADMIN}"))
        access = Access(server=Server(url=self.clusters[name].gate.url), credentials=who)
        return connect(
            access,
            name=name,
            clock=self.people.clock,
            reach=self.network.reach(self.people),
            random=Random(f"{self.seed} {name}"),  # noqa: S311 (the same each time)
        )

    async def insist(self, act: Callable[[], Awaitable[object]]) -> None:
        """Do something again and again until it is done: until the cluster is there, and takes it."""
        while True:
            try:
                await act()
            except (errors.NotFound, errors.AlreadyExists):
                return
            except Error:
                await sleep(self.clock, 1.0)
            else:
                return

    async def let_go(self, client: Client, namespace: str, name: str) -> None:
        """Take the finalizer off a mirror that somebody held."""
        patch = {"metadata": {"$deleteFromPrimitiveList/finalizers": [HELD]}}
        await self.insist(
            lambda: client.patch(
                JOBS, name, patch, namespace=namespace, kind=PatchKind.STRATEGIC
            )
        )

    async def renew(self, worker: str, *, is_good: bool = True) -> None:
        """Make the credentials for a worker worthless; give new ones, if they are to be good."""
        gate = self.clusters[worker].gate
        gate.revoked.add(f"{PASS}{self._token(worker)}")
        if is_good:
            self._tokens[worker] += 1
            async with self.client("hub") as hub:
                await self.insist(lambda: self._hand_over(hub, worker))

    async def _hand_over(self, hub: Client, worker: str) -> None:
        """Tell the hub the credentials of the moment: those of who began to insist may be revoked by now."""
        new = secret(worker, self.clusters[worker].gate.url, self._token(worker))
        await hub.patch(SECRETS, worker, {"data": new["data"]}, namespace=SYSTEM)

    def _token(self, worker: str) -> str:
        return f"{WORKER}#{self._tokens[worker]}" if self._tokens[worker] else WORKER

    # Dispatchers

    def kill(self, who: str, seconds: Seconds) -> None:
        """End a dispatcher, and start it again after a while."""
        replica = self.replicas[who]
        if replica.is_running:
            self.journal.say(f"! {who} is killed")
            replica.kill()
            self.clock.call_later(seconds, replica.start)

    def pause(self, who: str, seconds: Seconds) -> None:
        """Stop a dispatcher for a while."""
        process = self.replicas[who].process
        if process.is_awake:
            self.journal.say(f"! {who} is paused for {seconds:g} s")
            process.pause()
            self.clock.call_later(seconds, process.wake)

    # Clusters

    @asynccontextmanager
    async def changing(self, name: str) -> AsyncIterator[SimulatedCluster]:
        """Let nobody else stop or start a cluster during the block."""
        async with self._changing[name]:
            yield self.clusters[name]

    def skew(self, who: str, by: Seconds) -> None:
        """Set a clock wrong, that of a cluster or a dispatcher."""
        known, offset = self.clusters.get(who), timedelta(seconds=by)
        clock = known.clock if known else self.replicas[who].process.clock
        if known is None:
            self.misled |= bool(by)
        else:
            self.jumped[who] = self.jumped.get(who, False) or offset < clock.by
        clock.by = offset

    def note_restored(self, name: str) -> None:
        """Take note that a cluster is put back to an earlier state, or replaced."""
        self.journal.say(f"! {name} is put back")
        self.restored[name] = self.clock.monotonic()


def secret(name: str, url: str, token: str = WORKER) -> Obj:
    """Return the Secret that says how a worker is reached."""
    config = {
        "clusters": [{"name": name, "cluster": {"server": url}}],
        "users": [{"name": name, "user": {"token": f"sim:{token}"}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }
    encoded = base64.b64encode(json.dumps(config).encode()).decode()
    return {
        "metadata": {"name": name, "namespace": SYSTEM},
        "data": {"kubeconfig": encoded},
    }


def worker(name: str, **spec: Any) -> Obj:
    """Return a Worker."""
    where = {"secret": {"namespace": SYSTEM, "name": name}}
    return {
        "metadata": {"name": name, "labels": {"name": name}},
        "spec": {"kubeconfig": where, **spec},
    }
