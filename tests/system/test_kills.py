"""Dispatchers that are killed (SIGKILL) all the time: every Job still ends well, and nothing runs twice."""

import random
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from jobferry.clock import SystemClock, sleep
from jobferry.kube.calls import Scope
from jobferry.kube.client import Client
from jobferry.kube.informer import Informer
from jobferry.kube.items import Head
from jobferry.kube.resources import JOBS, LEASES, PODS
from jobferry.objects import Obj
from jobferry.runtime import supervise
from jobferry.settings import Settings
from tests.system.audit import answered, is_write
from tests.system.fleet import DISPATCHER, IS_REAL, SYSTEM, Fleet
from tests.system.jobs import FOREVER, complete, count, job
from tests.system.lab import Lab
from tests.system.replicas import Replicas
from tests.system.world import World, named, until, until_none

pytestmark = pytest.mark.fleet("processes")

CLOCK = SystemClock()
HUB = "west"

LED = 0.6
"""How often one is killed at work; else while it starts, most likely, or waits for the Lease."""

BLACKOUTS = 0.2
"""How often all are killed, not only the oldest."""


class Users:
    """Send Jobs, resume them and delete them, whether a dispatcher runs or not."""

    def __init__(self, world: World, chance: random.Random) -> None:
        self._world = world
        self._chance = chance
        self.wanted: Counter[str] = Counter()
        """How many pods are to succeed, by Job."""

        self.unwanted: Counter[str] = Counter()
        """How many more may have run until they were deleted, by Job."""

        self._suspended: list[str] = []
        self._endless: list[str] = []

    async def act(self, jobs: int) -> None:
        """Do a little of everything; after it, `jobs` were sent that are to complete."""
        await self.resume()
        await self.delete()
        while len(self.wanted) < jobs:
            await self.send(f"job-{len(self.wanted)}")

    async def resume(self) -> None:
        """Let all run that are suspended."""
        for name in self._suspended:
            await self._world.edit(name, {"spec": {"suspend": False}})
        self._suspended.clear()

    async def delete(self) -> None:
        """Delete all that would run for ever; under some of their names, send others."""
        for name in self._endless:
            await self._world.delete(name)
            if name in self.wanted:
                await self._world.submit(job(name, **self._brief()))
        self._endless.clear()

    async def send(self, name: str) -> None:
        """Send a Job that is to complete, if only after something else was done about it."""
        self.wanted[name] = 1
        match len(self.wanted) % 5:
            case 0:
                await self._world.submit(job(name, suspend=True, **self._brief()))
                self._suspended.append(name)
            case 1:
                await self._send_endless(name)
            case 2:
                self.wanted[name] = 3
                spec: dict[str, Any] = {"completions": 3, "completionMode": "Indexed"}
                await self._world.submit(job(name, parallelism=2, **spec, **self._brief()))
            case 3:
                await self._world.submit(job(name, **self._brief()))
                await self._send_endless(f"{name}-extra")
            case _:
                await self._world.submit(job(name, **self._brief()))

    async def _send_endless(self, name: str) -> None:
        await self._world.submit(job(name, seconds=FOREVER))
        self._endless.append(name)
        self.unwanted[name] = 1

    def _brief(self) -> dict[str, Any]:
        return {"seconds": self._chance.choice([0, 0, 1, 2])}


