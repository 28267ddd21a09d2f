"""Where one rule of the dispatcher meets another: none keeps the other from what it has to do."""

from contextlib import AsyncExitStack
from secrets import token_hex

import orjson
import pytest

from jobferry.core import placement
from jobferry.dispatch.refusals import FIRST
from jobferry.kube.resources import JOBS, NAMESPACES
from jobferry.kube.wire import Answer, Request
from jobferry.objects import Obj
from jobferry.workers.resource import WORKERS
from tests.system.fleet import WORKER, add_worker
from tests.system.impostor import granted, user
from tests.system.jobs import (
    FOREVER,
    NORTH_FIRST,
    attempt,
    complete,
    condition,
    job,
    runs,
)
from tests.system.lab import Lab
from tests.system.meddling import Meddling, Send, makes_a_job
from tests.system.refusing import creates, missing_there, submit_in_vain
from tests.system.test_silent_workers import is_not_ready
from tests.system.world import named, until_none, until_one

pytestmark = pytest.mark.fleet

HOLD = "example.com/hold"
AT_ONCE = FIRST / 3
"""Far sooner than a worker that refused is asked again by itself."""


def is_twin(worker: Obj) -> bool:
    """Hold for a Worker whose cluster another one stands for."""
    return condition(worker, "Ready").get("reason") == "DuplicateCluster"


def forbidden(message: str) -> Answer:
    """Return the answer of an API server that refuses something."""
    said = {"kind": "Status", "status": "Failure", "code": 403, "reason": "Forbidden"}
    body = orjson.dumps({"apiVersion": "v1", **said, "message": message})
    return Answer(403, {"content-type": "application/json"}, body)


async def test_a_worker_that_makes_namespaces_now_gets_all_that_waited_for_one(
    lab: Lab,
) -> None:
    south, clock = lab.world.workers["south"], lab.fleet.clock
    await lab.add_worker("south")
    async with AsyncExitStack() as stack:
        home = await stack.enter_async_context(missing_there(lab))
        right = granted(south, "jobferry-worker-namespaces", user(WORKER), home.namespace)
        await stack.enter_async_context(right)
        await stack.enter_async_context(lab.dispatcher())
        await submit_in_vain(home, "first", ["b", "c"])
        began = clock.monotonic()

        await lab.edit_worker("south", namespaces={"create": True})

        for name in ("first", "b", "c"):
            await home.until(name, complete)
        assert clock.monotonic() - began < AT_ONCE
        await south.delete(NAMESPACES, home.namespace)


async def test_a_worker_that_was_only_silent_is_not_asked_again_what_it_refused(
    lab: Lab,
) -> None:
    await lab.add_worker("south")
    names = [f"job-{number}" for number in range(10)]
    async with missing_there(lab) as home, lab.dispatcher():
        await submit_in_vain(home, "first", names)

        lab.proxies["south"].freeze()
        await lab.worker("south", is_not_ready("Silent"))
        lab.proxies["south"].thaw()
        await lab.worker("south")

        await lab.world.run(job("last"), complete)  # by then all were looked at
        assert creates(lab, "south", home.namespace) == 1


async def test_a_deleted_job_that_its_author_holds_on_to_takes_no_room(lab: Lab) -> None:
    world = lab.world
    await lab.add_worker("south", maxMirrors=1)
    held = job("held", seconds=FOREVER)
    held["metadata"]["finalizers"] = [HOLD]
    async with lab.dispatcher():
        await world.run(held, runs(1))
        await world.delete("held")
        try:
            await until_none(world.workers["south"], named(JOBS, "held", world.namespace))
            await world.run(job("next"), complete)
        finally:
            await world.edit("held", {"metadata": {"finalizers": None}})


async def test_a_lost_record_is_restored_though_its_worker_refuses_what_is_new(
    lab: Lab,
) -> None:
    world, clock = lab.world, lab.fleet.clock
    await lab.add_worker("south")
    meddling = Meddling(lab.fleet.reach)

    async def refuse(request: Request, send: Send) -> Answer:
        if makes_a_job(request) and b'"refused"' in request.body:
            return forbidden("somebody cannot create resource jobs")
        return await send(request)

    meddling.meddle(lab.proxies["south"].url, refuse)
    async with lab.dispatcher(reach=meddling.reach):
        await world.run(job("a", seconds=FOREVER), runs(1))
        await world.submit(job("refused"))
        await world.event("refused", "Refused")

        await world.edit("a", {"metadata": {"annotations": {placement.ANNOTATION: None}}})
        await world.finish_pod("south", "a")

        began = clock.monotonic()
        assert attempt(await world.until("a", complete)) == 1
        assert clock.monotonic() - began < AT_ONCE


async def test_a_job_that_may_not_be_stopped_to_leave_keeps_no_room_elsewhere(
    lab: Lab,
) -> None:
    world, clock = lab.world, lab.fleet.clock
    await lab.add_worker("north")
    await lab.add_worker("south", maxMirrors=1)
    queue = await world.queue("north-first", **NORTH_FIRST)
    meddling = Meddling(lab.fleet.reach)

    async def refuse(request: Request, send: Send) -> Answer:
        is_edit = request.method == "PATCH" and "/jobs/" in request.target
        return forbidden("a policy denies it") if is_edit else await send(request)

    meddling.meddle(lab.proxies["north"].url, refuse)
    async with lab.dispatcher(reach=meddling.reach):
        await world.run(job("a", queue=queue, seconds=FOREVER), runs(1))
        await lab.edit_worker("north", drain="MoveAway")
        await world.event("a", "NotForwarded")

        began = clock.monotonic()
        await world.run(job("b", queue=queue), complete)
        assert clock.monotonic() - began < AT_ONCE


async def test_a_worker_can_be_replaced_by_one_of_another_name_for_the_same_cluster(
    lab: Lab,
) -> None:
    world, new = (
        lab.world,
        f"other-{token_hex(4)}",
    )  # of two that are as old, the first by name stands for it
    await lab.add_worker("north")
    async with lab.dispatcher():
        await world.run(job("a", seconds=FOREVER), runs(1))
        await add_worker(world.hub, new, lab.kubeconfig("north"))
        await until_one(world.hub, named(WORKERS, new), is_twin)

        await world.hub.delete(WORKERS, "north")

        await lab.worker(new)
        await world.run(job("b"), complete)
        assert await world.where("a", attempt=2) == new
        await until_none(world.hub, named(WORKERS, "north"))
        await world.until("a", runs(1))


async def test_a_worker_says_so_when_its_twin_is_gone_and_it_takes_work(lab: Lab) -> None:
    hub, other = lab.world.hub, f"other-{token_hex(4)}"
    await lab.add_worker("north")
    async with lab.dispatcher():
        await add_worker(hub, other, lab.kubeconfig("north"))
        await until_one(hub, named(WORKERS, other), is_twin)

        await hub.delete(WORKERS, "north")

        await until_none(hub, named(WORKERS, "north"))
        await lab.worker(other)
