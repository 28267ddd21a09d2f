"""Workers that take no more work, or give theirs away."""

from typing import Any

import pytest

from jobferry.clock import sleep
from jobferry.core.leave import DRAINED
from jobferry.core.marks import VACATING
from jobferry.core.placement_object import RESOURCE as PLACEMENTS
from jobferry.kube.calls import Scope
from jobferry.kube.informer import Informer
from jobferry.kube.items import Head
from jobferry.kube.resources import JOBS, PODS
from jobferry.objects import Obj
from jobferry.runtime import supervise
from tests.system.fleet import CANNOT_RESUME
from tests.system.jobs import (
    FOREVER,
    NORTH_FIRST,
    attempt,
    complete,
    condition,
    count,
    counts,
    is_there,
    job,
    runs,
    suspended,
)
from tests.system.lab import Lab
from tests.system.world import World, named, until_none

pytestmark = pytest.mark.fleet


async def test_a_worker_that_takes_nothing_new_keeps_what_it_has(lab: Lab) -> None:
    world = lab.world
    await lab.add_workers()
    queue = await world.queue("north-first", **NORTH_FIRST)
    async with lab.dispatcher():
        await world.run(job("old", queue=queue, seconds=FOREVER), runs(1))

        await lab.edit_worker("north", drain="NoNewWork")
        await lab.worker("north", lambda obj: obj["spec"]["drain"] == "NoNewWork")
        await world.run(job("new", queue=queue), complete)

        assert await world.where("new") == "south"
        await world.finish_pod("north", "old")
        assert attempt(await world.until("old", complete)) == 1


async def test_a_drained_worker_gives_its_work_away_and_pods_never_overlap(
    lab: Lab,
) -> None:
    world = lab.world
    await lab.add_workers()
    queue = await world.queue("north-first", **NORTH_FIRST)
    spec = job("a", queue=queue, seconds=FOREVER, completions=3, parallelism=2)
    async with lab.dispatcher(), Overlap(world) as overlap:
        await world.run(spec, runs(2))
        await world.finish_pod("north", "a")
        await world.until("a", counts(succeeded=1, ready=2))

        await lab.edit_worker("north", drain="MoveAway")

        moved = await world.mirror("a", runs(2), attempt=2)
        assert await world.where("a", attempt=2) == "south"
        assert moved["spec"]["completions"] == 2
        assert not overlap.seen
        await until_none(world.workers["north"], named(JOBS, "a", world.namespace))
        for _ in range(2):
            await world.finish_pod("south", "a")
        done = await world.until("a", complete)
        assert count(done, "succeeded") == 3
        assert count(done, "failed") == 0


class Overlap:
    """Watches the pods on all workers, and notes if they run on two of them at once."""

    def __init__(self, world: World) -> None:
        self.seen = False
        scope = Scope(resource=PODS, namespace=world.namespace)
        self._informers = [Informer(each, scope, Head) for each in world.workers.values()]
        for informer in self._informers:
            informer.listen(self._look)
        self._tasks = supervise.tasks("overlap", clock=world.hub.clock)

    async def __aenter__(self) -> "Overlap":
        tasks = await self._tasks.__aenter__()
        for informer in self._informers:
            tasks.start("informer", informer.run)
            await informer.synced.wait()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._tasks.__aexit__(None, None, None)

    def _look(self, _: object) -> None:
        busy = [
            any(map(_is_busy, (item.object() for item in each))) for each in self._informers
        ]
        self.seen |= sum(busy) > 1


def _is_busy(pod: Obj) -> bool:
    return pod["status"]["phase"] in {"Pending", "Running"}


@pytest.mark.skipif(CANNOT_RESUME, reason="its own controller cannot resume Jobs there")
async def test_a_drain_that_is_called_off_costs_a_job_nothing_of_its_deadline(
    lab: Lab,
) -> None:
    world, clock = lab.world, lab.fleet.clock
    await lab.add_workers()
    queue = await world.queue("north-first", **NORTH_FIRST)
    async with lab.dispatcher():
        brief = job("a", queue=queue, seconds=FOREVER, activeDeadlineSeconds=10)
        await world.run(brief, runs(1))
    # So far a drain has come when it is called off, and the dispatcher is killed.
    stop = {"metadata": {"annotations": {VACATING: DRAINED}}, "spec": {"suspend": True}}
    await world.workers["north"].patch(JOBS, "a", stop, namespace=world.namespace)
    await world.on("north", "a", lambda obj: suspended(obj) and counts(active=0)(obj))
    await sleep(clock, 11)

    async with lab.dispatcher():
        await world.on("north", "a", runs(1))
        back = await world.on(
            "north", "a", lambda obj: obj["spec"]["activeDeadlineSeconds"] == 10
        )
        assert VACATING not in back["metadata"]["annotations"]
        await world.until("a", runs(1))
        await world.finish_pod("north", "a")

        assert attempt(await world.until("a", complete)) == 1
        assert "ChangedOnWorker" not in await world.reasons("a")


