"""Whatever a tenant writes into workloads of other kinds, and whoever owns them, only his own work suffers from it."""

import copy
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from itertools import pairwise

import orjson
import pytest

from jobferry.core.placement_object import RESOURCE as PLACEMENTS
from jobferry.kube import calls
from jobferry.kube.calls import Scope
from jobferry.kube.client import Client
from jobferry.kube.resources import CRDS
from jobferry.kube.wire import Answer, Request
from jobferry.objects import Obj
from jobferry.workers.resource import WORKERS
from tests.system.fleet import IS_REAL
from tests.system.jobs import NORTH_FIRST, complete, condition, holds, is_there, job, runs
from tests.system.kinds import (
    JOB_SET,
    SIMULATION,
    Trial,
    define,
    definition,
    done_now,
    known,
    multikueue,
    rights,
    rights_to_delete,
    trial,
    undefine,
    until_served,
)
from tests.system.lab import Lab
from tests.system.meddling import Meddling, Send
from tests.system.world import named, until_none, until_one
from tests.workloads import crds
from tests.workloads.examples import ADAPTERS, DECLARED

pytestmark = [pytest.mark.fleet, pytest.mark.timeout(120)]

LEVELS = 9000 if IS_REAL else 190
"""How deep an API server lets people nest what it does not check: localkube takes 200."""

APP_WRAPPER, RAY_JOB = "AppWrapper.workload.codeflare.dev", "RayJob.ray.io"


@asynccontextmanager
async def usable(lab: Lab, *kinds: str) -> AsyncIterator[None]:
    """Have all clusters of a lab know some kinds during the block, and let the dispatcher use them."""
    async with known(lab, *kinds), rights(lab, *kinds):
        yield


def owned_by(owner: Obj) -> Obj:
    """Return the patch that makes a workload a part of another."""
    meta = owner["metadata"]
    named = {"name": meta["name"], "uid": meta["uid"], "controller": True}
    reference = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], **named}
    return {"metadata": {"ownerReferences": [reference]}}


async def test_a_job_that_owns_itself_stops_nobody(lab: Lab) -> None:
    world = lab.world
    await lab.add_workers()
    async with lab.dispatcher():
        await world.run(job("runs", seconds=3600), runs())
        await world.run(job("done"), complete)
        for name in ("runs", "done"):
            await world.edit(name, owned_by(await world.until(name, is_there)))
        await world.run(job("a"), complete)

    async with lab.dispatcher():
        await world.run(job("b"), complete)


async def bury(found: Trial, levels: int) -> None:
    """Create an AppWrapper that says something at a certain depth; no client of ours could read the answer."""
    deep = orjson.Fragment(b'{"in":' * levels + b"1" + b"}" * levels)
    component = {"template": {"apiVersion": "example.com/v1", "kind": "Deep", "spec": deep}}
    spec = {**found.obj["spec"], "components": [component]}
    world, body = found.lab.world, {**found.obj, "spec": spec}
    await world.hub.send(calls.create(found.adapter.resource, body, namespace=world.namespace))


async def test_what_is_nested_deeper_than_anybody_can_read_stops_nobody(lab: Lab) -> None:
    world = lab.world
    async with usable(lab, APP_WRAPPER):
        await lab.add_workers()
        await bury(trial(lab, APP_WRAPPER, name="before"), LEVELS)
        async with lab.dispatcher():
            await bury(trial(lab, APP_WRAPPER, name="after"), LEVELS)
            await world.run(job("a"), complete)
            found = trial(lab, APP_WRAPPER, name="sane")
            await found.submit()
            await found.on(await found.where())


async def test_a_part_of_what_we_may_not_see_is_brought_to_a_worker_by_itself(lab: Lab) -> None:
    world = lab.world
    async with AsyncExitStack() as stack:
        stack.push_async_callback(undefine, world.hub, JOB_SET)
        await define(world.hub, JOB_SET)
        await lab.add_workers()
        found = trial(lab, JOB_SET, changes={"managedBy": None})
        part = job("part")
        part["metadata"] |= owned_by(await found.submit())["metadata"]

        async with lab.dispatcher():
            await world.run(part, complete)


async def test_a_kind_without_a_status_of_its_own_is_said_to_have_none(lab: Lab) -> None:
    world, resource = lab.world, ADAPTERS[SIMULATION].resource
    crd = crds.small(
        "example.com", "v1", "Simulation", crds.ANYTHING, None, rules=crds.ANYTHING
    )
    async with AsyncExitStack() as stack:
        for client in (world.hub, *world.workers.values()):
            stack.push_async_callback(undefine, client, SIMULATION)
            await client.create(CRDS, crd)
            await until_one(client, named(CRDS, str(resource)), holds("Established"))
        await stack.enter_async_context(rights(lab, SIMULATION))
        await lab.add_worker("north")
        async with lab.dispatcher(custom_kinds=tuple(DECLARED)):
            found = trial(lab, SIMULATION)
            await found.submit()
            await found.on("north")
            status = {"status": {"runningCopies": 1}}
            await world.workers["north"].patch(
                resource, found.name, status, namespace=world.namespace
            )
            said = await world.event(found.name, "StatusRefused")
    assert "status" in said


