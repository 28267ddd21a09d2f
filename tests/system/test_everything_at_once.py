"""All that goes wrong, at once: dispatchers that are killed, a frozen worker, a drained one, and tenants who write nonsense."""

import random
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from jobferry.clock import SystemClock, sleep
from jobferry.core import placement
from jobferry.core.marks import ATTEMPT, HUB_UID
from jobferry.dispatch.queues import QUEUES
from jobferry.kube.calls import Scope
from jobferry.kube.informer import Informer
from jobferry.kube.items import Head
from jobferry.kube.resources import JOBS, NAMESPACES, PODS
from jobferry.objects import Obj
from jobferry.runtime import supervise
from jobferry.testing.control_plane import JOB_CONTROLLERS, ControlPlane
from jobferry.testing.fake_kubelet import fake_kubelet
from tests.system.audit import answered, is_write
from tests.system.fleet import DISPATCHER, HUB_VERSION, WORKER, Fleet, add_worker, prepare
from tests.system.jobs import Holds, complete, count, job, runs
from tests.system.lab import Lab
from tests.system.replicas import Replicas
from tests.system.test_kills import HUB, Pods, Users, somebody_leads
from tests.system.test_nonsense import BAD, forged, greedy
from tests.system.world import World, until, until_none

# More than a minute, most of it waiting: too long for `make test` on a machine without real clusters.
pytestmark = [pytest.mark.kube, pytest.mark.fleet("processes")]

CLOCK = SystemClock()
FROZEN, DRAINED, CALM = "extra", "north", "south"

MOVE_AFTER = 11
"""Seconds until work moves away from a lost worker."""

IDLE_FOR = 5
"""Seconds during which nothing may be asked or written once there is nothing to do."""

CAPACITY = {"cpu": "1000"}
"""Of every worker: without, there would be room for whatever anybody asks for."""


