"""What users change on the hub while a Job is under way, and what others change on a worker."""

import pytest

from jobferry.kube.resources import JOBS
from jobferry.objects import Obj
from tests.system.fleet import CANNOT_RESUME
from tests.system.jobs import (
    FOREVER,
    complete,
    condition,
    count,
    counts,
    failed,
    job,
    runs,
    suspended,
)
from tests.system.world import World

pytestmark = pytest.mark.fleet

resumes = pytest.mark.skipif(
    CANNOT_RESUME,
    reason="before 1.32.10, Kubernetes 1.32 never starts a Job again that it stopped",
)


async def test_a_suspended_job_waits_on_the_hub_and_is_placed_when_it_is_resumed(
    world: World,
) -> None:
    waiting = await world.run(job("a", suspend=True), suspended)
    assert condition(waiting, "Placed") == {}

    await world.edit("a", {"spec": {"suspend": False}})

    done = await world.until("a", complete)
    assert condition(done, "Suspended")["status"] == "False"


@resumes
async def test_a_running_job_can_be_suspended_and_resumed(world: World) -> None:
    await world.run(job("a", seconds=FOREVER), runs(1))

    await world.edit("a", {"spec": {"suspend": True}})
    stopped = await world.until("a", lambda obj: suspended(obj) and counts(active=0)(obj))
    assert not stopped["status"].get("startTime")

    await world.edit("a", {"spec": {"suspend": False}})
    again = await world.until("a", runs(1))
    assert condition(again, "Suspended")["status"] == "False"
    assert again["status"]["startTime"]


async def test_a_job_suspended_for_good_can_be_deleted(world: World) -> None:
    await world.run(job("a", seconds=FOREVER), runs(1))
    await world.edit("a", {"spec": {"suspend": True}})
    await world.until("a", suspended)

    await world.delete("a")

    await world.gone("a")


async def test_parallelism_is_scaled_up_and_down(world: World) -> None:
    await world.run(job("a", seconds=FOREVER, parallelism=1), runs(1))

    await world.edit("a", {"spec": {"parallelism": 3}})
    await world.until("a", runs(3))

    await world.edit("a", {"spec": {"parallelism": 2}})
    await world.until("a", lambda obj: runs(2)(obj) and counts(active=2)(obj))


async def test_an_elastic_job_is_scaled_down_and_ends(world: World) -> None:
    elastic = job("a", seconds=FOREVER, completions=3, parallelism=3, completionMode="Indexed")
    await world.run(elastic, runs(3))

    await world.edit("a", {"spec": {"completions": 2, "parallelism": 2}})

    await world.until("a", lambda obj: runs(2)(obj) and counts(active=2)(obj))
    assert (await world.mirror("a"))["spec"]["completions"] == 2


async def test_a_deadline_that_is_set_later_ends_the_job(world: World) -> None:
    await world.run(job("a", seconds=FOREVER), runs(1))

    await world.edit("a", {"spec": {"activeDeadlineSeconds": 1}})

    done = await world.until("a", failed)
    assert condition(done, "Failed")["reason"] == "DeadlineExceeded"


async def test_a_deadline_from_the_start_ends_the_job(world: World) -> None:
    done = await world.run(job("a", seconds=FOREVER, activeDeadlineSeconds=1), failed)

    assert condition(done, "Failed")["reason"] == "DeadlineExceeded"
    assert count(done, "active") == 0


async def test_labels_and_annotations_follow(world: World) -> None:
    await world.run(job("a", seconds=FOREVER), runs(1))

    change = {"labels": {"team": "blue"}, "annotations": {"note": "hello"}}
    await world.edit("a", {"metadata": change})

    await world.mirror("a", lambda obj: obj["metadata"]["labels"].get("team") == "blue")
    mirror = await world.mirror("a", lambda obj: "note" in obj["metadata"]["annotations"])
    assert mirror["metadata"]["annotations"]["note"] == "hello"


async def test_what_somebody_changes_on_the_worker_stays(world: World) -> None:
    await world.run(job("a", seconds=FOREVER, parallelism=1), runs(1))
    worker = await world.where("a")
    await world.workers[worker].patch(
        JOBS, "a", {"spec": {"parallelism": 2}}, namespace=world.namespace
    )
    await world.until("a", runs(2))

    await world.edit("a", {"spec": {"backoffLimit": 3}})

    mirror = await world.mirror("a", lambda obj: obj["spec"]["backoffLimit"] == 3)
    assert mirror["spec"]["parallelism"] == 2


@resumes
async def test_a_mirror_that_others_suspend_is_shown_as_it_is(world: World) -> None:
    await world.run(job("a", seconds=FOREVER), runs(1))
    worker = await world.where("a")

    await _suspend(world, worker, True)
    await world.until("a", lambda obj: suspended(obj) and counts(active=0)(obj))

    await _suspend(world, worker, False)
    await world.until("a", lambda obj: runs(1)(obj) and not suspended(obj))


async def _suspend(world: World, worker: str, is_suspended: bool) -> Obj:
    patch = {"spec": {"suspend": is_suspended}}
    return await world.workers[worker].patch(JOBS, "a", patch, namespace=world.namespace)


async def test_the_author_is_told_what_was_changed_on_a_worker(world: World) -> None:
    await world.run(job("a", seconds=FOREVER, completions=3), runs(1))
    worker = await world.where("a")

    await world.workers[worker].patch(
        JOBS, "a", {"spec": {"parallelism": 3}}, namespace=world.namespace
    )

    told = await world.event("a", "ChangedOnWorker")
    assert told == f"Changed on worker {worker}, and left so: /spec/parallelism: 1 became 3"
    await world.until("a", runs(3))
