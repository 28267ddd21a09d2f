"""Who goes where next: one order of all that wait or are to leave, and one account of room."""

from collections import Counter

import pytest

from jobferry.core.placement import read
from jobferry.kube.calls import Scope
from jobferry.kube.resources import JOBS
from jobferry.objects import Obj
from tests.system.jobs import FOREVER, complete, job, runs
from tests.system.lab import Lab
from tests.system.world import World, named, until_none, until_one

pytestmark = pytest.mark.fleet


def asking(name: str, cpu: str, seconds: float = FOREVER, queue: str | None = None) -> Obj:
    """Return a Job whose one pod asks for so much."""
    made = job(name, seconds=seconds, queue=queue)
    [container] = made["spec"]["template"]["spec"]["containers"]
    container["resources"] = {"requests": {"cpu": cpu}}
    return made


async def jobs_of(world: World) -> list[Obj]:
    return (await world.hub.list(Scope(resource=JOBS, namespace=world.namespace))).items


async def test_jobs_that_fit_nowhere_block_nobody_behind_them(lab: Lab) -> None:
    """Sixteen did: when room came, the same first sixteen were looked at."""
    world = lab.world
    await lab.add_workers(capacity={"cpu": "1"})
    async with lab.dispatcher():
        await world.run(asking("north-full", "1"), runs())
        await world.run(asking("south-full", "1"), runs())
        for number in range(20):
            await world.submit(asking(f"large-{number}", "5"))
        await world.event("large-19", "NoWorker")
        await world.submit(asking("small", "1", 0.0))
        await world.event("small", "NoWorker")

        await world.delete("north-full")

        await world.until("small", complete)


async def test_a_drain_stops_only_what_has_a_place_elsewhere(lab: Lab) -> None:
    """Ten were stopped towards room for one, and nine of them resumed."""
    world = lab.world
    await lab.add_worker("north", capacity={"cpu": "5"})
    async with lab.dispatcher():
        for number in range(5):
            await world.run(asking(f"job-{number}", "1"), runs())
        await lab.add_worker("south", capacity={"cpu": "1"})
        await lab.worker("south")
        revisions = {
            each["metadata"]["name"]: each["metadata"]["generation"]
            for each in await mirrors(world, "north")
        }

        await lab.edit_worker("north", drain="MoveAway")
        ours = Scope(resource=JOBS, namespace=world.namespace)
        moved = await until_one(world.workers["south"], ours, lambda each: bool(runs()(each)))

        await until_none(
            world.workers["north"], named(JOBS, moved["metadata"]["name"], world.namespace)
        )
        stayed = await mirrors(world, "north")
        assert len(stayed) == 4
        for each in stayed:
            assert each["metadata"]["generation"] == revisions[each["metadata"]["name"]]


async def mirrors(world: World, worker: str) -> list[Obj]:
    scope = Scope(resource=JOBS, namespace=world.namespace)
    return (await world.workers[worker].list(scope)).items


async def test_what_waits_at_the_start_does_not_all_go_to_the_first_worker(lab: Lab) -> None:
    """Forty of forty did; the other came a second later."""
    world = lab.world
    await lab.add_workers()
    for number in range(12):
        await world.submit(job(f"job-{number}", seconds=FOREVER))
    lab.proxies["south"].freeze()
    async with lab.standby():
        await lab.worker("north")
        lab.proxies["south"].thaw()
        for number in range(12):
            await world.where(f"job-{number}")
        placed = [read(each) for each in await jobs_of(world)]

        counted = Counter(each.shards[0].worker for each in placed if each is not None)
        assert counted == {"north": 6, "south": 6}
