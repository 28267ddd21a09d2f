"""What becomes of mirrors when Jobs go, and of Jobs when mirrors go."""

import pytest

from jobferry.kinds.job import legal
from jobferry.kube.calls import Propagation
from jobferry.kube.resources import JOBS
from jobferry.objects import Obj
from tests.system.jobs import (
    FOREVER,
    WAITING,
    complete,
    condition,
    count,
    failed,
    is_there,
    job,
    lost,
    runs,
)
from tests.system.lab import Lab
from tests.system.world import World, named, until_none

pytestmark = pytest.mark.fleet


@pytest.mark.parametrize("propagation", ["Background", "Foreground", "Orphan"])
async def test_the_mirror_and_its_pods_go_with_the_job(
    world: World, propagation: Propagation
) -> None:
    await world.run(job("a", seconds=FOREVER), runs(1))

    await world.hub.delete(JOBS, "a", world.namespace, propagation=propagation)

    await world.gone("a")
    await until_none(world.hub, named(JOBS, "a", world.namespace))


async def test_the_mirror_of_a_finished_job_stays_until_the_job_goes(world: World) -> None:
    await world.run(job("a"), complete)
    assert await world.mirror("a", complete)

    await world.delete("a")

    await world.gone("a")


async def test_a_job_made_again_under_the_same_name_runs_again(world: World) -> None:
    first = await world.run(job("a", seconds=FOREVER), runs(1))
    await world.delete("a")

    second = await world.run(job("a"), complete)

    assert second["metadata"]["uid"] != first["metadata"]["uid"]
    mirror = await world.mirror("a", complete)
    assert mirror["metadata"]["labels"]["jobferry.io/hub-uid"] == second["metadata"]["uid"]
    assert count(second, "succeeded") == 1


async def test_a_job_made_again_for_the_hub_alone_takes_its_mirror_away(world: World) -> None:
    await world.run(job("a", seconds=FOREVER), runs(1))
    await world.delete("a")

    await world.run(job("a", manager=None), complete)

    await world.gone("a")


async def test_time_to_live_removes_a_finished_job_and_it_never_runs_again(
    world: World,
) -> None:
    await world.run(job("a", ttlSecondsAfterFinished=0), is_there)

    await until_none(world.hub, named(JOBS, "a", world.namespace))
    await world.gone("a")

    # Whatever the dispatcher did about it, it has done before it gets to the next.
    await world.run(job("b"), complete)
    assert await world.pods("a") == {}


async def test_the_mirror_has_no_time_to_live(world: World) -> None:
    await world.run(job("a", seconds=FOREVER, ttlSecondsAfterFinished=5), runs(1))

    assert "ttlSecondsAfterFinished" not in (await world.mirror("a"))["spec"]


async def test_a_mirror_that_somebody_deletes_before_it_ran_is_made_again(
    world: World,
) -> None:
    await world.submit(job("a", queue="east", parallelism=0))
    first = await world.mirror("a", lambda obj: obj.get("status", {}).get("startTime"))
    await world.workers["east"].delete(JOBS, "a", world.namespace, propagation="Background")

    again = await world.on(
        "east", "a", lambda obj: obj["metadata"]["uid"] != first["metadata"]["uid"]
    )

    assert again["metadata"]["labels"]["jobferry.io/attempt"] == "1"
    await world.edit("a", {"spec": {"parallelism": 1}})
    await world.until("a", complete)


async def test_a_mirror_that_somebody_deletes_while_it_runs_is_a_new_attempt(
    world: World,
) -> None:
    await world.run(job("a", queue="east", seconds=FOREVER), runs(1))
    await world.workers["east"].delete(JOBS, "a", world.namespace, propagation="Background")

    again = await world.mirror("a", runs(1), attempt=2)

    assert again["metadata"]["labels"]["jobferry.io/attempt"] == "2"
    hub_job = await world.until("a", runs(1))
    assert condition(hub_job, "Placed")["message"].startswith("attempt 2 on east")


