"""How Jobs travel: to a worker, and their status back."""

from typing import Any

import pytest

from jobferry.kube.calls import Scope
from jobferry.kube.resources import JOBS
from jobferry.objects import Obj
from tests.system.fleet import DISPATCHER, WORKER, Fleet
from tests.system.jobs import FOREVER, complete, condition, ended, failed, holds, job, runs
from tests.system.lab import Lab
from tests.system.world import World

pytestmark = pytest.mark.fleet

COPIED = (
    "completionTime",
    "failed",
    "failedIndexes",
    "startTime",
    "succeeded",
    "completedIndexes",
)


def copied(obj: Obj) -> Obj:
    """Return what the hub takes from the worker's status as it is."""
    return {member: obj["status"].get(member) for member in COPIED}


async def test_a_delegated_job_completes_with_the_status_that_its_worker_gave_it(
    world: World,
) -> None:
    hub_job = await world.run(job("a", completions=3, parallelism=2), complete)

    mirror = await world.mirror("a", complete)
    assert copied(hub_job) == copied(mirror)
    assert hub_job["status"]["succeeded"] == 3
    assert holds("SuccessCriteriaMet")(hub_job)  # even if its worker is too old to say so
    for theirs in mirror["status"]["conditions"]:
        ours = condition(hub_job, theirs["type"])
        for member in ("status", "reason", "message"):
            assert ours.get(member) == theirs.get(member)


async def test_the_pods_of_a_delegated_job_run_on_one_worker_and_none_on_the_hub(
    world: World,
) -> None:
    await world.run(job("a", seconds=FOREVER, parallelism=2), runs(2))

    assert list((await world.pods("a")).values()) == [2]
    hub = World(world.hub, {"hub": world.hub}, world.namespace)
    assert await hub.pods("a") == {}


async def test_a_job_that_is_not_delegated_runs_on_the_hub_and_is_left_alone(
    world: World,
) -> None:
    hub_job = await world.run(job("a", manager=None), complete)

    assert condition(hub_job, "Placed") == {}
    hub = World(world.hub, {"hub": world.hub}, world.namespace)
    assert await hub.pods("a") == {"hub": 1}
    assert await world.pods("a") == {}


async def test_a_job_that_others_manage_is_left_alone(world: World) -> None:
    await world.submit(job("theirs", manager="example.com/other"))

    await world.run(job("ours"), complete)

    theirs = await world.until("theirs", lambda _: True)
    assert theirs.get("status", {}) == {}


async def test_an_indexed_job_completes_with_its_indexes(world: World) -> None:
    hub_job = await world.run(
        job("a", completions=4, parallelism=4, completionMode="Indexed"), complete
    )

    assert hub_job["status"]["completedIndexes"] == "0-3"


async def test_a_job_that_fails_too_often_has_failed_on_the_hub_for_the_same_reason(
    world: World,
) -> None:
    hub_job = await world.run(job("a", exit_code=3, backoffLimit=0), failed)

    assert condition(hub_job, "Failed")["reason"] == "BackoffLimitExceeded"
    assert condition(hub_job, "FailureTarget")["reason"] == "BackoffLimitExceeded"
    assert hub_job["status"]["failed"] == 1


async def test_a_pod_failure_policy_decides_on_the_worker(world: World) -> None:
    rule = {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}}
    hub_job = await world.run(
        job("a", exit_code=42, backoffLimit=6, podFailurePolicy={"rules": [rule]}), failed
    )

    assert condition(hub_job, "Failed")["reason"] == "PodFailurePolicy"


async def test_a_success_policy_decides_on_the_worker(world: World) -> None:
    policy = {"rules": [{"succeededCount": 1}]}
    spec: dict[str, Any] = {"completionMode": "Indexed", "successPolicy": policy}
    hub_job = await world.run(job("a", completions=3, parallelism=1, **spec), complete)

    assert condition(hub_job, "SuccessCriteriaMet")["reason"] == "SuccessPolicy"
    assert hub_job["status"]["succeeded"] == 1