async def test_the_only_worker_keeps_its_work_though_it_is_drained(lab: Lab) -> None:
    world = lab.world
    await lab.add_worker("north")
    async with lab.dispatcher():
        await world.run(job("a", seconds=FOREVER), runs(1))

        await lab.edit_worker("north", drain="MoveAway")
        await world.submit(job("b"))
        await world.finish_pod("north", "a")

        assert attempt(await world.until("a", complete)) == 1
        assert condition(await world.until("b", is_there), "Placed") == {}


async def test_a_worker_holds_no_more_than_it_may(lab: Lab) -> None:
    world = lab.world
    await lab.add_worker("north", maxMirrors=1)
    await lab.add_worker("south")
    queue = await world.queue("north-first", **NORTH_FIRST)
    async with lab.dispatcher():
        await world.run(job("a", queue=queue, seconds=FOREVER), runs(1))
        await world.run(job("b", queue=queue), complete)
        assert await world.where("a") == "north"
        assert await world.where("b") == "south"

        await world.finish_pod("north", "a")
        await world.until("a", complete)

        await world.run(job("c", queue=queue), complete)
        assert await world.where("c") == "north"


async def test_jobs_that_wait_for_room_get_it_one_after_the_other(lab: Lab) -> None:
    world = lab.world
    await lab.add_worker("north", maxMirrors=1)
    async with lab.dispatcher():
        await world.run(job("first", seconds=FOREVER), runs(1))
        for name in ("a", "b", "c"):
            await world.submit(job(name))
        assert "takes at most 1" in await world.event("c", "NoWorker")

        await world.finish_pod("north", "first")

        for name in ("a", "b", "c"):
            await world.until(name, complete)


async def test_a_worker_holds_no_more_than_its_capacity(lab: Lab) -> None:
    world = lab.world
    await lab.add_worker("north", capacity={"cpu": "2"})
    async with lab.dispatcher():
        await world.run(asking("big", "1500m", seconds=FOREVER), runs(1))
        await world.submit(asking("second", "1"))
        await world.run(asking("small", "500m"), complete)

        assert "too little cpu is left of its 2" in await world.event("second", "NoWorker")
        await world.finish_pod("north", "big")
        await world.until("second", complete)


def asking(name: str, cpu: str, **facts: Any) -> Obj:
    """Return a Job whose pods request CPU."""
    made = job(name, **facts)
    container = made["spec"]["template"]["spec"]["containers"][0]
    container["resources"] = {"requests": {"cpu": cpu}}
    return made


async def test_an_api_server_that_is_slow_to_answer_delays_nothing_for_good(
    lab: Lab,
) -> None:
    world = lab.world
    await lab.add_worker("south")
    async with lab.dispatcher():
        lab.proxies["south"].freeze()
        await world.submit(job("a"))
        await world.where("a")

        lab.proxies["south"].thaw()

        await world.until("a", complete)
        assert await world.pods("a") == {"south": 1}


SCATTERED = ",".join(map(str, range(0, 100_000, 2)))


async def run_scattered(lab: Lab) -> Obj:
    """Have a Job on north of which every second index has ended: its next record is too large for it."""
    world, north = lab.world, lab.world.workers["north"]
    await lab.add_workers()
    queue = await world.queue("north-first", **NORTH_FIRST)
    indexed: dict[str, Any] = {"completionMode": "Indexed", "completions": 100_000}
    await world.submit(job("a", queue=queue, seconds=FOREVER, parallelism=0, **indexed))
    await world.on("north", "a", lambda obj: obj.get("status", {}).get("startTime"))
    done = {"status": {"completedIndexes": SCATTERED}}
    await north.patch(JOBS, "a", done, namespace=world.namespace, subresource="status")
    return await world.until("a", counts(succeeded=50_000))


async def test_a_job_whose_record_does_not_fit_moves_with_what_it_earned(lab: Lab) -> None:
    world = lab.world
    async with lab.dispatcher():
        uid = (await run_scattered(lab))["metadata"]["uid"]

        await lab.edit_worker("north", drain="MoveAway")

        await world.mirror("a", attempt=2)
        stored = await world.hub.get(PLACEMENTS, uid, world.namespace)
        assert SCATTERED in stored["spec"]["shards"][0]["base"]
        found = await world.until("a", is_there)
        assert found["status"]["completedIndexes"] == SCATTERED
        await world.delete("a")
        await until_none(world.hub, named(PLACEMENTS, uid, world.namespace))


async def test_a_job_with_no_room_for_a_record_runs_on_where_it_is(lab: Lab) -> None:
    world = lab.world
    async with lab.dispatcher():
        notes = (await run_scattered(lab))["metadata"]["annotations"]
        applied = "kubectl.kubernetes.io/last-applied-configuration"
        room = 256 * 1024 - sum(len(key) + len(value) for key, value in notes.items())
        much = {applied: "-" * (room - len(applied))}
        await world.edit("a", {"metadata": {"annotations": much}})

        await lab.edit_worker("north", drain="MoveAway")

        assert "262144 bytes" in await world.event("a", "RecordTooLarge")
        assert attempt(await world.until("a", is_there)) == 1
        assert not (await world.on("north", "a"))["spec"].get("suspend")
