"""What people may do to Jobs and their pods, and what is to come of it, whoever runs them."""

import json

from jobferry.kube.resources import PODS
from jobferry.objects import Obj
from tests.system.job_scenarios import LONG, NO_RETRY, by_condition, indexed, plain
from tests.system.job_stage import FOREVER, RUNS, Scenario, Stage

SOON = 20
"""Seconds: enough for a pod to start on a busy machine."""

SUSPENDED: Obj = {"suspend": True}
SELECTOR: Obj = {
    "manualSelector": True,
    "selector": {"matchLabels": {"mine": "yes"}},
    "template": {"metadata": {"labels": {"mine": "yes"}}},
}


async def stay_suspended(stage: Stage) -> None:
    await stage.begin()
    await stage.until(lambda: stage.has("Suspended"))
    await stage.wait(2)


async def resume(stage: Stage) -> None:
    await stage.begin()
    await stage.until(lambda: stage.has("Suspended"))
    await stage.edit(suspend=False)
    await stage.finished()


async def suspend_and_resume(stage: Stage) -> None:
    await stage.begin()
    await stage.running(2)
    await stage.edit(suspend=True)
    await stage.until(lambda: stage.has("Suspended") and not stage.pods)
    await stage.until(lambda: stage.status.get("terminating") == 0)
    await stage.edit(suspend=False)
    await stage.finished()


async def resume_too_late(stage: Stage) -> None:
    await stage.begin()
    await stage.running(1)
    await stage.edit(suspend=True)
    await stage.until(lambda: stage.has("Suspended") and not stage.pods)
    await stage.edit(activeDeadlineSeconds=1)
    await stage.wait(2)
    await stage.edit(suspend=False)
    await stage.finished()


async def lower_deadline(stage: Stage) -> None:
    await stage.begin()
    await stage.running(1)
    await stage.wait(2)
    await stage.edit(activeDeadlineSeconds=1)
    await stage.finished()


async def raise_deadline(stage: Stage) -> None:
    await stage.begin()
    (name,) = await stage.running(1)
    await stage.edit(activeDeadlineSeconds=600)
    await stage.wait(SOON + 1)
    await stage.end_pod(name, 0)
    await stage.finished()


def with_more(**spec: object) -> Obj:
    """Return steps that ask for four pods once two run."""

    async def steps(stage: Stage) -> None:
        await stage.begin()
        await stage.running(2)
        await stage.edit(**spec)
        await stage.running(4)

    return {"steps": steps}


async def start_later(stage: Stage) -> None:
    await stage.begin()
    await stage.until(lambda: stage.status.get("startTime") is not None)
    await stage.edit(parallelism=2)
    await stage.finished()


async def fewer(stage: Stage) -> None:
    await stage.begin()
    await stage.running(3)
    await stage.edit(parallelism=1)
    await stage.running(1)


async def shrink(stage: Stage) -> None:
    await stage.begin()
    await stage.until(lambda: stage.status.get("completedIndexes") == "3")
    await stage.running(3)
    await stage.edit(completions=2, parallelism=2)
    await stage.running(2)


async def shrink_to_nothing(stage: Stage) -> None:
    await stage.begin()
    await stage.running(2)
    await stage.edit(completions=0, parallelism=0)
    await stage.finished()


def preset(**status: object) -> Obj:
    """Return steps that write a status before the Job starts."""

    async def steps(stage: Stage) -> None:
        await stage.begin(suspend=True)
        await stage.until(lambda: stage.has("Suspended"))
        await stage.preset(**status)
        await stage.edit(suspend=False)
        await stage.finished()

    return {"steps": steps}


async def lose_a_pod(stage: Stage) -> None:
    await stage.begin()
    (name,) = await stage.running(1)
    await stage.delete_pod(name)
    await stage.finished()


async def disrupt(stage: Stage) -> None:
    await stage.begin()
    (name,) = await stage.running(1)
    said = [{"type": "DisruptionTarget", "status": "True"}]
    await stage.change_pod(name, {"status": {"conditions": said}}, subresource="status")
    await stage.delete_pod(name)
    await stage.finished()


def restarted(count: int, *, goes_on: bool) -> Obj:
    """Return steps in which a container is started again within its pod, and then may end well."""

    async def steps(stage: Stage) -> None:
        await stage.begin()
        (name,) = await stage.running(1)
        said = [{"name": "main", "restartCount": count}]
        status = {"containerStatuses": said}
        await stage.change_pod(name, {"status": status}, subresource="status")
        if goes_on:
            await stage.wait(3)
            await stage.end_pod(name, 0)
        await stage.finished()

    return {"steps": steps}


