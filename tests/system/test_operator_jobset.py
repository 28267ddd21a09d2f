"""JobSets under the real JobSet operator, which runs on the workers, and on the hub as well."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from jobferry.kube.calls import Scope
from jobferry.kube.client import Client
from jobferry.kube.resources import JOBS, PODS
from jobferry.objects import Obj
from jobferry.objects.resource import Resource
from tests.system.jobs import FOREVER, NORTH_FIRST, Holds, condition, holds
from tests.system.lab import Lab
from tests.system.operators import JOB_SET, running
from tests.system.processes import Processes
from tests.system.stage import Stage, is_attempt
from tests.system.world import until_none
from tests.workloads.examples import ADAPTERS

pytestmark = [pytest.mark.kube, pytest.mark.operator("jobset"), pytest.mark.timeout(90)]


SERVICES = Resource("", "v1", "services", "Service")


@pytest.fixture(scope="module", autouse=True)
def operator(running_fleet: Processes) -> Iterator[None]:
    with running(running_fleet.planes, JOB_SET) as logged:
        yield
        Path("/tmp/op-log.txt").write_text(logged())


@pytest.fixture
def stage(lab: Lab) -> Stage:
    return Stage(lab, ADAPTERS["JobSet.jobset.x-k8s.io"])


def job_set(*, seconds: float = 0.0, exit_code: int = 0, **spec: Any) -> Obj:
    """Return a JobSet of two Jobs, with what the webhook of its operator would fill in."""
    said = {"jobferry.io/run-seconds": str(seconds), "jobferry.io/exit-code": str(exit_code)}
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "1"}}}
    template = {
        "metadata": {"annotations": said},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }
    job = {
        "parallelism": 1,
        "completions": 1,
        "completionMode": "Indexed",
        "backoffLimit": 0,
        "template": template,
    }
    return {
        "managedBy": "jobferry.io/dispatcher",
        "network": {"enableDNSHostnames": True, "publishNotReadyAddresses": True},
        "successPolicy": {"operator": "All"},
        "startupPolicy": {"startupPolicyOrder": "AnyOrder"},
        "replicatedJobs": [{"name": "workers", "replicas": 2, "template": {"spec": job}}],
        **spec,
    }


def counts(**numbers: int) -> Holds:
    """Hold if the Jobs of the JobSet are so many of each."""

    def of(obj: Obj) -> bool:
        [jobs] = obj.get("status", {}).get("replicatedJobsStatus") or [{}]
        return all(jobs.get(key) == value for key, value in numbers.items())

    return of


completed, failed, suspended = holds("Completed"), holds("Failed"), holds("Suspended")
runs = counts(ready=2)


@pytest.fixture
async def queue(stage: Stage) -> AsyncIterator[str]:
    """A Queue that prefers north, and a dispatcher."""
    await stage.lab.add_workers()
    queue = await stage.lab.world.queue("north-first", **NORTH_FIRST)
    async with stage.lab.dispatcher():
        yield queue


async def test_it_succeeds_and_goes_with_all_that_was_made_of_it(
    stage: Stage, queue: str
) -> None:
    await stage.submit(queue, job_set())

    done = await stage.hub(completed)
    assert counts(succeeded=2)(done)
    assert done["status"]["terminalState"] == "Completed"
    assert not await made(stage.lab.world.hub, stage)

    await stage.delete()
    await stage.gone("north")
    await emptied(stage, "north")


async def test_its_failure_policy_counts(stage: Stage, queue: str) -> None:
    await stage.submit(queue, job_set(exit_code=1, failurePolicy={"maxRestarts": 1}))

    ended = await stage.hub(failed)

    assert ended["status"]["restarts"] == 1
    assert ended["status"]["terminalState"] == "Failed"
    assert condition(ended, "Failed")["reason"] == "ReachedMaxRestarts"


async def test_it_is_suspended_and_resumed(stage: Stage, queue: str) -> None:
    await stage.submit(queue, job_set(seconds=FOREVER))
    await stage.hub(runs)

    await stage.edit({"spec": {"suspend": True}})
    await stage.hub(lambda obj: suspended(obj) and counts(suspended=2, active=0)(obj))
    await emptied(stage, "north", PODS)

    await stage.edit({"spec": {"suspend": False}})
    again = await stage.hub(runs)
    assert not suspended(again)


async def test_one_that_is_created_suspended_runs_nowhere_until_it_is_resumed(
    stage: Stage, queue: str
) -> None:
    await stage.submit(queue, job_set(suspend=True))
    await stage.hub(suspended)
    for client in (stage.lab.world.hub, *stage.lab.world.workers.values()):
        assert not await made(client, stage, PODS)

    await stage.edit({"spec": {"suspend": False}})

    await stage.hub(completed)


async def test_it_leaves_a_drained_worker(stage: Stage, queue: str) -> None:
    uid = (await stage.submit(queue, job_set(seconds=FOREVER)))["metadata"]["uid"]
    await stage.hub(runs)

    await stage.lab.edit_worker("north", drain="MoveAway")

    await stage.on("south", lambda obj: is_attempt(2)(obj) and runs(obj))
    await stage.gone("north")
    await emptied(stage, "north")
    await stage.hub(runs)
    assert (await stage.record(uid))["spec"]["attempt"] == 2


async def test_it_goes_when_its_time_is_over(stage: Stage, queue: str) -> None:
    """The operator on the hub would not see to that: the JobSet is not its own."""
    await stage.submit(queue, job_set(ttlSecondsAfterFinished=1))

    await stage.on("north")
    await until_none(stage.lab.world.hub, stage.scope)
    await stage.gone("north")
    await emptied(stage, "north")


async def test_the_operator_on_the_hub_runs_those_that_are_not_delegated(
    stage: Stage, queue: str
) -> None:
    own = {**job_set(), "managedBy": stage.kind.own_controller}

    await stage.submit(queue, own)

    await stage.hub(completed)
    assert len(await made(stage.lab.world.hub, stage)) == 2


async def made(client: Client, stage: Stage, resource: Resource = JOBS) -> list[Obj]:
    """Return the Jobs, or something else, that the operator made on a cluster."""
    scope = Scope(resource=resource, namespace=stage.lab.world.namespace)
    return (await client.list(scope)).items


async def emptied(stage: Stage, worker: str, *resources: Resource) -> None:
    """Wait until nothing is left of what the operator made on a worker."""
    for resource in resources or (JOBS, PODS, SERVICES):
        scope = Scope(resource=resource, namespace=stage.lab.world.namespace)
        await until_none(stage.lab.world.workers[worker], scope)
