"""Workloads that are no Jobs, over a fleet.

No operator runs here: what one would write on a worker is played.
"""

from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pytest

from jobferry.core.marks import ATTEMPT
from jobferry.core.placement_object import RESOURCE as PLACEMENTS
from jobferry.kinds.adapter import Adapter
from jobferry.kinds.custom import CustomKind
from jobferry.kinds.table import Row
from jobferry.kube import errors
from jobferry.kube.client import Client
from jobferry.objects import Obj, merge_patch
from tests.system.jobs import NORTH_FIRST, SOON, Holds, is_there, ready
from tests.system.kinds import define, rights, undefine
from tests.system.lab import Lab
from tests.system.world import named, until_none, until_one
from tests.workloads.examples import ADAPTERS, CUSTOM, DECLARED, EXAMPLES
from tests.workloads.lives import ENDS, LIVES, condition

pytestmark = [pytest.mark.fleet, pytest.mark.timeout(120)]

JOB_SET, PIPELINE_RUN = "JobSet.jobset.x-k8s.io", "PipelineRun.tekton.dev"
SIMULATION = "Simulation.example.com"
KINDS = (JOB_SET, PIPELINE_RUN)
HOLD = "example.com/tidy"

DELETED_FAILS: dict[str, Any] = {**NORTH_FIRST, "onMirrorDeleted": "Fail"}


@dataclass(frozen=True)
class Stage:
    """A workload of one kind, on the hub and on workers."""

    lab: Lab
    kind: Adapter
    name: str = "a"

    async def submit(self, queue: str) -> Obj:
        """Create the example of the kind on the hub."""
        labels = {"jobferry.io/queue": queue}
        body = {**EXAMPLES[self.kind.name], "metadata": {"name": self.name, "labels": labels}}
        world = self.lab.world
        return await world.hub.create(self.kind.resource, body, namespace=world.namespace)

    async def hub(self, is_as_wanted: Holds = is_there) -> Obj:
        """Wait until the workload is as wanted."""
        return await self._until(self.lab.world.hub, is_as_wanted)

    async def on(self, worker: str, is_as_wanted: Holds = is_there) -> Obj:
        """Wait until the mirror on a worker is as wanted."""
        return await self._until(self.lab.world.workers[worker], is_as_wanted)

    async def gone(self, worker: str) -> None:
        """Wait until a worker has no mirror."""
        await until_none(self.lab.world.workers[worker], self._scope)

    async def play(self, worker: str, status: Obj) -> None:
        """Write a status of the mirror, as an operator would, and wait until the hub shows it."""
        before = (await self.on(worker)).get("status") or {}
        change = merge_patch.create(before, status)
        mirror = await self._patch(worker, {"status": change}, subresource="status")
        now = self.lab.fleet.clock.now()
        await self.hub(lambda obj: self.kind.report(obj, mirror, "", now) is None)

    async def suspend(self, value: bool) -> None:
        """Suspend or resume the workload, as its user does."""
        patch: Any = value
        for step in reversed(row(self.kind).suspend or ()):
            patch = {step: patch}
        world = self.lab.world
        await world.hub.patch(self.kind.resource, self.name, patch, namespace=world.namespace)

    async def hold(self, worker: str, *, by: str | None) -> None:
        """Have a finalizer hold the mirror, or none."""
        await self._patch(worker, {"metadata": {"finalizers": [by] if by else None}})

    async def record(self, uid: str, is_as_wanted: Holds = is_there) -> Obj:
        """Wait until the record of the workload is as wanted."""
        world = self.lab.world
        return await until_one(world.hub, named(PLACEMENTS, uid, world.namespace), is_as_wanted)

    async def delete(self) -> None:
        """Delete the workload on the hub."""
        world = self.lab.world
        await world.hub.delete(
            self.kind.resource, self.name, world.namespace, propagation="Background"
        )

    @property
    def _scope(self) -> Any:
        return named(self.kind.resource, self.name, self.lab.world.namespace)

    async def _until(self, client: Client, is_as_wanted: Holds) -> Obj:
        return await until_one(client, self._scope, is_as_wanted)

    async def _patch(self, worker: str, patch: Obj, subresource: str | None = None) -> Obj:
        world = self.lab.world
        return await world.workers[worker].patch(
            self.kind.resource,
            self.name,
            patch,
            namespace=world.namespace,
            subresource=subresource,
        )


