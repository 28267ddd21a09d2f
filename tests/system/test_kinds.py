"""Workloads that are no Jobs, over a fleet: JobSets, which can be stopped, and PipelineRuns, which cannot.

No operator runs here: what one would write on a worker is played.
"""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from jobferry.core.placement_object import RESOURCE as PLACEMENTS
from tests.system.jobs import NORTH_FIRST, SOON, ready
from tests.system.lab import Lab
from tests.system.stage import Stage, clear, define, grant, is_attempt, is_going
from tests.system.world import named, until_none
from tests.workloads.examples import ADAPTERS, DECLARED
from tests.workloads.lives import ENDS, LIVES, condition

pytestmark = [pytest.mark.fleet, pytest.mark.timeout(60)]

JOB_SET, PIPELINE_RUN = "JobSet.jobset.x-k8s.io", "PipelineRun.tekton.dev"
SIMULATION = "Simulation.example.com"
KINDS = (JOB_SET, PIPELINE_RUN)
HOLD = "example.com/tidy"

DELETED_FAILS: dict[str, Any] = {**NORTH_FIRST, "onMirrorDeleted": "Fail"}


@pytest.fixture
async def lab(lab: Lab) -> AsyncIterator[Lab]:
    """One whose clusters serve these kinds, and whose dispatchers have the rights that they need."""
    for client in (lab.world.hub, *lab.world.workers.values()):
        await grant(client)
        for name in KINDS:
            await define(client, name)
    yield lab
    for name in (*KINDS, SIMULATION):
        await clear(lab, ADAPTERS[name])


@pytest.mark.parametrize("name", KINDS)
async def test_a_workload_goes_its_whole_way(lab: Lab, name: str) -> None:
    stage, kind = Stage(lab, ADAPTERS[name]), ADAPTERS[name]
    await lab.add_workers()
    queue = await lab.world.queue("north-first", **NORTH_FIRST)
    async with lab.dispatcher():
        uid = (await stage.submit(queue))["metadata"]["uid"]

        record = await stage.record(uid)
        assert [each["worker"] for each in record["spec"]["shards"]] == ["north"]
        mirror = await stage.on("north")
        assert kind.managed_by(mirror) in ("", kind.own_controller)
        for status in LIVES[name]:
            await stage.play("north", status)
        ended = await stage.hub(lambda obj: kind.finish(obj) is not None)
        assert kind.finish(ended) == ENDS[name]

        await stage.delete()
        await stage.gone("north")
        await until_none(lab.world.hub, named(PLACEMENTS, uid, lab.world.namespace))


async def test_one_that_can_be_stopped_leaves_a_drained_worker_without_overlap(
    lab: Lab,
) -> None:
    stage = Stage(lab, ADAPTERS[JOB_SET])
    await lab.add_workers()
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
    stage = Stage(lab, ADAPTERS[PIPELINE_RUN])
    await lab.add_workers()
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
    stage = Stage(lab, ADAPTERS[name])
    await lab.add_workers()
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
    stage, world = Stage(lab, ADAPTERS[JOB_SET]), lab.world
    await lab.add_workers()
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
