"""Dispatchers that know too little, too late, or act at a bad moment: nothing runs twice, nothing is left behind."""

import asyncio
from functools import partial
from itertools import pairwise

import orjson
import pytest

from jobferry.core import marks
from jobferry.kube import errors
from jobferry.kube.calls import Scope
from jobferry.kube.resources import EVENTS, JOBS
from jobferry.kube.wire import Answer, Request
from jobferry.runtime import supervise
from tests.system.jobs import FOREVER, NORTH_FIRST, attempt, complete, is_there, job, runs
from tests.system.lab import BRISK, Lab
from tests.system.meddling import Meddling, Send, altered, makes_a_job
from tests.system.world import named, until_none

pytestmark = pytest.mark.fleet

MANY = 4
"""Tries of a write, which come later and later."""


async def test_a_new_leader_whose_news_is_late_does_not_run_a_finished_job_again(
    lab: Lab,
) -> None:
    world, meddling = lab.world, Meddling(lab.fleet.reach)
    hub, north = lab.fleet.planes["west"].url, lab.proxies["north"].url
    stands, looked, made = asyncio.Event(), asyncio.Event(), []

    async def on_hub(request: Request, send: Send) -> Answer:
        if "/leases" in request.target:
            stands.set()
        if request.target.endswith("/jobs/a"):
            looked.set()
        return await send(request)

    async def on_north(request: Request, send: Send) -> Answer:
        if makes_a_job(request):
            made.append(request.target)
            looked.set()
        return await send(request)

    meddling.meddle(hub, on_hub)
    meddling.meddle(north, on_north)
    await lab.add_workers()
    brief = {**NORTH_FIRST, "finishedMirrors": {"keepSeconds": 0}}
    queue = await world.queue("brief", **brief)
    async with supervise.tasks("replicas", clock=lab.fleet.clock) as tasks:
        first = tasks.start("first", partial(lab.replica, lease=BRISK))
        await lab.worker("north")
        await world.submit(job("a", queue=queue, parallelism=0))
        await world.on("north", "a")
        tasks.start("second", partial(lab.replica, lease=BRISK, reach=meddling.reach))
        await stands.wait()
        meddling.keep_back(hub)
        await world.edit("a", {"spec": {"parallelism": 1}})
        await world.until("a", complete)
        await until_none(world.workers["north"], named(JOBS, "a", world.namespace))

        await first.stop()
        await looked.wait()
        meddling.let_go(hub)
        await world.run(job("b", queue=queue), complete)

    assert len(made) == 1
    await until_none(world.workers["north"], named(JOBS, "a", world.namespace))


async def test_a_new_leader_whose_news_of_a_worker_is_late_does_not_place_a_job_again(
    lab: Lab,
) -> None:
    world, meddling = lab.world, Meddling(lab.fleet.reach)
    hub, north = lab.fleet.planes["west"].url, lab.proxies["north"].url
    is_connected, looked = asyncio.Event(), asyncio.Event()

    async def on_north(request: Request, send: Send) -> Answer:
        answer = await send(request)
        if request.target.endswith("/jobs/a"):
            looked.set()
        return answer

    async def on_hub(request: Request, send: Send) -> Answer:
        if request.target.endswith("/jobs/a/status"):
            looked.set()
        return await send(request)

    meddling.meddle(north, on_north)
    meddling.meddle(hub, on_hub)
    meddling.on_watch(north, is_connected.set)
    await lab.add_workers()
    queue = await world.queue("north-first", **NORTH_FIRST)
    async with supervise.tasks("replicas", clock=lab.fleet.clock) as tasks:
        first = tasks.start("first", partial(lab.replica, lease=BRISK))
        await lab.worker("north")
        tasks.start("second", partial(lab.replica, lease=BRISK, reach=meddling.reach))
        await is_connected.wait()
        meddling.keep_back(north)
        await world.run(job("a", queue=queue, seconds=FOREVER), runs(1))

        await first.stop()
        await looked.wait()
        meddling.let_go(north)
        await world.run(job("b", queue=queue), complete)

    assert attempt(await world.until("a", is_there)) == 1
    assert await world.pods("a") == {"north": 1}