class Pods:
    """Sees every pod that is ever there, on any worker."""

    def __init__(self, world: World) -> None:
        self._clusters = world.workers.values()
        self._scope = Scope(resource=PODS, namespace=world.namespace)
        self._informers = [Informer(each, self._scope, Head) for each in self._clusters]
        for informer in self._informers:
            informer.listen(lambda change: self._see(change.item.object()))
        self._last: dict[str, tuple[str, str]] = {}

    async def follow(self, tasks: supervise.Supervisor) -> None:
        """Begin to look."""
        for informer in self._informers:
            tasks.start("pods", informer.run)
            await informer.synced.wait()

    async def catch_up(self) -> None:
        """Make sure that none is missed of those that are there."""
        for client in self._clusters:
            for pod in (await client.list(self._scope)).items:
                self._see(pod)

    def seen(self) -> Counter[str]:
        """Count the pods that there were, by Job."""
        return Counter(name for name, _ in self._last.values())

    def succeeded(self) -> Counter[str]:
        """Count the pods that ended well, by Job."""
        return Counter(name for name, phase in self._last.values() if phase == "Succeeded")

    def _see(self, pod: Obj) -> None:
        name = pod["metadata"]["labels"]["batch.kubernetes.io/job-name"]
        self._last[pod["metadata"]["uid"]] = name, pod["status"]["phase"]


async def ordeal(lab: Lab, replicas: Replicas, kills: int, jobs: int) -> Users:
    """Kill dispatchers while Jobs come in."""
    chance = random.Random(kills)
    users = Users(lab.world, chance)
    for number in range(1, kills + 1):
        replicas.scale(2)
        if chance.random() < LED:
            await somebody_leads(lab.world.hub)
        await sleep(CLOCK, chance.uniform(0, 0.5))
        await users.act(jobs * number // kills)
        await sleep(CLOCK, chance.uniform(0, 0.1))  # it is in the midst of what users did
        if chance.random() < BLACKOUTS:
            replicas.kill(2)
            await users.act(jobs * number // kills)
        else:
            replicas.kill()
    replicas.scale(1)
    await users.act(jobs)
    return users


async def somebody_leads(hub: Client) -> None:
    """Wait until the Lease is taken or renewed."""
    scope = named(LEASES, Settings().lease_name, SYSTEM)
    before = renewals((await hub.list(scope)).items)
    await until(hub, scope, lambda leases: renewals(leases) not in ([], before))


def renewals(leases: list[Obj]) -> list[str]:
    """Return when the Lease was last renewed, if there is one and somebody holds it."""
    return [each["spec"]["renewTime"] for each in leases if each["spec"]["holderIdentity"]]


@pytest.mark.parametrize(
    ("kills", "jobs"),
    [
        pytest.param(*((20, 40) if IS_REAL else (6, 12)), marks=pytest.mark.timeout(120)),
        pytest.param(200, 300, marks=[pytest.mark.soak, pytest.mark.timeout(3600)]),
    ],
)
async def test_jobs_complete_exactly_once_though_dispatchers_are_killed_all_the_time(
    fleet: Fleet, lab: Lab, tmp_path: Path, kills: int, jobs: int
) -> None:
    world = lab.world
    scope = Scope(resource=JOBS, namespace=world.namespace)
    pods = Pods(world)
    fleet.races.add(world.namespace)
    await lab.add_workers()
    async with AsyncExitStack() as stack:
        kubeconfig = fleet.planes[HUB].kubeconfig(DISPATCHER)
        replicas = stack.enter_context(Replicas(kubeconfig, tmp_path))
        tasks = await stack.enter_async_context(supervise.tasks("pods", clock=CLOCK))
        await pods.follow(tasks)

        users = await ordeal(lab, replicas, kills, jobs)

        done = await until(world.hub, scope, lambda found: all(map(complete, found)))
        assert {
            each["metadata"]["name"]: count(each, "succeeded") for each in done
        } == users.wanted
        await pods.catch_up()
        assert pods.succeeded() == users.wanted
        assert pods.seen() <= users.wanted + users.unwanted

        replicas.kill()
        await world.hub.delete_collection(scope, propagation="Background")
        replicas.scale(1)
        for worker in world.workers.values():
            await until_none(worker, scope)
    writes = [
        entry
        for entry in fleet.audited(HUB, DISPATCHER)
        if is_write(entry, "jobs") and entry["objectRef"].get("namespace") == world.namespace
    ]
    assert not answered(writes, 422)
