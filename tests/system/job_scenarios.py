"""What may happen to Jobs that are left alone, and what is to come of it, whoever runs them."""

from jobferry.objects import Obj
from tests.system.job_stage import FOREVER, Runs, Scenario, Stage

LONG: Runs = {"": [(FOREVER, 0)]}
FIRST: Runs = {"": [(1, 0), (FOREVER, 0)]}
INDEX_0: Runs = {"0": [(1, 0)], "": [(FOREVER, 0)]}
FAILS: Runs = {"": [(1, 1)]}
NO_RETRY: Obj = {"backoffLimit": 0}


def plain(completions: int | None = 1, parallelism: int = 1, **more: object) -> Obj:
    """Return what is asked of a Job without indexes."""
    sizes: Obj = {"parallelism": parallelism}
    if completions is not None:
        sizes["completions"] = completions
    return sizes | more


def indexed(completions: int, parallelism: int | None = None, **more: object) -> Obj:
    """Return what is asked of a Job with indexes, by default all at once."""
    size = completions if parallelism is None else parallelism
    return plain(completions, size, completionMode="Indexed", **more)


def by_code(action: str, code: int, **more: object) -> Obj:
    """Return a rule about an exit code."""
    wanted = {"operator": "In", "values": [code], **more}
    return {"podFailurePolicy": {"rules": [{"action": action, "onExitCodes": wanted}]}}


def by_condition(action: str, type: str) -> Obj:
    """Return a rule about a condition of a pod."""
    patterns = [{"type": type, "status": "True"}]
    return {"podFailurePolicy": {"rules": [{"action": action, "onPodConditions": patterns}]}}


def enough(**rule: object) -> Obj:
    """Return a rule about success."""
    return {"successPolicy": {"rules": [rule]}}


def later(running: int, code: int, index: str = "", **status: object) -> Obj:
    """Return steps in which pods end (of so many, those of an index or all) once the status says this."""

    async def steps(stage: Stage) -> None:
        await stage.begin()
        await stage.until(lambda: status.items() <= stage.status.items())
        for name in await stage.running(running):
            if name.startswith(f"{stage.scenario.job}-{index}"):
                await stage.end_pod(name, code)
        await stage.finished()

    return {"steps": steps}


async def lower_deadline_later(stage: Stage) -> None:
    await stage.begin()
    await stage.until(lambda: stage.status.get("completedIndexes") == "1")
    await stage.running(2)
    await stage.edit(activeDeadlineSeconds=1)
    await stage.finished()