class Nonsense:
    """Tenants who write what makes no sense, beside the users and about their Jobs."""

    def __init__(self, world: World, users: Users, chance: random.Random) -> None:
        self._world = world
        self._users = users
        self._chance = chance
        self._turn = 0
        self._ambiguous: list[str] = []
        self._bad: list[str] = []
        self.hopeless: list[str] = []
        """Jobs that nobody can run."""

    async def act(self) -> None:
        """Write a little of everything."""
        self._turn += 1
        await self._end_ambiguity()
        if self._turn % 2:
            self._ambiguous.append(await self._queue("other", namespaces=[self._space]))
        await self._send_forged()
        await self._send_hopeless()
        queue = await self._queue("bad", workers={"selector": BAD})
        self._bad.append(queue)
        await self._send(job(f"misled-{self._turn}", queue=queue))
        await self._tamper()

    async def relent(self) -> None:
        """Mend what can be mended, and take back the rest."""
        await self._end_ambiguity()
        for queue in self._bad:
            await self._world.hub.patch(
                QUEUES, queue, {"spec": {"workers": {"selector": None}}}
            )
        for name in self.hopeless:
            await self._world.delete(name)

    @property
    def _space(self) -> str:
        return self._world.namespace

    async def _queue(self, name: str, **spec: Any) -> str:
        return await self._world.queue(f"{name}-{self._turn}", **spec)

    async def _send(self, made: Obj) -> None:
        self._users.wanted[made["metadata"]["name"]] = 1
        await self._world.submit(made)

    async def _send_forged(self) -> None:
        """Say of Jobs that they were placed."""
        for worker in (FROZEN, DRAINED, CALM):
            await self._send(forged(job(f"forged-{self._turn}-{worker}"), worker))

    async def _send_hopeless(self) -> None:
        """Ask for more than there is, and for queues that there are not."""
        most, nowhere = f"greedy-{self._turn}", f"nowhere-{self._turn}"
        await self._world.submit(forged(greedy(most, cpu="1e1500"), CALM))
        await self._world.submit(job(nowhere, queue="no-such-queue"))
        self.hopeless += [most, nowhere]

    async def _tamper(self) -> None:
        """Take the record off some Jobs, and write something else on others."""
        jobs = (await self._world.hub.list(Scope(resource=JOBS, namespace=self._space))).items
        for each in self._chance.sample(jobs, len(jobs) // 4):
            lie = forged(job("lie"), CALM)["metadata"]["annotations"][placement.ANNOTATION]
            note = self._chance.choice([None, "nonsense", lie])
            patch = {"metadata": {"annotations": {placement.ANNOTATION: note}}}
            await self._world.edit(each["metadata"]["name"], patch)

    async def _end_ambiguity(self) -> None:
        for queue in self._ambiguous:
            await self._world.hub.delete(QUEUES, queue)
        self._ambiguous.clear()


class Records:
    """Sees every placement and every mirror that is ever there."""

    def __init__(self, world: World) -> None:
        scope = Scope(resource=JOBS, namespace=world.namespace)
        self._informers = [
            Informer(each, scope, Head) for each in (world.hub, *world.workers.values())
        ]
        hub, *workers = self._informers
        hub.listen(lambda change: self._see_job(change.item.object()))
        for informer in workers:
            informer.listen(lambda change: self._see_mirror(change.item.object()))
        self.workers: dict[str, set[str]] = defaultdict(set)
        """Where a Job was placed, by name."""

        self.attempts: dict[str, int] = {}
        """By the UID of a Job."""

        self.mirrors: dict[tuple[str, str], set[str]] = defaultdict(set)
        """By the UID of a Job and its attempt."""

    async def follow(self, tasks: supervise.Supervisor) -> None:
        """Begin to look."""
        for informer in self._informers:
            tasks.start("jobs", informer.run)
            await informer.synced.wait()

    def _see_job(self, obj: Obj) -> None:
        known = placement.vouched(obj)
        if known is not None:
            self.workers[obj["metadata"]["name"]].add(known.shards[0].worker)
            self.attempts[known.uid] = known.attempt

    def _see_mirror(self, obj: Obj) -> None:
        labels, uid = obj["metadata"]["labels"], obj["metadata"]["uid"]
        self.mirrors[labels[HUB_UID], labels[ATTEMPT]].add(uid)


class Ordeal:
    """Lets everything go wrong while Jobs come in."""

    def __init__(
        self, lab: Lab, world: World, plane: ControlPlane, replicas: Replicas, kills: int
    ) -> None:
        self._lab = lab
        self._world = world
        self._plane = plane
        self._replicas = replicas
        self._kills = kills
        self._chance = random.Random(kills)
        self.users = Users(world, self._chance)
        self.nonsense = Nonsense(world, self.users, self._chance)

    async def run(self, jobs: int) -> None:
        """Kill dispatchers all the time; meanwhile freeze one worker, and drain another."""
        kills = self._kills
        for number in range(1, kills + 1):
            self._replicas.scale(2)
            await somebody_leads(self._world.hub)
            if number == kills // 3:
                await self._send_to(FROZEN, seconds=2 * MOVE_AFTER)
                self._plane.freeze()
            if number == 2 * kills // 3:
                await self._send_to(DRAINED, seconds=MOVE_AFTER)
                await self._lab.edit_worker(DRAINED, drain="MoveAway")
            await self.users.act(jobs * number // kills)
            await self.nonsense.act()
            await sleep(CLOCK, self._chance.uniform(0, 0.5))  # in the midst of it
            self._replicas.kill()
        self._replicas.scale(2)
        await self.users.act(jobs)
        await self.nonsense.relent()

    async def _send_to(self, worker: str, *, seconds: float) -> None:
        """Have some Jobs run on a worker."""
        order = {"placement": "Ordered", "workers": {"order": [worker, CALM]}}
        lost = {"action": "Move", "afterSeconds": MOVE_AFTER}
        queue = await self._world.queue(worker, **order, onWorkerLost=lost)
        names = [f"on-{worker}-{number}" for number in range(3)]
        for name in names:
            self.users.wanted[name] = 1
            await self._world.submit(job(name, queue=queue, seconds=seconds))
        for name in names:
            await self._world.on(worker, name, runs(1))


@asynccontextmanager
async def third_worker(lab: Lab, plane: ControlPlane) -> AsyncIterator[World]:
    """Add a worker that can be frozen; yield the world with it."""
    async with lab.connect(plane) as extra, fake_kubelet(extra, bind=True):
        await prepare(extra)
        await extra.create(NAMESPACES, {"metadata": {"name": lab.world.namespace}})
        kubeconfig = plane.kubeconfig(WORKER)
        await add_worker(lab.world.hub, FROZEN, kubeconfig, capacity=CAPACITY)
        yield replace(lab.world, workers={**lab.world.workers, FROZEN: extra})


@pytest.mark.parametrize(
    ("kills", "jobs"),
    [
        pytest.param(6, 60, marks=pytest.mark.timeout(150)),
        pytest.param(15, 200, marks=[pytest.mark.soak, pytest.mark.timeout(900)]),
    ],
)
async def test_all_jobs_end_once_and_nothing_is_left(
    fleet: Fleet, lab: Lab, tmp_path: Path, kills: int, jobs: int
) -> None:
    fleet.races.add(lab.world.namespace)
    await lab.add_workers(capacity=CAPACITY)
    plane = ControlPlane(version=HUB_VERSION, controllers=JOB_CONTROLLERS, audit=True)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(plane)
        world = await stack.enter_async_context(third_worker(lab, plane))
        scope = Scope(resource=JOBS, namespace=world.namespace)
        lost = {"action": "Move", "afterSeconds": MOVE_AFTER}
        await world.queue("ours", namespaces=[world.namespace], onWorkerLost=lost)
        tasks = await stack.enter_async_context(supervise.tasks("watching", clock=CLOCK))
        pods, records = Pods(world), Records(world)
        await pods.follow(tasks)
        await records.follow(tasks)
        kubeconfig = fleet.planes[HUB].kubeconfig(DISPATCHER)
        replicas = stack.enter_context(Replicas(kubeconfig, tmp_path))

        ordeal = Ordeal(lab, world, plane, replicas, kills)
        await ordeal.run(jobs)

        users = ordeal.users
        done = await until(world.hub, scope, lambda found: all(map(complete, found)))
        assert {
            each["metadata"]["name"]: count(each, "succeeded") for each in done
        } == users.wanted

        plane.thaw()
        await lab.edit_worker(DRAINED, drain="None")
        for worker in world.workers:
            await lab.worker(worker)
        await current_only(world, done)
        await pods.catch_up()
        ran_once(users, pods, records)
        await is_silent(fleet, plane)

        replicas.kill()
        await world.hub.delete_collection(scope, propagation="Background")
        replicas.scale(1)
        for client in world.workers.values():
            await until_none(client, scope)
            await until_none(client, replace(scope, resource=PODS))
        made_as_recorded(creations(fleet, plane, world.namespace), records)
    writes = [each for each in fleet.audited(HUB, DISPATCHER) if is_write(each, "jobs")]
    assert not answered(writes, 422)


async def current_only(world: World, done: Iterable[Obj]) -> None:
    """Wait until no worker has a mirror but that of the attempt which counts."""
    records = [placement.vouched(each) for each in done]
    places = {
        (known.uid, str(known.attempt), known.shards[0].worker) for known in records if known
    }
    for worker, client in world.workers.items():

        def is_current(mirror: Obj, worker: str = worker) -> bool:
            labels = mirror["metadata"]["labels"]
            return (labels[HUB_UID], labels[ATTEMPT], worker) in places

        def are_current(mirrors: list[Obj], is_current: Holds = is_current) -> bool:
            return all(map(is_current, mirrors))

        await until(client, Scope(resource=JOBS, namespace=world.namespace), are_current)


def ran_once(users: Users, pods: Pods, records: Records) -> None:
    """Check that nothing ran twice but what was on the frozen worker, and nothing moved without need."""
    succeeded = pods.succeeded()
    suspects = {name for name, workers in records.workers.items() if FROZEN in workers}
    for name, number in users.wanted.items():
        assert succeeded[name] == number or (name in suspects and succeeded[name] > number), (
            name
        )
    movers = {DRAINED, FROZEN}
    for name, workers in records.workers.items():
        assert len(workers) == 1 or workers & movers, name
    for worker in movers:
        assert all(
            len(records.workers[name]) > 1 for name in records.workers if f"on-{worker}" in name
        )
    doubles = {each: made for each, made in records.mirrors.items() if len(made) > 1}
    assert not doubles


def creations(fleet: Fleet, plane: ControlPlane, namespace: str) -> int:
    """Count the mirrors that were ever made, by the audit logs of the workers."""
    return sum(
        entry["verb"] == "create"
        and entry["user"].get("username") == WORKER
        and is_write(entry, "jobs")
        and entry["objectRef"].get("namespace") == namespace
        and entry["responseStatus"]["code"] == 201
        for entry in requests(fleet, plane)
    )


def made_as_recorded(made: int, records: Records) -> None:
    """Check that no mirror was made that nobody saw, or without a record."""
    # Whoever is killed hears of no answer, and the audit log may know none.
    assert made <= sum(len(uids) for uids in records.mirrors.values())
    for uid, attempt in records.mirrors:
        assert int(attempt) <= records.attempts[uid]


def requests(fleet: Fleet, plane: ControlPlane) -> list[Obj]:
    """Return what all clusters were asked so far."""
    logs = [*map(fleet.audit_log, fleet.planes), plane.audit_log.read_bytes()]
    return [orjson.loads(line) for log in logs for line in log.splitlines()]


async def is_silent(fleet: Fleet, plane: ControlPlane) -> None:
    """Check that dispatchers who have nothing to do ask nothing of Jobs, and say nothing."""

    def said() -> list[Obj]:
        return [
            entry
            for entry in requests(fleet, plane)
            if entry["user"].get("username") in {DISPATCHER, WORKER}
            and entry.get("objectRef", {}).get("resource") in {"jobs", "events"}
            and entry["verb"] not in {"watch", "list"}
        ]

    before = said()
    await sleep(CLOCK, IDLE_FOR)
    assert [each for each in said() if each not in before] == []