@pytest.mark.parametrize(
    ("member", "key"),
    [
        ("labels", marks.ORIGIN),
        ("labels", marks.ATTEMPT),
        ("annotations", marks.MIRROR),
        ("annotations", marks.FORWARDED),
    ],
)
async def test_a_mirror_whose_marks_its_worker_strips_is_removed_and_the_job_runs_elsewhere(
    lab: Lab, member: str, key: str
) -> None:
    world, meddling = lab.world, Meddling(lab.fleet.reach)

    async def strip(request: Request, send: Send) -> Answer:
        """Do as an admission webhook of the worker may."""
        if makes_a_job(request):
            request = altered(request, lambda body: body["metadata"][member].pop(key))
        return await send(request)

    meddling.meddle(lab.proxies["north"].url, strip)
    await lab.add_workers()
    queue = await world.queue("north-first", **NORTH_FIRST)
    async with lab.dispatcher(reach=meddling.reach):
        await world.run(job("a", queue=queue), complete)

        assert await world.where("a") == "south"
        assert f"does not keep our marks {key}: an admission" in await world.event(
            "a", "Refused"
        )
        await until_none(world.workers["north"], named(JOBS, "a", world.namespace))


async def test_a_mirror_that_lost_its_attempt_is_removed_though_nobody_heard_that_it_was_made(
    lab: Lab,
) -> None:
    world, meddling = lab.world, Meddling(lab.fleet.reach)
    lost: list[Answer] = []

    async def strip(request: Request, send: Send) -> Answer:
        """Do as an admission webhook of the worker may, and lose the first answer."""
        if not makes_a_job(request):
            return await send(request)
        answer = await send(
            altered(request, lambda body: body["metadata"]["labels"].pop(marks.ATTEMPT))
        )
        if not lost:
            lost.append(answer)
            raise errors.Unreachable("the connection was lost")
        return answer

    meddling.meddle(lab.proxies["north"].url, strip)
    await lab.add_workers()
    queue = await world.queue("north-first", **NORTH_FIRST)
    async with lab.dispatcher(reach=meddling.reach):
        await world.run(job("a", queue=queue), complete)

        assert await world.where("a") == "south"
        await until_none(world.workers["north"], named(JOBS, "a", world.namespace))


async def test_an_edit_that_meets_a_changed_mirror_looks_at_the_mirror(lab: Lab) -> None:
    world, meddling = lab.world, Meddling(lab.fleet.reach)
    await lab.add_worker("north")
    async with lab.dispatcher(reach=meddling.reach):
        await world.run(job("a", seconds=FOREVER), runs(1))
        meddling.keep_back(lab.proxies["north"].url)
        await world.workers["north"].patch(
            JOBS, "a", {"metadata": {"labels": {"team": "b"}}}, namespace=world.namespace
        )

        await world.edit("a", {"spec": {"parallelism": 2}})

        await world.on("north", "a", lambda obj: obj["spec"]["parallelism"] == 2)


async def test_an_edit_of_a_mirror_that_is_gone_makes_it_anew(lab: Lab) -> None:
    world, meddling = lab.world, Meddling(lab.fleet.reach)
    await lab.add_worker("north")
    async with lab.dispatcher(reach=meddling.reach):
        await world.run(job("a", seconds=FOREVER), runs(1))
        meddling.keep_back(lab.proxies["north"].url)
        north = world.workers["north"]
        await north.delete(JOBS, "a", world.namespace, propagation="Background")
        await until_none(north, named(JOBS, "a", world.namespace))

        await world.edit("a", {"spec": {"parallelism": 2}})

        assert await world.where("a", attempt=2) == "north"
        await world.on("north", "a", lambda obj: obj["spec"]["parallelism"] == 2)