async def test_a_rival_that_comes_later_is_noticed(lab: Lab) -> None:
    world = lab.world
    async with usable(lab, RAY_JOB), AsyncExitStack() as stack:
        await lab.add_worker("north")
        await stack.enter_async_context(lab.dispatcher(claim_multikueue=True))
        first, later = trial(lab, RAY_JOB, name="first"), trial(lab, RAY_JOB, name="later")
        await first.submit()
        await first.on("north")

        async with multikueue(world.hub):
            for name in ("a", "b", "c"):
                await world.run(job(name), complete)  # by then it is known
            await later.submit()
            await world.run(job("d"), complete)
            placed = Scope(resource=PLACEMENTS, namespace=world.namespace)
            assert len((await world.hub.list(placed)).items) == 1

        await later.on("north")


async def test_what_was_not_as_we_knew_it_is_not_deleted_again_and_again(lab: Lab) -> None:
    world, clock = lab.world, lab.fleet.clock
    meddling, tries = Meddling(lab.fleet.reach), list[float]()

    async def conflict(request: Request, send: Send) -> Answer:
        if request.method == "DELETE" and "/simulations/" in request.target:
            tries.append(clock.monotonic())
            if len(tries) < 4:
                said = {"kind": "Status", "code": 409, "reason": "Conflict", "message": "other"}
                return Answer(409, {}, orjson.dumps(said))
        return await send(request)

    meddling.meddle(lab.fleet.planes["west"].url, conflict)
    async with usable(lab, SIMULATION), rights_to_delete(lab, SIMULATION):
        await lab.add_worker("north")
        kinds = tuple(DECLARED)
        async with lab.dispatcher(custom_kinds=kinds, reach=meddling.reach):
            found = trial(lab, SIMULATION, changes={"keepSeconds": 0})
            await found.submit()
            await found.on("north")
            await found.play("north", done_now(lab))
            await until_none(world.hub, found.scope())

    assert all(later - earlier > 0.5 for earlier, later in pairwise(tries))


async def test_a_name_that_is_longer_than_names_are_is_nobodys(lab: Lab) -> None:
    world, name = lab.world, f"jobferry.io/{'a' * 1_000_000}"
    async with usable(lab, SIMULATION):
        await lab.add_worker("north")
        async with lab.dispatcher(custom_kinds=tuple(DECLARED)):
            found = trial(lab, SIMULATION, changes={"managedBy": name})
            await found.submit()

            said = await world.event(found.name, "NotClaimed")

    assert "nobody runs this Simulation" in said


NO_CONVERSION: Obj = {
    "strategy": "Webhook",
    "webhook": {
        "clientConfig": {"url": "https://127.0.0.1:1/convert"},
        "conversionReviewVersions": ["v1"],
    },
}
"""How a CRD says that somebody converts its objects who is not there."""


async def break_conversion(client: Client, namespace: str) -> None:
    """Install a CRD with an object that its API server cannot show in the version that we know."""
    crd = copy.deepcopy(definition(SIMULATION))
    [v1] = crd["spec"]["versions"]
    v0, name = {**v1, "name": "v0"}, crd["metadata"]["name"]
    crd["spec"]["versions"] = [v0, {**v1, "storage": False, "served": False}]
    await client.create(CRDS, crd)
    old = replace(ADAPTERS[SIMULATION].resource, version="v0")
    await until_served(client, old)
    await client.create(old, {"metadata": {"name": "old"}, "spec": {}}, namespace=namespace)
    versions = [{**v0, "storage": False}, v1]
    await client.patch(
        CRDS, name, {"spec": {"versions": versions, "conversion": NO_CONVERSION}}
    )
    await until_served(client, ADAPTERS[SIMULATION].resource)


@pytest.mark.skipif(not IS_REAL, reason="localkube asks no webhook")
async def test_a_kind_that_a_worker_cannot_convert_keeps_no_other_from_it(lab: Lab) -> None:
    world, name = lab.world, str(ADAPTERS[SIMULATION].resource)
    north = world.workers["north"]
    async with AsyncExitStack() as stack:
        for client in (world.hub, north):
            stack.push_async_callback(undefine, client, SIMULATION)
        await define(world.hub, SIMULATION)
        await stack.enter_async_context(rights(lab, SIMULATION))
        await break_conversion(north, world.namespace)
        mend = {"spec": {"conversion": {"strategy": "None", "webhook": None}}}
        stack.push_async_callback(north.patch, CRDS, name, mend)
        await lab.add_worker("north")

        async with lab.dispatcher(custom_kinds=tuple(DECLARED)):
            await world.run(job("a"), complete)
            seen = await lab.worker("north")
            assert condition(seen, "Connected")["reason"] == "KindsUnseen"


def serves_job_sets(worker: Obj) -> bool:
    """Hold for a Worker that says so: real clusters take a moment until they do."""
    return any(each.startswith(JOB_SET) for each in worker["status"].get("kinds", ()))


async def test_a_worker_stays_while_it_holds_what_is_of_a_kind_that_was_switched_off(
    lab: Lab,
) -> None:
    hub = lab.world.hub
    async with usable(lab, JOB_SET):
        await lab.add_workers()
        queue = await lab.world.queue("north-first", **NORTH_FIRST)
        found = trial(lab, JOB_SET, queue=queue)
        async with lab.dispatcher():
            await lab.worker("north", serves_job_sets)
            await found.submit()
            await found.on("north")
        async with lab.dispatcher(kinds=("Job",)):
            await hub.delete(WORKERS, "north")

            def is_told(worker: Obj) -> bool:
                ready = condition(worker, "Ready").get("message", "")
                return "1 jobsets.jobset.x-k8s.io, of a kind that is not followed" in ready

            await lab.worker("north", is_told)
            await lab.world.workers["north"].delete(
                found.adapter.resource, found.name, lab.world.namespace
            )
            await until_none(hub, named(WORKERS, "north"))
