"""Every kind over a fleet: it runs, is suspended, leaves its worker as it can, and ends; and records that are lost.

No operator runs here: what one would write on a worker is played.
"""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest

from jobferry.core.placement_object import RESOURCE as PLACEMENTS
from jobferry.kinds.adapter import Adapter
from jobferry.objects import Obj
from tests.needs import SOAK
from tests.system.fleet import IS_REAL
from tests.system.jobs import NORTH_FIRST, SOON
from tests.system.kinds import Trial, known, rights, trial
from tests.system.lab import Lab
from tests.system.operator_programs import CONFIG_MAPS
from tests.system.world import named, until_none, until_one
from tests.workloads.examples import ADAPTERS, CUSTOM, DECLARED, row, suspension
from tests.workloads.lives import ENDS, LIVES, condition

pytestmark = [pytest.mark.fleet, pytest.mark.timeout(120)]

JOB_SET, PIPELINE_RUN = "JobSet.jobset.x-k8s.io", "PipelineRun.tekton.dev"
FEW = (JOB_SET, PIPELINE_RUN, "RayJob.ray.io")
"""Those that real clusters are asked for unless there is much time: new CRDs and what goes with them take them long."""

HOLD = "example.com/tidy"

DELETED_FAILS: dict[str, Any] = {**NORTH_FIRST, "onMirrorDeleted": "Fail"}


@asynccontextmanager
async def served(lab: Lab, kind: str, **policy: Any) -> AsyncIterator[Trial]:
    """Have all clusters serve a kind during the block, and a workload of it that is for north first."""
    world = lab.world
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(known(lab, kind))
        await stack.enter_async_context(rights(lab, kind))
        await lab.add_workers()
        queue = await world.queue("first", **(policy or NORTH_FIRST))
        yield trial(lab, kind, queue=queue)


def settings(kind: str) -> dict[str, Any]:
    """Return what a dispatcher is told that is to follow a kind, whatever its rules."""
    return {"kinds": (kind,), "custom_kinds": tuple(DECLARED), "claim_multikueue": True}


def stopped(kind: Adapter) -> Obj:
    """Return the status of a mirror that has stopped."""
    said = row(kind).suspended
    assert said is not None
    if said.member:
        return {said.member[-1]: said.values[0]}
    return {"conditions": [condition(said.condition)]}


async def play(found: Trial, worker: str, status: Obj) -> None:
    """Say on a worker how a mirror fares, and wait until the hub shows that."""
    await found.play(worker, status)
    mirror, now = await found.on(worker), found.lab.fleet.clock.now()
    await found.until(lambda obj: found.adapter.report(obj, mirror, "", now) is None)


@pytest.mark.parametrize("name", CUSTOM if SOAK or not IS_REAL else FEW)
async def test_a_workload_of_any_kind_runs_moves_and_ends(lab: Lab, name: str) -> None:
    kind, (_, running, *_) = ADAPTERS[name], LIVES[name]
    async with served(lab, name) as found, lab.dispatcher(**settings(name)):
        uid = (await found.submit())["metadata"]["uid"]
        assert await found.where() == "north"
        assert kind.managed_by(await found.on("north")) in ("", kind.own_controller)
        await play(found, "north", running)
        if row(kind).suspend:
            await found.edit(suspension(kind, True))
            await found.on("north", kind.is_suspended)
            await play(found, "north", stopped(kind))
            await found.edit(suspension(kind, False))
            await found.on("north", lambda obj: not kind.is_suspended(obj))
            await play(found, "north", running)

        await lab.edit_worker("north", drain="MoveAway")
        if kind.stop(found.obj):
            await found.on("north", kind.is_suspended)
            await play(found, "north", stopped(kind))
        assert await found.where(attempt=2) == "south"
        await found.gone_from("north")
        for status in LIVES[name]:
            await play(found, "south", status)
        await found.until(found.ended(ENDS[name]))

        await found.delete()
        await found.gone_from("south")
        await until_none(lab.world.hub, named(PLACEMENTS, uid, lab.world.namespace))


