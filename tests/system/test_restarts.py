"""Dispatchers that are stopped, cut off or replaced: the same end is reached, and nothing runs twice."""

from functools import partial

import pytest

from jobferry.runtime import supervise
from tests.system.jobs import FOREVER, complete, count, job, runs
from tests.system.lab import BRISK, Lab

pytestmark = pytest.mark.fleet


async def test_a_dispatcher_that_starts_again_goes_on_where_it_was(lab: Lab) -> None:
    world = lab.world
    await lab.add_workers()
    async with lab.dispatcher():
        await world.run(job("a", seconds=FOREVER), runs(1))
        worker, mirror = await world.where("a"), await world.mirror("a")
    await world.edit("a", {"spec": {"parallelism": 0}})
    await world.submit(job("b"))

    async with lab.dispatcher():
        await world.until("a", lambda obj: count(obj, "active") == 0)
        await world.until("b", complete)

    assert (await world.on(worker, "a"))["metadata"]["uid"] == mirror["metadata"]["uid"]


async def test_another_dispatcher_takes_over_when_the_first_one_stops(lab: Lab) -> None:
    world = lab.world
    await lab.add_workers()
    async with supervise.tasks("replicas", clock=lab.fleet.clock) as tasks:
        first = tasks.start("first", partial(lab.replica, lease=BRISK))
        await world.run(job("a", seconds=FOREVER), runs(1))
        tasks.start("second", partial(lab.replica, lease=BRISK))

        await first.stop()

        await world.run(job("b"), complete)
        await world.finish_pod(await world.where("a"), "a")
        await world.until("a", complete)
        assert sum((await world.pods("a")).values()) == 1


async def test_another_dispatcher_takes_over_when_the_first_one_is_cut_off(lab: Lab) -> None:
    world = lab.world
    await lab.add_workers()
    async with (
        lab.network() as network,
        supervise.tasks("replicas", clock=lab.fleet.clock) as tasks,
    ):
        tasks.start("first", partial(lab.replica, lease=BRISK, network=network))
        await world.run(job("a", seconds=FOREVER), runs(1))
        tasks.start("second", partial(lab.replica, lease=BRISK))

        await network.cut()
        await world.run(job("b"), complete)
        await network.mend()

        await world.finish_pod(await world.where("a"), "a")
        await world.until("a", complete)
        for name in ("a", "b"):
            assert sum((await world.pods(name)).values()) == 1
