"""JobSets under the real JobSet operator, which runs on the workers, and on the hub as well."""

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from jobferry.kube import errors
from jobferry.kube.resources import PODS
from jobferry.objects import Obj, merge_patch
from jobferry.testing.pods import EXIT_CODE, RUN_SECONDS, STOP_SECONDS
from tests.system.jobs import FOREVER, Holds, condition, holds
from tests.system.kinds import JOB_SET, Trial, rights_to_delete
from tests.system.lab import Lab
from tests.system.operator_programs import JOB_SET as OPERATOR
from tests.system.operators import delegating, emptied, made, own_pods, running
from tests.system.processes import Processes
from tests.system.world import until_none
from tests.workloads.examples import ADAPTERS

pytestmark = [pytest.mark.kube, pytest.mark.operator("jobset"), pytest.mark.timeout(90)]

Submit = Callable[[Obj], Trial]


@pytest.fixture(scope="module", autouse=True)
def operator(running_fleet: Processes) -> Iterator[None]:
    """The operator on all clusters, with its webhooks."""
    with running(running_fleet.planes, OPERATOR):
        yield


@pytest.fixture
async def of(lab: Lab) -> AsyncIterator[Submit]:
    """A dispatcher, and what makes JobSets for it."""
    async with delegating(lab, JOB_SET, OPERATOR) as of:
        yield of


def job_set(
    *, seconds: float = 0.0, exit_code: int = 0, stops: float = 0.0, **spec: Any
) -> Obj:
    """Return a JobSet of two Jobs, without what the webhook of its operator fills in."""
    said = {RUN_SECONDS: str(seconds), EXIT_CODE: str(exit_code), STOP_SECONDS: str(stops)}
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "1"}}}
    template = {
        "metadata": {"annotations": said},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }
    job = {
        "parallelism": 1,
        "completions": 1,
        "backoffLimit": 0,
        "template": template,
    }
    return {
        "managedBy": "jobferry.io/dispatcher",
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


async def test_it_succeeds_and_goes_with_all_that_was_made_of_it(lab: Lab, of: Submit) -> None:
    found = of(job_set())
    await found.submit()

    done = await found.until(completed)
    assert counts(succeeded=2)(done)
    assert done["status"]["terminalState"] == "Completed"
    assert not await made(lab.world.hub, lab)

    await found.delete()
    await found.gone_from("north")
    await emptied(lab, "north")


async def test_its_pods_are_known_by_their_labels(lab: Lab, of: Submit) -> None:
    found = of(job_set(seconds=FOREVER))
    await found.submit()
    await found.until(runs)

    every = await made(lab.world.workers["north"], lab, PODS)

    assert len(every) == 2
    assert await own_pods(found, "north") == {each["metadata"]["name"] for each in every}


async def test_its_failure_policy_counts(of: Submit) -> None:
    found = of(job_set(exit_code=1, failurePolicy={"maxRestarts": 1}))
    await found.submit()

    ended = await found.until(failed)

    assert ended["status"]["restarts"] == 1
    assert ended["status"]["terminalState"] == "Failed"
    assert condition(ended, "Failed")["reason"] == "ReachedMaxRestarts"


async def test_it_is_suspended_and_resumed(lab: Lab, of: Submit) -> None:
    found = of(job_set(seconds=FOREVER))
    await found.submit()
    await found.until(runs)

    await found.edit({"spec": {"suspend": True}})
    await found.until(lambda obj: suspended(obj) and counts(suspended=2, active=0)(obj))
    await emptied(lab, "north", PODS)

    await found.edit({"spec": {"suspend": False}})
    assert not suspended(await found.until(runs))


async def test_its_pods_are_changed_while_it_is_suspended_and_only_then(
    lab: Lab, of: Submit
) -> None:
    """The webhooks see to that, on the hub and on the worker: all else of its Jobs stays as it was filled in."""
    found = of(job_set(seconds=FOREVER))
    asked = await found.submit()
    await found.until(runs)
    [jobs] = asked["spec"]["replicatedJobs"]
    pods = {"metadata": {"annotations": {"jobferry.io/run-seconds": "0", "flavor": "spot"}}}
    changed = [merge_patch.apply(jobs, {"template": {"spec": {"template": pods}}})]
    with pytest.raises(errors.Invalid, match="immutable"):
        await found.edit({"spec": {"replicatedJobs": changed}})

    await found.edit({"spec": {"suspend": True, "replicatedJobs": changed}})
    await found.until(suspended)
    await found.edit({"spec": {"suspend": False}})
    await found.until(completed)

    mirror = await found.on("north")
    assert mirror["spec"]["replicatedJobs"] == changed
    assert not {"NotForwarded", "ChangedOnWorker"} & await lab.world.reasons(found.name)
    for job in await made(lab.world.workers["north"], lab):
        assert job["spec"]["template"]["metadata"]["annotations"]["flavor"] == "spot"


async def test_one_that_is_created_suspended_runs_nowhere_until_it_is_resumed(
    lab: Lab, of: Submit
) -> None:
    found = of(job_set(suspend=True))
    await found.submit()
    await found.until(suspended)
    for client in (lab.world.hub, *lab.world.workers.values()):
        assert not await made(client, lab, PODS)

    await found.edit({"spec": {"suspend": False}})

    await found.until(completed)


async def test_it_leaves_a_drained_worker(lab: Lab, of: Submit) -> None:
    found = of(job_set(seconds=FOREVER))
    await found.submit()
    await found.until(runs)

    await lab.edit_worker("north", drain="MoveAway")

    assert await found.where(attempt=2) == "south"
    await found.on("south", runs)
    await found.gone_from("north")
    await emptied(lab, "north")
    await found.until(runs)


async def test_it_runs_nowhere_else_before_all_of_its_pods_have_ended(
    lab: Lab, of: Submit
) -> None:
    """The operator says that it is suspended as soon as it has told its Jobs."""
    found = of(job_set(seconds=FOREVER, stops=6.0))
    await found.submit()
    await found.until(runs)

    await lab.edit_worker("north", drain="MoveAway")
    await found.until(suspended)
    assert len(await made(lab.world.workers["north"], lab, PODS)) == 2

    assert await found.where(attempt=2) == "south"
    assert not await made(lab.world.workers["north"], lab, PODS)
    assert not await made(lab.world.workers["north"], lab)
    await found.on("south", runs)


async def test_it_goes_when_its_time_is_over(lab: Lab, of: Submit) -> None:
    """The operator on the hub does not see to that: the JobSet is not its own."""
    found = of(job_set(ttlSecondsAfterFinished=1))
    async with rights_to_delete(lab, JOB_SET):
        await found.submit()
        await found.on("north")

        await until_none(lab.world.hub, found.scope())
        await found.gone_from("north")
        await emptied(lab, "north")


async def test_the_operator_on_the_hub_runs_what_is_not_delegated(lab: Lab, of: Submit) -> None:
    """So that it is not for want of an operator that nothing runs there."""
    found = of({**job_set(), "managedBy": ADAPTERS[JOB_SET].own_controller})
    await found.submit()

    await found.until(completed)

    assert len(await made(lab.world.hub, lab)) == 2