LABELLED: Obj = {
    "template": {"metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}}},
}

SIMPLE = [
    Scenario(
        "one pod is enough",
        plain(),
        "SuccessCriteriaMet Complete CompletionsReached | succeeded 1 | Succeeded*1 | Completed*1 SuccessfulCreate*1",
    ),
    Scenario(
        "three pods, two at a time",
        plain(3, 2),
        "SuccessCriteriaMet Complete CompletionsReached | succeeded 3 | Succeeded*3 | Completed*1 SuccessfulCreate*3",
    ),
    Scenario(
        "no more pods than completions",
        plain(2, 5),
        "SuccessCriteriaMet Complete CompletionsReached | succeeded 2 | Succeeded*2 | Completed*1 SuccessfulCreate*2",
    ),
    Scenario(
        "nothing to do is done at once",
        plain(0),
        "SuccessCriteriaMet Complete CompletionsReached | - | - | Completed*1",
    ),
    Scenario(
        "those who share a queue all end",
        plain(None, 3),
        "SuccessCriteriaMet Complete CompletionsReached | succeeded 3 | Succeeded*3 | Completed*1 SuccessfulCreate*3",
        {"": [(1, 0), (3, 0), (3, 0)]},
    ),
    Scenario(
        "those who share a queue may fail once it is empty",
        plain(None, 3),
        "SuccessCriteriaMet Complete CompletionsReached | succeeded 1, failed 2 | Failed*2 Succeeded*1 | Completed*1 SuccessfulCreate*3",
        FIRST,
        **later(2, 1, succeeded=1),
    ),
    Scenario(
        "those who share a queue may fail too often after all",
        plain(None, 2, **NO_RETRY),
        "FailureTarget Failed BackoffLimitExceeded | succeeded 1, failed 1 | Failed*1 Succeeded*1 | BackoffLimitExceeded*1 SuccessfulCreate*2",
        FIRST,
        **later(1, 1, succeeded=1),
    ),
    Scenario(
        "three indexes at once",
        indexed(3),
        "SuccessCriteriaMet Complete CompletionsReached | succeeded 3, completedIndexes 0-2 | Succeeded*3 | Completed*1 SuccessfulCreate*3",
    ),
    Scenario(
        "four indexes, two at a time",
        indexed(4, 2),
        "SuccessCriteriaMet Complete CompletionsReached | succeeded 4, completedIndexes 0-3 | Succeeded*4 | Completed*1 SuccessfulCreate*4",
    ),
    Scenario(
        "a long name leaves room for the index",
        indexed(2),
        "SuccessCriteriaMet Complete CompletionsReached | succeeded 2, completedIndexes 0,1 | Succeeded*2 | Completed*1 SuccessfulCreate*2",
        job="x" * 57,
    ),
    Scenario(
        "what the template says is kept",
        indexed(1, **LABELLED),
        "SuccessCriteriaMet Complete CompletionsReached | succeeded 1, completedIndexes 0 | Succeeded*1 | Completed*1 SuccessfulCreate*1",
    ),
]

FAILING = [
    Scenario(
        "no failure is allowed",
        plain(**NO_RETRY),
        "FailureTarget Failed BackoffLimitExceeded | failed 1 | Failed*1 | BackoffLimitExceeded*1 SuccessfulCreate*1",
        FAILS,
    ),
    Scenario(
        "a failure is made good",
        plain(),
        "SuccessCriteriaMet Complete CompletionsReached | succeeded 1, failed 1 | Failed*1 Succeeded*1 | Completed*1 SuccessfulCreate*2",
        {"": [(1, 1), (1, 0)]},
    ),
    Scenario(
        "one failure too many",
        plain(backoffLimit=1),
        "FailureTarget Failed BackoffLimitExceeded | failed 2 | Failed*2 | BackoffLimitExceeded*1 SuccessfulCreate*2",
        FAILS,
    ),
    Scenario(
        "the others end with the one that fails",
        plain(3, 3, **NO_RETRY),
        "FailureTarget Failed BackoffLimitExceeded | failed 3 | Failed*1 | BackoffLimitExceeded*1 SuccessfulCreate*3 SuccessfulDelete*2",
        {"": [(1, 1), (FOREVER, 0)]},
    ),
    Scenario(
        "a deadline ends what runs",
        plain(2, 2, activeDeadlineSeconds=3),
        "FailureTarget Failed DeadlineExceeded | failed 2 | - | DeadlineExceeded*1 SuccessfulCreate*2 SuccessfulDelete*2",
        LONG,
    ),
    Scenario(
        "a deadline leaves what is done",
        indexed(3, activeDeadlineSeconds=600),
        "FailureTarget Failed DeadlineExceeded | succeeded 1, failed 2, completedIndexes 1 | Succeeded*1 | DeadlineExceeded*1 SuccessfulCreate*3 SuccessfulDelete*2",
        {"1": [(1, 0)], "": [(FOREVER, 0)]},
        lower_deadline_later,
    ),
    Scenario(
        "an index that fails is tried again",
        indexed(2, backoffLimit=1),
        "SuccessCriteriaMet Complete CompletionsReached | succeeded 2, failed 1, completedIndexes 0,1 | Failed*1 Succeeded*2 | Completed*1 SuccessfulCreate*3",
        {"1": [(1, 1), (1, 0)], "": [(1, 0)]},
    ),
    Scenario(
        "an index that fails is given up, the others go on",
        indexed(3, backoffLimitPerIndex=0),
        "FailureTarget Failed FailedIndexes | succeeded 2, failed 1, completedIndexes 0,2, failedIndexes 1 | Failed*1 Succeeded*2 | FailedIndexes*1 SuccessfulCreate*3",
        {"1": [(1, 1)], "": [(3, 0)]},
    ),
    Scenario(
        "an index has tries of its own",
        indexed(2, backoffLimitPerIndex=1),
        "SuccessCriteriaMet Complete CompletionsReached | succeeded 2, failed 1, completedIndexes 0,1, failedIndexes  | Failed*1 Succeeded*2 | Completed*1 SuccessfulCreate*3",
        {"1": [(1, 1), (1, 0)], "": [(1, 0)]},
    ),
    Scenario(
        "an index has used up its tries",
        indexed(2, backoffLimitPerIndex=1),
        "FailureTarget Failed FailedIndexes | succeeded 1, failed 2, completedIndexes 0, failedIndexes 1 | Failed*2 Succeeded*1 | FailedIndexes*1 SuccessfulCreate*3",
        {"1": [(1, 1)], "": [(1, 0)]},
    ),
    Scenario(
        "too many indexes are given up",
        indexed(3, backoffLimitPerIndex=0, maxFailedIndexes=0),
        "FailureTarget Failed MaxFailedIndexesExceeded | failed 3, failedIndexes 0 | Failed*1 | MaxFailedIndexesExceeded*1 SuccessfulCreate*3 SuccessfulDelete*2",
        {"0": [(1, 1)], "": [(FOREVER, 0)]},
    ),
    Scenario(
        "as many indexes are given up as may be",
        indexed(3, backoffLimitPerIndex=0, maxFailedIndexes=1),
        "FailureTarget Failed FailedIndexes | succeeded 2, failed 1, completedIndexes 1,2, failedIndexes 0 | Failed*1 Succeeded*2 | FailedIndexes*1 SuccessfulCreate*3",
        {"0": [(1, 1)], "": [(3, 0)]},
    ),
    Scenario(
        "all in all too many failures of indexes",
        indexed(2, backoffLimitPerIndex=5, **NO_RETRY),
        "FailureTarget Failed BackoffLimitExceeded | failed 2, failedIndexes  | Failed*1 | BackoffLimitExceeded*1 SuccessfulCreate*2 SuccessfulDelete*1",
        {"0": [(1, 1)], "": [(FOREVER, 0)]},
    ),
]

POLICIES = [
    Scenario(
        "a code fails the Job",
        plain(2, 2, **by_code("FailJob", 42)),
        "FailureTarget Failed PodFailurePolicy | failed 2 | Failed*1 | PodFailurePolicy*1 SuccessfulCreate*2 SuccessfulDelete*1",
        {"": [(1, 42), (FOREVER, 0)]},
    ),
    Scenario(
        "another code does not",
        plain(**by_code("FailJob", 42)),
        "SuccessCriteriaMet Complete CompletionsReached | succeeded 1, failed 1 | Failed*1 Succeeded*1 | Completed*1 SuccessfulCreate*2",
        {"": [(1, 1), (1, 0)]},
    ),
    Scenario(
        "a code of this container does",
        plain(**by_code("FailJob", 42, containerName="main")),
        "FailureTarget Failed PodFailurePolicy | failed 1 | Failed*1 | PodFailurePolicy*1 SuccessfulCreate*1",
        {"": [(1, 42)]},
    ),
    Scenario(
        "a code is ignored",
        plain(**NO_RETRY, **by_code("Ignore", 7)),
        "SuccessCriteriaMet Complete CompletionsReached | succeeded 1 | Failed*1 Succeeded*1 | Completed*1 SuccessfulCreate*2",
        {"": [(1, 7), (1, 0)]},
    ),
    Scenario(
        "a code counts",
        plain(**NO_RETRY, **by_code("Count", 7)),
        "FailureTarget Failed BackoffLimitExceeded | failed 1 | Failed*1 | BackoffLimitExceeded*1 SuccessfulCreate*1",
        {"": [(1, 7)]},
    ),
    Scenario(
        "a code fails its index",
        indexed(2, backoffLimitPerIndex=3, **by_code("FailIndex", 9)),
        "FailureTarget Failed FailedIndexes | succeeded 1, failed 1, completedIndexes 0, failedIndexes 1 | Failed*1 Succeeded*1 | FailedIndexes*1 SuccessfulCreate*2",
        {"1": [(1, 9)], "": [(3, 0)]},
    ),
    Scenario(
        "an ignored failure of an index is remembered",
        indexed(2, backoffLimitPerIndex=0, **by_code("Ignore", 7)),
        "SuccessCriteriaMet Complete CompletionsReached | succeeded 2, completedIndexes 0,1, failedIndexes  | Failed*1 Succeeded*2 | Completed*1 SuccessfulCreate*3",
        {"1": [(1, 7), (1, 0)], "": [(1, 0)]},
    ),
    Scenario(
        "one index is enough",
        indexed(3, **enough(succeededIndexes="0")),
        "SuccessCriteriaMet Complete SuccessPolicy | succeeded 1, completedIndexes 0 | Succeeded*1 | Completed*1 SuccessfulCreate*3 SuccessfulDelete*2",
        INDEX_0,
    ),
    Scenario(
        "any two are enough",
        indexed(4, **enough(succeededCount=2)),
        "SuccessCriteriaMet Complete SuccessPolicy | succeeded 2, completedIndexes 1,3 | Succeeded*2 | Completed*1 SuccessfulCreate*4 SuccessfulDelete*2",
        {"1": [(1, 0)], "3": [(1, 0)], "": [(FOREVER, 0)]},
    ),
    Scenario(
        "one of these is enough",
        indexed(4, **enough(succeededIndexes="2-3", succeededCount=1)),
        "SuccessCriteriaMet Complete SuccessPolicy | succeeded 2, completedIndexes 0,3 | Succeeded*2 | Completed*1 SuccessfulCreate*4 SuccessfulDelete*2",
        INDEX_0,
        **later(3, 0, "3-", completedIndexes="0"),
    ),
    Scenario(
        "all that was asked for is just enough",
        indexed(2, **enough(succeededIndexes="0-1")),
        "SuccessCriteriaMet Complete SuccessPolicy | succeeded 2, completedIndexes 0,1 | Succeeded*2 | Completed*1 SuccessfulCreate*2",
    ),
    Scenario(
        "a failure before enough are done",
        indexed(2, **NO_RETRY, **enough(succeededIndexes="0-1")),
        "FailureTarget Failed BackoffLimitExceeded | succeeded 1, failed 1, completedIndexes 0 | Failed*1 Succeeded*1 | BackoffLimitExceeded*1 SuccessfulCreate*2",
        INDEX_0,
        **later(1, 1, completedIndexes="0"),
    ),
]
