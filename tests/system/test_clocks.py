"""Clocks that differ: durations are measured on one of them, the dispatcher's."""

from datetime import timedelta
from typing import Any

import pytest

from jobferry.core import times
from jobferry.testing.clock import SkewedClock
from tests.system.jobs import FOREVER, NORTH_FIRST, SOON, complete, condition, job, runs
from tests.system.lab import Lab
from tests.system.one_process import OneProcess

pytestmark = pytest.mark.fleet

HOUR = timedelta(hours=1)
LIMITS: dict[str, Any] = {"activeDeadlineSeconds": 600}


@pytest.mark.fleet("one process")
@pytest.mark.parametrize("skew", [-HOUR, HOUR])
async def test_the_clock_of_a_worker_does_not_matter_to_a_job_that_moves(
    lab: Lab, skew: timedelta
) -> None:
    world, clock = lab.world, lab.fleet.clock
    assert isinstance(lab.fleet, OneProcess)
    lab.fleet.clocks[lab.clusters["north"]].by = skew
    await lab.add_workers()
    queue = await world.queue("soon", **SOON)
    async with lab.dispatcher():
        worker = await lab.worker("north")
        told = "1:00:00 behind" if skew < timedelta() else "1:00:00 ahead"
        assert told in condition(worker, "Connected")["message"]
        job_ = job("a", queue=queue, seconds=FOREVER, **LIMITS)
        before = await world.run(job_, runs(1))
        started = times.instant(before["status"]["startTime"])
        assert abs(started - clock.now()) < timedelta(seconds=5)

        await lab.proxies["north"].cut()

        moved = await world.mirror("a", runs(1), attempt=2)
        assert 570 < moved["spec"]["activeDeadlineSeconds"] <= 600
        await world.finish_pod("south", "a")
        await world.until("a", complete)


@pytest.mark.fleet("one process")
async def test_a_mirror_is_given_time_to_start_by_its_workers_own_clock(lab: Lab) -> None:
    world = lab.world
    assert isinstance(lab.fleet, OneProcess)
    lab.fleet.clocks[lab.clusters["north"]].by = -HOUR
    await lab.add_workers()
    start = {"afterSeconds": 60, "action": "Move"}
    queue = await world.queue("quick", **NORTH_FIRST, onNotStarted=start)
    async with lab.dispatcher():
        done = await world.run(job("a", queue=queue, seconds=5), complete)

    assert condition(done, "Placed")["message"].startswith("attempt 1 on north")
    started, ended = (
        times.instant(done["status"][each]) for each in ("startTime", "completionTime")
    )
    assert timedelta(seconds=4) <= ended - started <= timedelta(seconds=7)


async def test_nor_does_our_own_clock(lab: Lab) -> None:
    world, clock = lab.world, lab.fleet.clock
    await lab.add_workers()
    queue = await world.queue("soon", **SOON)
    async with lab.dispatcher(clock=SkewedClock(clock, HOUR)):
        await world.run(job("a", queue=queue, seconds=FOREVER, **LIMITS), runs(1))

        await lab.proxies["north"].cut()

        moved = await world.mirror("a", runs(1), attempt=2)
        assert 570 < moved["spec"]["activeDeadlineSeconds"] <= 600


async def test_a_job_is_not_given_up_early_because_our_clock_is_ahead_of_the_hubs(
    lab: Lab,
) -> None:
    world, clock = lab.world, lab.fleet.clock
    await lab.add_worker("north", drain="NoNewWork")
    queue = await world.queue("brief", giveUpAfterSeconds=600)
    async with lab.standby(clock=SkewedClock(clock, HOUR)):
        await world.submit(job("a", queue=queue))
        await world.event("a", "NoWorker")

        await lab.edit_worker("north", drain="None")

        await world.until("a", complete)