async def adopt(stage: Stage) -> None:
    pod = {
        "metadata": {
            "name": "found",
            "namespace": stage.namespace,
            "labels": {"mine": "yes"},
            "annotations": {RUNS: json.dumps(LONG)},
        },
        "spec": {"containers": [{"name": "main", "image": "none"}], "restartPolicy": "Never"},
    }
    await stage.client.create(PODS, pod)
    await stage.begin()
    await stage.until(lambda: any(pod["metadata"].get("ownerReferences") for pod in stage.pods))
    await stage.running(1)
    await stage.end_pod("found", 0)
    await stage.finished()


async def release(stage: Stage) -> None:
    await stage.begin()
    (name,) = await stage.running(1)
    await stage.change_pod(name, {"metadata": {"labels": {"mine": "no"}}})
    await stage.until(lambda: len(stage.pods) == 2)
    await stage.until(lambda: stage.status.get("ready") == 1)


ON_FAILURE: Obj = {"template": {"spec": {"restartPolicy": "OnFailure"}}}
WAITS: Obj = {"podReplacementPolicy": "Failed"}

CHANGED = [
    Scenario(
        "a suspended Job has no pods",
        plain(2, 2, **SUSPENDED),
        "Suspended JobSuspended | - | - | Suspended*1",
        steps=stay_suspended,
    ),
    Scenario(
        "a suspended Job is resumed",
        plain(2, 2, **SUSPENDED),
        "Suspended=False SuccessCriteriaMet Complete CompletionsReached | succeeded 2 | Succeeded*2 | Completed*1 Resumed*1 SuccessfulCreate*2 Suspended*1",
        steps=resume,
    ),
    Scenario(
        "a Job that runs is suspended and resumed",
        plain(2, 2),
        "Suspended=False SuccessCriteriaMet Complete CompletionsReached | succeeded 2 | Succeeded*2 | Completed*1 Resumed*1 SuccessfulCreate*4 SuccessfulDelete*2 Suspended*1",
        {"": [(FOREVER, 0), (FOREVER, 0), (1, 0)]},
        suspend_and_resume,
    ),
    Scenario(
        "an Indexed Job is suspended and resumed",
        indexed(2),
        "Suspended=False SuccessCriteriaMet Complete CompletionsReached | succeeded 2, completedIndexes 0,1 | Succeeded*2 | Completed*1 Resumed*1 SuccessfulCreate*4 SuccessfulDelete*2 Suspended*1",
        {"0": [(FOREVER, 0), (1, 0)], "1": [(FOREVER, 0), (1, 0)]},
        suspend_and_resume,
    ),
    Scenario(
        "a Job that is resumed after its deadline fails",
        plain(activeDeadlineSeconds=600),
        "Suspended FailureTarget Failed DeadlineExceeded | - | - | DeadlineExceeded*1 SuccessfulCreate*1 SuccessfulDelete*1 Suspended*1",
        LONG,
        resume_too_late,
    ),
    Scenario(
        "nothing to do is done though suspended",
        plain(0, **SUSPENDED),
        "SuccessCriteriaMet Complete CompletionsReached | - | - | Completed*1",
    ),
    Scenario(
        "a deadline is lowered",
        plain(activeDeadlineSeconds=600),
        "FailureTarget Failed DeadlineExceeded | failed 1 | - | DeadlineExceeded*1 SuccessfulCreate*1 SuccessfulDelete*1",
        LONG,
        lower_deadline,
    ),
    Scenario(
        "a deadline is raised in time",
        plain(activeDeadlineSeconds=SOON),
        "SuccessCriteriaMet Complete CompletionsReached | succeeded 1 | Succeeded*1 | Completed*1 SuccessfulCreate*1",
        LONG,
        raise_deadline,
    ),
    Scenario(
        "more pods at a time",
        plain(4, 2),
        "- | active 4, ready 4 | Running*4 | SuccessfulCreate*4",
        LONG,
        **with_more(parallelism=4),
    ),
    Scenario(
        "fewer pods at a time",
        plain(3, 3),
        "- | active 1, ready 1 | Running*1 | SuccessfulCreate*3 SuccessfulDelete*2",
        LONG,
        fewer,
    ),
    Scenario(
        "no pods at first",
        plain(2, 0),
        "SuccessCriteriaMet Complete CompletionsReached | succeeded 2 | Succeeded*2 | Completed*1 SuccessfulCreate*2",
        steps=start_later,
    ),
    Scenario(
        "more indexes",
        indexed(2),
        "- | active 4, ready 4 | Running*4 | SuccessfulCreate*4",
        LONG,
        **with_more(completions=4, parallelism=4),
    ),
    Scenario(
        "fewer indexes",
        indexed(4),
        "- | active 2, ready 2 | Running*2 Succeeded*1 | SuccessfulCreate*4 SuccessfulDelete*1",
        {"3": [(1, 0)], "": [(FOREVER, 0)]},
        shrink,
    ),
    Scenario(
        "no indexes at all",
        indexed(2),
        "SuccessCriteriaMet Complete CompletionsReached | - | - | Completed*1 SuccessfulCreate*2 SuccessfulDelete*2",
        LONG,
        shrink_to_nothing,
    ),
    Scenario(
        "some indexes are done before the start",
        indexed(4, 2),
        "Suspended=False SuccessCriteriaMet Complete CompletionsReached | succeeded 4, completedIndexes 0-3 | Succeeded*2 | Completed*1 Resumed*1 SuccessfulCreate*2 Suspended*1",
        **preset(completedIndexes="0-1"),
    ),
    Scenario(
        "all indexes are done before the start",
        indexed(3),
        "Suspended SuccessCriteriaMet Complete CompletionsReached | succeeded 3, completedIndexes 0-2 | - | Completed*1 Suspended*1",
        **preset(completedIndexes="0-2"),
    ),
    Scenario(
        "an index is given up before the start",
        indexed(3, backoffLimitPerIndex=0),
        "Suspended=False FailureTarget Failed FailedIndexes | succeeded 2, completedIndexes 0,2, failedIndexes 1 | Succeeded*2 | FailedIndexes*1 Resumed*1 SuccessfulCreate*2 Suspended*1",
        **preset(failedIndexes="1"),
    ),
    Scenario(
        "some pods are done before the start",
        plain(3, 3),
        "Suspended=False SuccessCriteriaMet Complete CompletionsReached | succeeded 3 | Succeeded*1 | Completed*1 Resumed*1 SuccessfulCreate*1 Suspended*1",
        **preset(succeeded=2),
    ),
    Scenario(
        "failures are counted before the start",
        plain(backoffLimit=2),
        "Suspended=False FailureTarget Failed BackoffLimitExceeded | failed 3 | Failed*1 | BackoffLimitExceeded*1 Resumed*1 SuccessfulCreate*1 Suspended*1",
        {"": [(1, 1)]},
        **preset(failed=2),
    ),
    Scenario(
        "a pod that is deleted is replaced",
        plain(),
        "SuccessCriteriaMet Complete CompletionsReached | succeeded 1, failed 1 | Succeeded*1 | Completed*1 SuccessfulCreate*2",
        {"": [(FOREVER, 0), (1, 0)]},
        lose_a_pod,
    ),
    Scenario(
        "a pod that is deleted is replaced once it has ended",
        plain(**WAITS),
        "SuccessCriteriaMet Complete CompletionsReached | succeeded 1, failed 1 | Succeeded*1 | Completed*1 SuccessfulCreate*2",
        {"": [(FOREVER, 0), (1, 0)]},
        lose_a_pod,
    ),
    Scenario(
        "a pod that is deleted was one too many",
        plain(**NO_RETRY),
        "FailureTarget Failed BackoffLimitExceeded | failed 1 | - | BackoffLimitExceeded*1 SuccessfulCreate*1",
        LONG,
        lose_a_pod,
    ),
    Scenario(
        "a disruption is ignored",
        plain(**NO_RETRY, **by_condition("Ignore", "DisruptionTarget")),
        "SuccessCriteriaMet Complete CompletionsReached | succeeded 1 | Succeeded*1 | Completed*1 SuccessfulCreate*2",
        {"": [(FOREVER, 0), (1, 0)]},
        disrupt,
    ),
    Scenario(
        "a disruption fails the Job",
        plain(**by_condition("FailJob", "DisruptionTarget")),
        "FailureTarget Failed PodFailurePolicy | failed 1 | - | PodFailurePolicy*1 SuccessfulCreate*1",
        LONG,
        disrupt,
    ),
    Scenario(
        "restarts within a pod count",
        plain(backoffLimit=2, **ON_FAILURE),
        "FailureTarget Failed BackoffLimitExceeded | failed 1 | - | BackoffLimitExceeded*1 SuccessfulCreate*1 SuccessfulDelete*1",
        LONG,
        **restarted(2, goes_on=False),
    ),
    Scenario(
        "a restart within a pod may be allowed",
        plain(backoffLimit=2, **ON_FAILURE),
        "SuccessCriteriaMet Complete CompletionsReached | succeeded 1 | Succeeded*1 | Completed*1 SuccessfulCreate*1",
        LONG,
        **restarted(1, goes_on=True),
    ),
    Scenario(
        "a pod that is there is adopted",
        plain(**SELECTOR),
        "SuccessCriteriaMet Complete CompletionsReached | succeeded 1 | Succeeded*1 | Completed*1",
        steps=adopt,
    ),
    Scenario(
        "a pod that strays is replaced",
        plain(**SELECTOR),
        "- | active 1, ready 1 | Running*2 | SuccessfulCreate*2",
        LONG,
        release,
    ),
]