async def test_limits_for_each_index_are_counted_on_the_worker(world: World) -> None:
    spec: dict[str, Any] = {"completionMode": "Indexed", "backoffLimitPerIndex": 0}
    hub_job = await world.run(
        job("a", completions=2, parallelism=2, exit_code=1, **spec), failed
    )

    assert condition(hub_job, "Failed")["reason"] == "FailedIndexes"
    assert hub_job["status"]["failedIndexes"] == "0,1"


async def test_a_selector_by_hand_travels_as_it_is(world: World) -> None:
    labels = {"group": world.namespace}
    by_hand = job("a", manualSelector=True, selector={"matchLabels": labels})
    by_hand["spec"]["template"]["metadata"]["labels"] = labels

    await world.run(by_hand, complete)

    assert (await world.mirror("a"))["spec"]["selector"] == {"matchLabels": labels}


async def test_what_tools_keep_on_a_job_stays_on_the_hub_and_the_rest_travels(
    world: World,
) -> None:
    tracked = job("a")
    tracked["metadata"]["labels"] = {"argocd.argoproj.io/instance": "x", "team": "blue"}
    tracked["metadata"]["annotations"] = {
        "kubectl.kubernetes.io/last-applied-configuration": "{}",
        "note": "hello",
    }

    await world.submit(tracked)

    metadata = (await world.mirror("a"))["metadata"]
    assert metadata["labels"]["team"] == "blue"
    assert metadata["annotations"]["note"] == "hello"
    assert "argocd.argoproj.io/instance" not in metadata["labels"]
    assert "kubectl.kubernetes.io/last-applied-configuration" not in metadata["annotations"]


async def test_of_its_first_placement_a_job_tells_itself(world: World) -> None:
    await world.run(job("a"), complete)

    # As `kubectl describe` shows it, beginning with its attempt and its worker.
    noted = (await world.until("a", complete))["metadata"]["annotations"][
        "jobferry.io/placement"
    ]
    assert f'"attempt":1,"shards":[{{"worker":"{await world.where("a")}"' in noted
    assert await world.reasons("a") == set()


async def test_people_can_be_told_where_each_job_was_placed(lab: Lab) -> None:
    world = lab.world
    await lab.add_workers()
    async with lab.dispatcher(placed_events="all"):
        await world.submit(job("a"))

        assert await world.event("a", "Placed") == f"Placed on worker {await world.where('a')}"


async def test_fifty_jobs_at_once_all_complete(world: World) -> None:
    names = [f"job-{number}" for number in range(50)]

    for name in names:
        await world.submit(job(name))
    for name in names:
        await world.until(name, ended)

    jobs = (await world.hub.list(Scope(resource=JOBS, namespace=world.namespace))).items
    assert all(map(complete, jobs))
    for worker in world.workers:
        assert 20 <= len(await _jobs(world, worker)) <= 30


async def _jobs(world: World, worker: str) -> list[Obj]:
    scope = Scope(resource=JOBS, namespace=world.namespace)
    return (await world.workers[worker].list(scope)).items


async def test_a_job_that_just_runs_costs_few_requests(world: World, fleet: Fleet) -> None:
    await world.run(job("a", queue="east"), complete)
    # A worker before 1.31 does not say when it is about to end: that its pod has ended is news by itself.
    is_old = not condition(await world.mirror("a"), "SuccessCriteriaMet")
    await world.delete("a")
    await world.gone("a")

    # The placement, that it runs, its end.
    assert _verbs(fleet, "hub", DISPATCHER, world) == ["patch"] * (4 if is_old else 3)
    assert _verbs(fleet, "east", WORKER, world) == ["create", "delete"]


def _verbs(fleet: Fleet, cluster: str, user: str, world: World) -> list[str]:
    return [
        entry["verb"]
        for entry in fleet.audited(cluster, user)
        if entry.get("objectRef", {}).get("namespace") == world.namespace
        and entry["objectRef"]["resource"] == "jobs"
    ]