@pytest.fixture
async def lab(lab: Lab) -> AsyncIterator[Lab]:
    """One whose dispatchers have the rights that all kinds need."""
    async with rights(lab, *CUSTOM):
        yield lab
        for name in CUSTOM:
            await clear(lab, ADAPTERS[name])
        for client in (lab.world.hub, *lab.world.workers.values()):
            await undefine(client, *CUSTOM)


async def serve(lab: Lab, name: str) -> Stage:
    """Have all clusters serve a kind, and both workers."""
    for client in (lab.world.hub, *lab.world.workers.values()):
        await define(client, name)
    await lab.add_workers()
    return Stage(lab, ADAPTERS[name])


async def clear(lab: Lab, kind: Adapter) -> None:
    """Delete what a test left of a kind."""
    for client in (lab.world.hub, *lab.world.workers.values()):
        with suppress(errors.NotFound):
            found = await client.list(named(kind.resource, "a", lab.world.namespace))
            for obj in found.items:
                free = {"metadata": {"finalizers": None}}
                await client.patch(kind.resource, "a", free, namespace=lab.world.namespace)
                with suppress(errors.NotFound):
                    await client.delete(kind.resource, "a", obj["metadata"]["namespace"])


def is_attempt(number: int) -> Holds:
    """Hold for the mirror, or the record, of an attempt."""

    def of(obj: Obj) -> bool:
        marked = obj["metadata"].get("labels", {}).get(ATTEMPT)
        return number == int(marked or obj.get("spec", {}).get("attempt", 0))

    return of


def is_going(obj: Obj) -> bool:
    """Hold for what was deleted and is held."""
    return "deletionTimestamp" in obj["metadata"]


def row(kind: Adapter) -> Row:
    """Return the row of a kind that is one."""
    assert isinstance(kind, CustomKind)
    return kind.row


def stopped(kind: Adapter) -> Obj:
    """Return the status of a mirror that has stopped."""
    said = row(kind).suspended
    assert said is not None
    if said.member:
        return {said.member[-1]: said.values[0]}
    return {"conditions": [condition(said.condition)]}


@pytest.mark.parametrize("name", CUSTOM)
async def test_a_workload_of_any_kind_runs_moves_and_ends(lab: Lab, name: str) -> None:
    stage, kind = await serve(lab, name), ADAPTERS[name]
    queue = await lab.world.queue("north-first", **NORTH_FIRST)
    _, running, *_ = LIVES[name]
    settings = {"kinds": (name,), "custom_kinds": tuple(DECLARED), "claim_multikueue": True}
    async with lab.dispatcher(**settings):
        uid = (await stage.submit(queue))["metadata"]["uid"]
        record = await stage.record(uid)
        assert [each["worker"] for each in record["spec"]["shards"]] == ["north"]
        mirror = await stage.on("north")
        assert kind.managed_by(mirror) in ("", kind.own_controller)
        await stage.play("north", running)
        if row(kind).suspend:
            await stage.suspend(True)
            await stage.on("north", kind.is_suspended)
            await stage.play("north", stopped(kind))
            await stage.suspend(False)
            await stage.on("north", lambda obj: not kind.is_suspended(obj))
            await stage.play("north", running)

        await lab.edit_worker("north", drain="MoveAway")
        if row(kind).suspend:
            await stage.on("north", kind.is_suspended)
            await stage.play("north", stopped(kind))
        await stage.on("south", is_attempt(2))
        await stage.gone("north")
        for status in LIVES[name]:
            await stage.play("south", status)
        assert kind.finish(await stage.hub()) == ENDS[name]

        await stage.delete()
        await stage.gone("south")
        await until_none(lab.world.hub, named(PLACEMENTS, uid, lab.world.namespace))