async def test_a_mirror_that_somebody_deletes_after_it_ended_changes_nothing(
    world: World,
) -> None:
    done = await world.run(job("a", queue="east"), complete)
    await world.workers["east"].delete(JOBS, "a", world.namespace, propagation="Background")
    await world.gone("a")

    await world.run(job("b", queue="east"), complete)

    assert await world.pods("a") == {}
    assert (await world.until("a", is_there))["status"] == done["status"]


async def test_finished_mirrors_go_when_the_queue_says_so(world: World) -> None:
    queue = await world.queue("brief", finishedMirrors={"keepSeconds": 0})

    done = await world.run(job("a", queue=queue), complete)

    await world.gone("a")
    assert (await world.until("a", is_there))["status"] == done["status"]


async def test_a_job_that_others_end_stops_running(world: World) -> None:
    await world.run(job("a", seconds=FOREVER), runs(1))

    ended = await end(world, "a")

    await world.gone("a")
    assert (await world.until("a", is_there))["status"] == ended["status"]


async def end(world: World, name: str) -> Obj:
    """Say that a Job has failed, as somebody may who has the right to write its status."""
    found = await world.until(name, is_there)
    status = legal.fail(found, "Cancelled", "not wanted any more", world.hub.clock.now())
    patch = legal.patch(found, status)
    assert patch is not None
    return await world.hub.patch(
        JOBS, name, patch, namespace=world.namespace, subresource="status"
    )


async def test_a_job_that_ended_while_its_worker_was_lost_is_stopped_once_it_is_back(
    lab: Lab,
) -> None:
    world = lab.world
    await lab.add_workers()
    queue = await world.queue("waiting", **WAITING)
    async with lab.dispatcher():
        await world.run(job("a", queue=queue, seconds=FOREVER), runs(1))
        await lab.proxies["north"].cut()
        await lab.worker("north", lost)
        await end(world, "a")

        await lab.proxies["north"].mend()

        await world.gone("a")


async def test_a_mirror_that_has_ended_unseen_stays_for_its_logs(lab: Lab) -> None:
    """A leader that takes over may know the end of a Job before that of its mirror."""
    world = lab.world
    await lab.add_workers()
    queue = await world.queue("waiting", **WAITING)
    async with lab.dispatcher():
        await world.run(job("a", queue=queue, seconds=FOREVER), runs(1))
        lab.proxies["north"].freeze()
        await world.finish_pod("north", "a")
        mirror = await world.on("north", "a", complete)
        await end(world, "a")
        await world.run(job("b", queue=queue), is_there)

        lab.proxies["north"].thaw()

        await world.until("b", complete)
        assert (await world.on("north", "a"))["metadata"]["uid"] == mirror["metadata"]["uid"]


async def test_jobs_deleted_while_the_dispatcher_is_down_are_cleaned_up_after_it_is_back(
    lab: Lab,
) -> None:
    world = lab.world
    await lab.add_workers()
    async with lab.dispatcher():
        await world.run(job("runs", seconds=FOREVER), runs(1))
        await world.run(job("done"), complete)
    await world.delete("runs")
    await world.delete("done")

    async with lab.dispatcher():
        await world.gone("runs")
        await world.gone("done")


async def test_a_job_that_ends_while_the_dispatcher_is_down_has_ended_after_it_is_back(
    lab: Lab,
) -> None:
    world = lab.world
    await lab.add_workers()
    async with lab.dispatcher():
        await world.run(job("a", seconds=FOREVER), runs(1))
    await world.finish_pod(await world.where("a"), "a")
    await world.mirror("a", complete)

    async with lab.dispatcher():
        assert count(await world.until("a", complete), "succeeded") == 1
    assert sum((await world.pods("a")).values()) == 1


async def test_a_job_whose_mirror_was_deleted_fails_if_its_queue_says_so(world: World) -> None:
    queue = await world.queue("strict", onMirrorDeleted="Fail")
    await world.run(job("a", queue=queue, seconds=FOREVER), runs(1))
    worker = await world.where("a")

    await world.workers[worker].delete(JOBS, "a", world.namespace, propagation="Background")

    ended = await world.until("a", failed)
    assert condition(ended, "Failed")["reason"] == "MirrorDeleted"
