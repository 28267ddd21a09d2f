"""Workers that somebody deletes: they go when nothing of ours is left on their clusters."""

import pytest

from jobferry.kube.calls import Scope
from jobferry.kube.resources import EVENTS, JOBS
from jobferry.objects import Obj
from jobferry.workers.resource import WORKERS, finalizer
from tests.system.fleet import add_worker
from tests.system.jobs import (
    FOREVER,
    MANAGER,
    NORTH_FIRST,
    SOON,
    WAITING,
    attempt,
    complete,
    condition,
    is_there,
    job,
    lost,
    runs,
)
from tests.system.lab import Lab
from tests.system.world import named, until_none, until_one

pytestmark = pytest.mark.fleet

OTHER = "example.com/other"


def leaving(worker: Obj) -> bool:
    """Hold if a Worker waits for what is left there."""
    return condition(worker, "Ready").get("reason") == "Removing"


async def remove(lab: Lab, name: str) -> None:
    await lab.world.hub.delete(WORKERS, name)


async def removed(lab: Lab, name: str) -> None:
    """Wait until a Worker is gone, and see that nothing of ours is left on its cluster."""
    await until_none(lab.world.hub, named(WORKERS, name))
    left = Scope(resource=JOBS, namespace=lab.world.namespace)
    assert (await lab.world.workers[name].list(left)).items == []


async def test_a_worker_that_is_removed_gives_its_work_away_before_it_goes(lab: Lab) -> None:
    world = lab.world
    await lab.add_workers()
    queue = await world.queue("north-first", **NORTH_FIRST)
    async with lab.dispatcher():
        await world.run(job("a", queue=queue, seconds=FOREVER), runs(1))

        await remove(lab, "north")

        await removed(lab, "north")
        await world.mirror("a", runs(1), attempt=2)
        assert await world.where("a", attempt=2) == "south"


async def test_a_removed_worker_is_kept_while_work_is_to_wait_for_it(lab: Lab) -> None:
    world = lab.world
    await lab.add_workers()
    queue = await world.queue("waiting", **WAITING)
    async with lab.dispatcher():
        await world.run(job("a", queue=queue, seconds=FOREVER), runs(1))

        await remove(lab, "north")
        await lab.worker("north", leaving)
        await world.run(job("b", queue=queue), complete)

        assert await world.where("b") == "south"
        await world.finish_pod("north", "a")
        await removed(lab, "north")
        assert attempt(await world.until("a", complete)) == 1


async def test_what_is_finished_stays_so_when_its_worker_is_removed(lab: Lab) -> None:
    world = lab.world
    await lab.add_workers()
    queue = await world.queue("north-first", **NORTH_FIRST)
    async with lab.dispatcher():
        before = await world.run(job("a", queue=queue), complete)
        await world.on("north", "a")

        await remove(lab, "north")

        await removed(lab, "north")
        assert (await world.until("a", is_there))["status"] == before["status"]


async def test_the_only_worker_stays_until_its_work_is_done(lab: Lab) -> None:
    world = lab.world
    await lab.add_worker("north")
    async with lab.dispatcher():
        await world.run(job("a", seconds=FOREVER), runs(1))

        await remove(lab, "north")
        await lab.worker("north", leaving)
        await world.finish_pod("north", "a")

        await removed(lab, "north")
        assert attempt(await world.until("a", complete)) == 1


async def test_a_worker_out_of_reach_goes_after_the_time_for_lost_ones(lab: Lab) -> None:
    world = lab.world
    await lab.add_workers()
    queue = await world.queue("soon", **SOON)
    async with lab.dispatcher(worker_lost_after=1.0):
        await world.run(job("a", queue=queue, seconds=FOREVER), runs(1))
        await lab.proxies["north"].cut()
        await lab.worker("north", lost)

        await remove(lab, "north")

        await until_none(world.hub, named(WORKERS, "north"))
        assert await world.where("a", attempt=2) == "south"
        about = "involvedObject.kind=Worker,involvedObject.name=north,reason=MirrorsLeft"
        events = Scope(resource=EVENTS, namespace="default", fields=about)
        event = await until_one(world.hub, events, is_there)
        assert "may still hold" in event["message"]
        command = event["message"].rpartition(" -l ")[2]
        found = await world.workers["north"].list(Scope(resource=JOBS, labels=command))
        assert "a" in {each["metadata"]["name"] for each in found.items}


async def test_a_worker_that_was_never_reached_goes_at_once(lab: Lab) -> None:
    async with lab.standby():
        await add_worker(lab.world.hub, "north", "{}")
        await lab.worker("north", lost)

        await remove(lab, "north")

        await until_none(lab.world.hub, named(WORKERS, "north"))


async def test_a_worker_goes_when_every_dispatcher_lets_it_go(lab: Lab) -> None:
    world = lab.world
    await lab.add_workers()
    queue = await world.queue("waiting", **WAITING)
    guards = {finalizer(MANAGER), finalizer(OTHER)}
    async with lab.dispatcher(), lab.dispatcher(managed_by=(OTHER,)):
        await world.run(job("a", queue=queue, manager=OTHER, seconds=FOREVER), runs(1))
        name = await world.where("a")
        await lab.worker(name, lambda obj: set(obj["metadata"]["finalizers"]) == guards)

        await remove(lab, name)
        await lab.worker(name, lambda obj: obj["metadata"]["finalizers"] == [finalizer(OTHER)])
        await world.finish_pod(name, "a")

        await removed(lab, name)
        await world.until("a", complete)


async def test_a_copy_that_somebody_made_of_a_mirror_keeps_no_worker(lab: Lab) -> None:
    world, north = lab.world, lab.world.workers["north"]
    await lab.add_workers()
    queue = await world.queue("north-first", **NORTH_FIRST)
    async with lab.dispatcher():
        await world.run(job("a", queue=queue), complete)
        mirror = (await world.on("north", "a"))["metadata"]
        copy = job("copy", manager=None, suspend=True)
        copy["metadata"] |= {key: mirror[key] for key in ("labels", "annotations")}
        await north.create(JOBS, copy, namespace=world.namespace)

        await remove(lab, "north")

        await until_none(world.hub, named(WORKERS, "north"))
        await world.on("north", "copy")
        await until_none(north, named(JOBS, "a", world.namespace))


async def test_a_dispatcher_that_starts_again_goes_on_with_a_removal(lab: Lab) -> None:
    world = lab.world
    await lab.add_workers()
    queue = await world.queue("north-first", **NORTH_FIRST)
    async with lab.dispatcher():
        await world.run(job("a", queue=queue, seconds=FOREVER), runs(1))
    await remove(lab, "north")
    await lab.worker("north", lambda obj: "deletionTimestamp" in obj["metadata"])

    async with lab.standby():
        await removed(lab, "north")

        await world.mirror("a", runs(1), attempt=2)
