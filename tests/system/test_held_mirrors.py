"""Mirrors that a finalizer holds after they were deleted: they are waited for, and nothing else has to wait."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from jobferry.core.leave import COUNTS_WITHIN
from jobferry.kube.resources import JOBS
from jobferry.objects import Obj
from jobferry.workers.resource import WORKERS
from tests.system.audit import WRITES
from tests.system.fleet import WORKER
from tests.system.jobs import (
    FOREVER,
    NORTH_FIRST,
    attempt,
    complete,
    condition,
    is_there,
    job,
    runs,
)
from tests.system.lab import Lab
from tests.system.world import named, until_none, until_one

pytestmark = pytest.mark.fleet

HOLD = "example.com/hold"


@asynccontextmanager
async def held(lab: Lab, name: str) -> AsyncIterator[None]:
    """Keep the mirror of a Job on north from going during the block."""
    north, namespace = lab.world.workers["north"], lab.world.namespace
    hold = {"metadata": {"finalizers": [HOLD]}}
    await north.patch(JOBS, name, hold, namespace=namespace)
    await lab.world.on("north", name, lambda obj: HOLD in obj["metadata"].get("finalizers", ()))
    try:
        yield
    finally:
        # The API server has its own finalizers there, which go by themselves.
        free = {"metadata": {"finalizers": None}}
        await north.patch(JOBS, name, free, namespace=namespace)


def going(obj: Obj) -> bool:
    """Hold if the object was deleted and is not gone yet."""
    return "deletionTimestamp" in obj["metadata"]


def writes(lab: Lab, verb: str) -> int:
    """Count what dispatchers asked north to do with Jobs of this test."""
    assert verb in WRITES
    return sum(
        entry["verb"] == verb
        and entry.get("objectRef", {}).get("namespace") == lab.world.namespace
        and entry["objectRef"]["resource"] == "jobs"
        for entry in lab.fleet.audited(lab.clusters["north"], WORKER)
    )


async def test_a_job_that_moved_does_not_wait_for_its_old_mirror(lab: Lab) -> None:
    world = lab.world
    await lab.add_workers()
    queue = await world.queue("north-first", **NORTH_FIRST)
    async with lab.dispatcher():
        await world.run(job("a", queue=queue, seconds=FOREVER), runs(1))
        async with held(lab, "a"):
            await lab.edit_worker("north", drain="MoveAway")

            await world.mirror("a", runs(1), attempt=2)
            assert HOLD in await world.event("a", "MirrorGoing")
            await world.run(job("b", queue=queue), complete)
            assert writes(lab, "delete") == 1
        await until_none(world.workers["north"], named(JOBS, "a", world.namespace))
        assert writes(lab, "delete") == 1


async def test_a_job_made_again_does_not_wait_for_the_mirror_of_the_one_before(
    lab: Lab,
) -> None:
    world = lab.world
    await lab.add_workers()
    queue = await world.queue("north-first", **NORTH_FIRST)
    async with lab.dispatcher():
        await world.run(job("a", queue=queue, seconds=FOREVER), runs(1))
        async with held(lab, "a"):
            await world.delete("a")
            await world.on("north", "a", going)

            await world.run(job("a", queue=queue), complete)

            assert await world.where("a") == "south"
            assert writes(lab, "delete") == 1


async def test_a_job_made_again_gets_the_name_as_soon_as_it_is_free(lab: Lab) -> None:
    world = lab.world
    await lab.add_worker("north")
    async with lab.dispatcher():
        await world.run(job("a", seconds=FOREVER), runs(1))
        async with held(lab, "a"):
            await world.delete("a")
            await world.on("north", "a", going)
            await world.submit(job("a"))
            assert "not gone from there yet" in await world.event("a", "NoWorker")

        await world.until("a", complete)
        assert writes(lab, "create") == 2
        assert writes(lab, "delete") == 1


async def test_a_mirror_that_somebody_deleted_is_waited_for_while_it_runs(lab: Lab) -> None:
    world, north = lab.world, lab.world.workers["north"]
    await lab.add_workers()
    queue = await world.queue("north-first", **NORTH_FIRST)
    async with lab.dispatcher():
        await world.run(job("a", queue=queue, seconds=FOREVER), runs(1))
        async with held(lab, "a"):
            await north.delete(JOBS, "a", world.namespace, propagation="Background")
            await world.event("a", "MirrorGoing")
            await world.run(job("b", queue=queue, seconds=COUNTS_WITHIN + 2), complete)
            assert attempt(await world.until("a", runs(1))) == 1

            # Its worker counts no pods any more of a Job that was deleted.
            await world.finish_pod("north", "a")

            await world.mirror("a", runs(1), attempt=2)
            assert await world.where("a", attempt=2) == "south"
            assert writes(lab, "delete") == 0


async def test_a_job_goes_elsewhere_when_nothing_of_a_held_mirror_runs(lab: Lab) -> None:
    world, north = lab.world, lab.world.workers["north"]
    await lab.add_workers()
    queue = await world.queue("north-first", **NORTH_FIRST)
    async with lab.dispatcher():
        await world.submit(job("a", queue=queue, parallelism=0))
        await world.on("north", "a", lambda obj: obj.get("status", {}).get("startTime"))
        async with held(lab, "a"):
            await north.delete(JOBS, "a", world.namespace, propagation="Background")

            assert await world.where("a", attempt=2) == "south"
            await world.edit("a", {"spec": {"parallelism": 1}})
            await world.until("a", complete)
        assert writes(lab, "delete") == 0


async def test_a_worker_that_is_removed_says_what_holds_a_mirror(lab: Lab) -> None:
    world = lab.world
    await lab.add_workers()
    queue = await world.queue("north-first", **NORTH_FIRST)
    async with lab.dispatcher():
        await world.run(job("a", queue=queue), complete)
        async with held(lab, "a"):
            await world.hub.delete(WORKERS, "north")

            def tells(worker: Obj) -> bool:
                return f"{world.namespace}/a" in condition(worker, "Ready").get("message", "")

            told = await until_one(world.hub, named(WORKERS, "north"), tells)
            assert HOLD in condition(told, "Ready")["message"]
        await until_none(world.hub, named(WORKERS, "north"))
        assert writes(lab, "delete") == 1
        assert complete(await world.until("a", is_there))