async def test_one_that_cannot_be_stopped_is_deleted_and_waited_for(lab: Lab) -> None:
    """Also by a dispatcher that begins meanwhile: it is not taken for what others deleted."""
    async with served(lab, PIPELINE_RUN, **DELETED_FAILS) as found:
        async with lab.dispatcher(**settings(PIPELINE_RUN)):
            await found.submit()
            await found.on("north")
            await hold(found, HOLD)
            await play(found, "north", LIVES[PIPELINE_RUN][0])

            await lab.edit_worker("north", drain="MoveAway")

            await found.on("north", is_going)
            record = await found.record()
            assert record["spec"]["attempt"] == 1
            assert record["spec"]["shards"][0]["leaving"] == "Drained"
            assert HOLD in await lab.world.event(found.name, "MirrorGoing")
        await lab.edit_worker("north", drain="None")
        await hold(found, None)
        await found.gone_from("north")

        async with lab.dispatcher(**settings(PIPELINE_RUN)):
            record = await found.record(attempt=2)
            assert "leaving" not in record["spec"]["shards"][0]
            await found.on(await found.where(attempt=2))
            await found.until(found.ended(None))


async def test_it_runs_nowhere_else_before_all_that_its_operator_made_is_gone(lab: Lab) -> None:
    kind, north, namespace = ADAPTERS[JOB_SET], lab.world.workers["north"], lab.world.namespace
    async with served(lab, JOB_SET) as found, lab.dispatcher(**settings(JOB_SET)):
        await found.submit()
        part = made_by(await found.on("north"), finalizers=[HOLD])
        name = (await north.create(CONFIG_MAPS, part))["metadata"]["name"]
        await play(found, "north", LIVES[JOB_SET][1])
        await lab.edit_worker("north", drain="MoveAway")
        await found.on("north", kind.is_suspended)

        await play(found, "north", stopped(kind))

        await found.on("north", is_going)
        await until_one(north, named(CONFIG_MAPS, name, namespace), is_going)
        assert "what it made" in await lab.world.event(found.name, "MirrorGoing")
        assert (await found.record())["spec"]["attempt"] == 1
        free = {"metadata": {"finalizers": None}}
        await north.patch(CONFIG_MAPS, name, free, namespace=namespace)

        assert await found.where(attempt=2) == "south"


def made_by(owner: Obj, **metadata: Any) -> Obj:
    """Return something that an operator made of a workload, as operators do."""
    meta = owner["metadata"]
    reference = {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": meta["name"],
        "uid": meta["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    named_after = {"name": f"{meta['name']}-part", "namespace": meta["namespace"]}
    return {"metadata": {**named_after, "ownerReferences": [reference], **metadata}}


def is_going(obj: Obj) -> bool:
    """Hold if an object was deleted and is not gone yet."""
    return "deletionTimestamp" in obj["metadata"]


async def hold(found: Trial, finalizer: str | None) -> None:
    """Have a finalizer hold the mirror on north, or none."""
    world, resource = found.lab.world, found.adapter.resource
    patch = {"metadata": {"finalizers": [finalizer] if finalizer else None}}
    await world.workers["north"].patch(resource, found.name, patch, namespace=world.namespace)


@pytest.mark.parametrize("name", [JOB_SET, PIPELINE_RUN])
async def test_one_whose_worker_is_lost_moves_and_what_comes_back_is_deleted(
    lab: Lab, name: str
) -> None:
    async with served(lab, name, **SOON) as found, lab.dispatcher(**settings(name)):
        await found.submit()
        await found.on("north")
        await play(found, "north", LIVES[name][0])

        await lab.proxies["north"].cut()
        assert await found.where(attempt=2) == "south"
        await lab.proxies["north"].mend()

        await found.gone_from("north")
        await found.on("south")


async def test_a_record_that_somebody_deletes_is_written_again(lab: Lab) -> None:
    world = lab.world
    async with served(lab, JOB_SET) as found, lab.dispatcher():
        uid = (await found.submit())["metadata"]["uid"]
        mirror = await found.on("north")
        before = await found.record()

        await world.hub.delete(PLACEMENTS, uid, world.namespace)

        again = await until_one(
            world.hub,
            named(PLACEMENTS, uid, world.namespace),
            lambda obj: obj["metadata"]["uid"] != before["metadata"]["uid"],
        )
        assert again["spec"] == before["spec"]
        assert (await found.on("north"))["metadata"]["uid"] == mirror["metadata"]["uid"]