async def test_one_that_can_be_stopped_leaves_a_drained_worker_without_overlap(
    lab: Lab,
) -> None:
    stage = await serve(lab, JOB_SET)
    queue = await lab.world.queue("north-first", **NORTH_FIRST)
    async with lab.dispatcher():
        uid = (await stage.submit(queue))["metadata"]["uid"]
        await stage.on("north")
        running = LIVES[JOB_SET][1]
        await stage.play("north", running)

        await lab.edit_worker("north", drain="MoveAway")
        await stage.on("north", lambda obj: obj["spec"].get("suspend"))
        [jobs] = running["replicatedJobsStatus"]
        still = {**jobs, "active": 0, "ready": 0, "suspended": 2}
        await stage.play(
            "north",
            {
                **running,
                "conditions": [condition("Suspended")],
                "replicatedJobsStatus": [still],
            },
        )

        moved = await stage.on("south", is_attempt(2))
        assert not moved["spec"].get("suspend")
        await stage.gone("north")
        assert (await stage.record(uid))["spec"]["attempt"] == 2


async def test_one_that_cannot_is_deleted_and_waited_for(lab: Lab) -> None:
    """Also by a dispatcher that begins meanwhile: it is not taken for what others deleted."""
    stage = await serve(lab, PIPELINE_RUN)
    queue = await lab.world.queue("strict", **DELETED_FAILS)
    async with lab.dispatcher():
        uid = (await stage.submit(queue))["metadata"]["uid"]
        await stage.on("north")
        await stage.hold("north", by=HOLD)
        await stage.play("north", LIVES[PIPELINE_RUN][0])

        await lab.edit_worker("north", drain="MoveAway")

        record = await stage.record(uid, lambda obj: "leaving" in obj["spec"]["shards"][0])
        assert record["spec"]["shards"][0]["leaving"] == "Drained"
        await stage.on("north", is_going)
        assert HOLD in await lab.world.event("a", "MirrorGoing")
    await lab.edit_worker("north", drain="None")
    await stage.hold("north", by=None)
    await stage.gone("north")

    async with lab.dispatcher():
        record = await stage.record(uid, is_attempt(2))
        assert "leaving" not in record["spec"]["shards"][0]
        await stage.on(record["spec"]["shards"][0]["worker"], is_attempt(2))
        assert stage.kind.finish(await stage.hub()) is None


@pytest.mark.parametrize("name", KINDS)
async def test_one_whose_worker_is_lost_moves_and_what_comes_back_is_deleted(
    lab: Lab, name: str
) -> None:
    stage = await serve(lab, name)
    queue = await lab.world.queue("soon", **SOON)
    async with lab.dispatcher():
        await stage.submit(queue)
        await stage.on("north")
        await stage.play("north", LIVES[name][0])

        await lab.proxies["north"].cut()
        await stage.on("south", is_attempt(2))
        await lab.proxies["north"].mend()

        await stage.gone("north")
        await stage.on("south", is_attempt(2))


async def test_a_record_that_somebody_deletes_is_written_again(lab: Lab) -> None:
    stage, world = await serve(lab, JOB_SET), lab.world
    queue = await world.queue("north-first", **NORTH_FIRST)
    async with lab.dispatcher():
        uid = (await stage.submit(queue))["metadata"]["uid"]
        mirror = await stage.on("north")
        before = await stage.record(uid)

        await world.hub.delete(PLACEMENTS, uid, world.namespace)

        is_new = before["metadata"]["uid"].__ne__
        again = await stage.record(uid, lambda obj: is_new(obj["metadata"]["uid"]))
        assert again["spec"] == before["spec"]
        assert (await stage.on("north"))["metadata"]["uid"] == mirror["metadata"]["uid"]


async def test_a_kind_is_picked_up_when_it_comes_and_goes_only_where_it_is_served(
    lab: Lab,
) -> None:
    stage, world = Stage(lab, ADAPTERS[SIMULATION]), lab.world
    await lab.add_workers()
    queue = await world.queue("north-first", **NORTH_FIRST)
    async with lab.dispatcher(custom_kinds=tuple(DECLARED)):
        await define(world.workers["south"], SIMULATION)
        await define(world.hub, SIMULATION)

        await stage.submit(queue)

        await stage.on("south")
        assert ready(await lab.worker("north"))