async def test_people_are_told_once_of_a_status_that_the_hub_refuses(lab: Lab) -> None:
    world, meddling = lab.world, Meddling(lab.fleet.reach)
    refused: list[Request] = []
    is_tried_often = asyncio.Event()

    async def on_hub(request: Request, send: Send) -> Answer:
        if not request.target.partition("?")[0].endswith("/jobs/a/status"):
            return await send(request)
        refused.append(request)
        if len(refused) == MANY:
            is_tried_often.set()
        said = {"kind": "Status", "reason": "Invalid", "message": "status.active: because"}
        return Answer(422, {}, orjson.dumps(said))

    meddling.meddle(lab.fleet.planes["west"].url, on_hub)
    await lab.add_worker("north")
    async with lab.dispatcher(reach=meddling.reach):
        await world.submit(job("a"))
        assert "status.active: because" in await world.event("a", "StatusRefused")
        await is_tried_often.wait()
        # Others go on meanwhile.
        await world.run(job("b"), complete)

        meddling.meddle(lab.fleet.planes["west"].url, lambda request, send: send(request))
        await world.until("a", complete)
        about = "involvedObject.name=a,reason=StatusRefused"
        told = Scope(resource=EVENTS, namespace=world.namespace, fields=about)
        assert [event.get("count", 1) for event in (await world.hub.list(told)).items] == [1]


BROKEN = 'failed calling webhook "broken.example.com": EOF'


@pytest.mark.parametrize(("code", "why"), [(403, "because"), (500, BROKEN)])
async def test_a_job_that_the_hub_lets_nobody_place_keeps_no_room_from_others(
    lab: Lab, code: int, why: str
) -> None:
    world, meddling = lab.world, Meddling(lab.fleet.reach)
    tries: list[float] = []

    async def on_hub(request: Request, send: Send) -> Answer:
        if not request.target.partition("?")[0].endswith("/jobs/a/status"):
            return await send(request)
        tries.append(lab.fleet.clock.monotonic())
        return Answer(code, {}, orjson.dumps({"kind": "Status", "message": why}))

    meddling.meddle(lab.fleet.planes["west"].url, on_hub)
    await lab.add_worker("north", maxMirrors=1)
    async with lab.dispatcher(reach=meddling.reach):
        await world.submit(job("a"))
        assert why in await world.event("a", "StatusRefused")

        await world.run(job("b"), complete)
        await world.run(job("c"), complete)

        since = tries[0]
        assert len(tries) <= 5 + (tries[-1] - since) * 2  # less and less often
        meddling.meddle(lab.fleet.planes["west"].url, lambda request, send: send(request))
        await world.until("a", complete)


async def test_a_hub_that_says_again_and_again_that_a_job_has_changed_is_asked_less_and_less(
    lab: Lab,
) -> None:
    """As one does that was put back to an earlier state, until all is listed anew (history 1423)."""
    world, clock, meddling = lab.world, lab.fleet.clock, Meddling(lab.fleet.reach)
    tries: list[float] = []

    async def conflict(request: Request, send: Send) -> Answer:
        if request.method != "PATCH" or "/jobs/a/status" not in request.target:
            return await send(request)
        tries.append(clock.monotonic())
        if len(tries) > MANY * 3:
            return await send(request)
        said = {"kind": "Status", "code": 409, "reason": "Conflict", "message": "other"}
        return Answer(409, {}, orjson.dumps(said))

    meddling.meddle(lab.fleet.planes["west"].url, conflict)
    await lab.add_worker("north")
    async with lab.dispatcher(reach=meddling.reach):
        await world.run(job("a"), complete)

    passes = tries[: MANY * 3 + 1 : 3]
    assert all(later - earlier > 0.02 for earlier, later in pairwise(passes))
