"""Workers that are out of reach: unseen is not dead."""

from datetime import timedelta
from typing import Any

import pytest

from jobferry.clock import sleep
from jobferry.core import times
from jobferry.kube.informer import Informer
from jobferry.kube.items import Head
from jobferry.kube.resources import JOBS
from jobferry.objects.times import timestamp
from jobferry.runtime import supervise
from jobferry.workers.resource import WORKERS
from jobferry.workers.status import CONFIRM_EVERY
from tests.system.jobs import (
    FOREVER,
    NORTH_FIRST,
    SOON,
    WAITING,
    attempt,
    complete,
    condition,
    count,
    failed,
    job,
    lost,
    runs,
)
from tests.system.lab import Lab
from tests.system.world import named, until_none

pytestmark = pytest.mark.fleet


async def test_a_brief_drop_moves_nothing_and_nothing_is_missed(lab: Lab) -> None:
    world = lab.world
    await lab.add_workers()
    queue = await world.queue("north-first", **NORTH_FIRST)
    async with lab.dispatcher():
        await world.run(job("a", queue=queue, seconds=FOREVER), runs(1))

        await lab.proxies["north"].cut()
        await lab.worker("north", lost)
        await world.finish_pod("north", "a")
        await lab.proxies["north"].mend()

        done = await world.until("a", complete)
        assert condition(done, "Placed")["message"].startswith("attempt 1 on north")
        assert await world.pods("a") == {"north": 1}


async def test_other_workers_go_on_while_one_is_frozen(lab: Lab) -> None:
    world = lab.world
    await lab.add_workers()
    async with lab.dispatcher():
        lab.proxies["north"].freeze()

        names = [f"job-{number}" for number in range(6)]
        for name in names:
            await world.submit(job(name))

        there = [name for name in names if await world.where(name) == "south"]
        assert there
        for name in there:
            await world.until(name, complete)
        lab.proxies["north"].thaw()
        for name in names:
            await world.until(name, complete)
            assert sum((await world.pods(name)).values()) == 1


async def test_work_of_a_lost_worker_moves_with_what_it_has_earned(lab: Lab) -> None:
    world = lab.world
    await lab.add_workers()
    queue = await world.queue("soon", **SOON)
    spec = job("a", queue=queue, seconds=FOREVER, completions=3, parallelism=2, backoffLimit=4)
    async with lab.dispatcher():
        await world.run(spec, runs(2))
        await world.finish_pod("north", "a")
        before = await world.until("a", lambda obj: count(obj, "succeeded") == 1)

        await lab.proxies["north"].cut()
        moved = await world.mirror("a", runs(2), attempt=2)
        assert await world.where("a", attempt=2) == "south"
        assert moved["spec"]["completions"] == 2
        after = await world.until("a", runs(2))
        assert count(after, "succeeded") == 1
        assert after["status"]["startTime"] == before["status"]["startTime"]

        await lab.proxies["north"].mend()
        await until_none(world.workers["north"], named(JOBS, "a", world.namespace))
        for _ in range(2):
            await world.finish_pod("south", "a")
        assert count(await world.until("a", complete), "succeeded") == 3


async def test_what_a_lost_worker_has_left_of_the_limits_goes_with_its_work(
    lab: Lab,
) -> None:
    world = lab.world
    await lab.add_workers()
    queue = await world.queue("soon", **SOON)
    limits: dict[str, Any] = {"backoffLimit": 4, "activeDeadlineSeconds": 600}
    async with lab.dispatcher():
        await world.run(job("a", queue=queue, seconds=FOREVER, **limits), runs(1))

        await lab.proxies["north"].cut()

        moved = await world.mirror("a", attempt=2)
        assert moved["spec"]["backoffLimit"] == 4
        assert 570 < moved["spec"]["activeDeadlineSeconds"] < 600


async def test_a_job_whose_deadline_is_over_when_its_worker_is_lost_has_failed(
    lab: Lab,
) -> None:
    world = lab.world
    await lab.add_workers()
    lost_after = {"action": "Move", "afterSeconds": 4}
    queue = await world.queue("later", **NORTH_FIRST, onWorkerLost=lost_after)
    async with lab.dispatcher():
        brief = job("a", queue=queue, seconds=FOREVER, activeDeadlineSeconds=4)
        await world.run(brief, runs(1))

        await lab.proxies["north"].cut()

        done = await world.until("a", failed)
        assert condition(done, "Failed")["reason"] == "DeadlineExceeded"
        assert await world.pods("a") in ({}, {"north": 1})


async def test_nothing_moves_if_the_queue_says_to_wait(lab: Lab) -> None:
    world = lab.world
    await lab.add_workers()
    queue = await world.queue("waiting", **WAITING)
    async with lab.dispatcher():
        await world.run(job("a", queue=queue, seconds=FOREVER), runs(1))
        await lab.proxies["north"].cut()
        await lab.worker("north", lost)
        await world.run(job("b", queue=queue), complete)  # meanwhile it would have been seen to

        await lab.proxies["north"].mend()
        await world.finish_pod("north", "a")

        assert attempt(await world.until("a", complete)) == 1


