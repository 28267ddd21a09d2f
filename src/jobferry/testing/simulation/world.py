"""A fleet in virtual time: a hub, workers, dispatchers, and the people who use them."""

import base64
import json
from random import Random
from typing import Any

from jobferry.kube.access import Access, Fixed, Identity, Server
from jobferry.kube.client import Client, connect
from jobferry.kube.resources import SECRETS
from jobferry.objects import Obj
from jobferry.runtime.supervise import Supervisor
from jobferry.testing.simulation import prepared
from jobferry.testing.simulation.clocks import SimulatedClock
from jobferry.testing.simulation.clusters import SimulatedCluster
from jobferry.testing.simulation.meddling import Meddling
from jobferry.testing.simulation.network import ADMIN, PASS, Network, Process
from jobferry.testing.simulation.prepared import SYSTEM, WORKER
from jobferry.testing.simulation.record import Journal
from jobferry.testing.simulation.replicas import Replica
from jobferry.workers.resource import WORKERS


class World:
    """All there is in a history."""

    def __init__(self, seed: int, *, workers: int, dispatchers: int, tasks: Supervisor) -> None:
        self.seed = str(seed)
        self.clock = SimulatedClock()
        self.tasks = tasks
        self.meddling = Meddling()
        self.network = Network(self.seed, self.meddling)
        self.journal = Journal(self.clock)
        self.network.observers.append(self.journal.observe)
        self.workers = [f"w{number}" for number in range(1, workers + 1)]
        self.clusters: dict[str, SimulatedCluster] = {}
        for name in ("hub", *self.workers):
            self.clusters[name] = SimulatedCluster(
                name, prepared.contents(name), tasks=tasks, seed=self.seed
            )
            self.network.add(self.clusters[name].gate)
        self.replicas = [
            Replica(f"d{number}", self.network, tasks, self.journal, self.seed)
            for number in range(1, dispatchers + 1)
        ]
        self.people = Process("user")

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

    async def start(self) -> None:
        """Start everything, and tell the hub of its workers."""
        for cluster in self.clusters.values():
            await cluster.start()
        async with self.client("hub") as hub:
            for name in self.workers:
                await hub.create(SECRETS, secret(name, self.clusters[name].gate.url))
                await hub.create(WORKERS, worker(name))
        for replica in self.replicas:
            replica.start()


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