async def test_nothing_moves_if_most_workers_are_lost_at_once(lab: Lab) -> None:
    world = lab.world
    await lab.add_workers()
    queue = await world.queue("soon", **SOON)
    async with lab.dispatcher():
        await world.run(job("a", queue=queue, seconds=FOREVER), runs(1))
        for proxy in lab.proxies.values():
            await proxy.cut()
        for name in lab.proxies:
            await lab.worker(name, lost)
        await sleep(lab.fleet.clock, 2)  # the time after which it would have moved

        await lab.proxies["north"].mend()
        await lab.worker("north")  # else south may be back so much earlier that it moves there
        await lab.proxies["south"].mend()
        await world.finish_pod("north", "a")

        assert attempt(await world.until("a", complete)) == 1


async def test_the_time_starts_anew_when_we_are_not_cut_off_any_more(lab: Lab) -> None:
    world, clock = lab.world, lab.fleet.clock
    await lab.add_workers()
    lost_after = {"action": "Move", "afterSeconds": 2}
    queue = await world.queue("later", **NORTH_FIRST, onWorkerLost=lost_after)
    async with lab.dispatcher():
        await world.run(job("a", queue=queue, seconds=FOREVER), runs(1))
        for proxy in lab.proxies.values():
            await proxy.cut()
        for name in lab.proxies:
            await lab.worker(name, lost)
        await sleep(clock, 2)

        await lab.proxies["south"].mend()
        await lab.worker("south")
        began = clock.monotonic()

        assert await world.where("a", attempt=2) == "south"
        assert clock.monotonic() - began > 1


async def test_several_dispatchers_agree_on_what_they_say_about_a_worker(lab: Lab) -> None:
    await lab.add_worker("south")
    await lab.proxies["south"].cut()
    hub, versions = lab.world.hub, []
    informer = Informer(hub, named(WORKERS, "south"), Head)
    informer.listen(lambda change: versions.append(change.item.head.metadata.resource_version))
    async with supervise.tasks("follow", clock=hub.clock) as tasks:
        tasks.start("informer", informer.run)
        async with lab.standby():
            await lab.worker("south", lost)
            await sleep(hub.clock, 1)  # the second one misses it later than the first
            async with lab.standby(managed_by=("example.com/other",)):
                await sleep(hub.clock, 1)
                assert len(versions) < 10


async def test_a_worker_that_is_lost_says_since_when(lab: Lab) -> None:
    await lab.add_workers()
    async with lab.dispatcher():
        before = lab.fleet.clock.now()
        await lab.proxies["north"].cut()

        worker = await lab.worker("north", lambda obj: obj["status"].get("lostSince"))

        since = times.instant(worker["status"]["lostSince"])
        assert abs((since - before).total_seconds()) < 3
        await lab.proxies["north"].mend()
        await lab.worker("north", lambda obj: not obj["status"].get("lostSince"))


@pytest.mark.timeout(40)
async def test_the_time_that_a_worker_is_lost_goes_on_over_a_restart(lab: Lab) -> None:
    world, clock = lab.world, lab.fleet.clock
    await lab.add_workers()
    lost_after = {"action": "Move", "afterSeconds": 12}
    queue = await world.queue("later", **NORTH_FIRST, onWorkerLost=lost_after)
    async with lab.dispatcher():
        await world.run(job("a", queue=queue, seconds=FOREVER), runs(1))
        await lab.proxies["north"].cut()
        worker = await lab.worker("north", lost)
        since = times.instant(worker["status"]["lostSince"])
        await sleep(clock, 8)

    async with lab.standby():
        assert await world.where("a", attempt=2) == "south"
        # Anew, it would have been 20 seconds.
        assert 11 <= (clock.now() - since).total_seconds() < 19
        shown = times.instant((await lab.worker("north", lost))["status"]["lostSince"])
        assert 0 <= (shown - since).total_seconds() <= CONFIRM_EVERY + 1


async def test_rule_22_time_in_which_no_dispatcher_looked_does_not_count(lab: Lab) -> None:
    hub, now = lab.world.hub, lab.fleet.clock.now()
    await lab.add_workers()
    await lab.proxies["north"].cut()
    async with lab.standby():
        await lab.worker("north", lost)
    hours = [timestamp(now - timedelta(hours=number)) for number in (3, 2)]
    past = {"lostSince": hours[0], "lostConfirmed": hours[1]}
    await hub.patch(WORKERS, "north", {"status": past}, subresource="status")

    async with lab.standby():
        worker = await lab.worker(
            "north", lambda obj: obj["status"].get("lostSince") != hours[0]
        )

    counted = now - times.instant(worker["status"]["lostSince"])
    assert timedelta(hours=1) <= counted + timedelta(minutes=1) <= timedelta(hours=1, minutes=3)


async def test_a_worker_given_another_kubeconfig_is_lost_anew(lab: Lab) -> None:
    hub, now = lab.world.hub, lab.fleet.clock.now()
    await lab.add_workers()
    await lab.proxies["north"].cut()
    async with lab.standby():
        await lab.worker("north", lost)
    past = {key: timestamp(now - timedelta(hours=1)) for key in ("lostSince", "lostConfirmed")}
    await hub.patch(
        WORKERS,
        "north",
        {"status": {**past, "lostConfirmed": timestamp(now)}},
        subresource="status",
    )
    await lab.edit_worker("north", kubeconfig={"context": "test"})

    async with lab.standby():
        worker = await lab.worker(
            "north", lambda obj: obj["status"].get("lostSince") != past["lostSince"]
        )

    assert times.instant(worker["status"]["lostSince"]) >= now - timedelta(seconds=1)
