"""When a Job ends, and why."""

from dataclasses import dataclass, field

import pytest

from jobferry.localkube.controllers.heads import Pod
from jobferry.localkube.controllers.job import pods
from jobferry.localkube.controllers.job.jobs import Job
from jobferry.objects import Obj
from tests.unit.localkube.controllers.job.passes import at, indexed, job, pod, run


@dataclass(frozen=True)
class Case:
    name: str
    job: Job
    pods: list[Pod] = field(default_factory=list)
    conditions: list[str] = field(default_factory=list)
    stopped: list[str] = field(default_factory=list)
    news: list[str] = field(default_factory=list)


def status(**members: object) -> Obj:
    return {"startTime": at(-60), **members}


def condition(type: str, reason: str = "Some", status: str = "True") -> Obj:
    return {"type": type, "status": status, "reason": reason, "message": "said"}


def failed(reason: str) -> list[str]:
    return [f"FailureTarget=True {reason}", f"Failed=True {reason}"]


def succeeded(reason: str) -> list[str]:
    return [f"SuccessCriteriaMet=True {reason}", f"Complete=True {reason}"]


def fails(name: str = "f", **more: object) -> Pod:
    return pod(name, "Failed", **more)  # type: ignore[arg-type]


def worn(index: int, failures: int, **more: object) -> Pod:
    said = {pods.FAILURES: str(failures)}
    return pod(f"p{index}", "Failed", index=index, annotations=said, **more)  # type: ignore[arg-type]


def done(index: int) -> Pod:
    return pod(f"d{index}", "Succeeded", index=index)


DONE, FAILED_TARGET = "CompletionsReached", "FailureTarget=True"
LIMIT, LATE = "BackoffLimitExceeded", "DeadlineExceeded"
FAIL_JOB: Obj = {
    "podFailurePolicy": {
        "rules": [
            {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}},
            {"action": "Ignore", "onExitCodes": {"operator": "In", "values": [7]}},
            {"action": "FailIndex", "onExitCodes": {"operator": "In", "values": [9]}},
        ]
    }
}
BY_INDEX: Obj = {"backoffLimitPerIndex": 1, "backoffLimit": 2**31 - 1}
ENOUGH: Obj = {"successPolicy": {"rules": [{"succeededIndexes": "0,1"}, {"succeededCount": 3}]}}

CASES = [
    # All that was asked for
    Case("done", job(), [pod("a", "Succeeded")], succeeded(DONE), news=["Completed"]),
    Case("not all of it", job(completions=2), [pod("a", "Succeeded")]),
    Case(
        "not before the last has ended",
        job(completions=1, parallelism=1),
        [pod("a", "Succeeded"), pod("b", deleted=30, tracked=False)],
        ["SuccessCriteriaMet=True " + DONE],
    ),
    Case("nothing to do", job(completions=0), [], succeeded(DONE), news=["Completed"]),
    Case(
        "more than was asked for",
        job(status(succeeded=2), completions=2),
        [pod("a", "Succeeded")],
        succeeded(DONE),
        news=["TooManySucceededPods", "Completed"],
    ),
    Case("counted before", job(status(succeeded=1)), [], succeeded(DONE), news=["Completed"]),
    Case(
        "noted before",
        job(status(uncountedTerminatedPods={"succeeded": ["a"]})),
        [pod("a", "Succeeded")],
        succeeded(DONE),
        news=["Completed"],
    ),
    Case("one of a queue", job(parallelism=2), [pod("a", "Succeeded"), pod("b")]),
    Case(
        "all of a queue",
        job(parallelism=2),
        [pod("a", "Succeeded"), fails("b")],
        succeeded(DONE),
        news=["Completed"],
    ),
    Case("a queue where none succeeded", job(parallelism=1), [fails()]),
    Case(
        "all indexes",
        indexed(status(completedIndexes="0-2")),
        [done(3)],
        succeeded(DONE),
        news=["Completed"],
    ),
    Case("one index often", indexed(), [done(3), pod("e", "Succeeded", index=3)]),
    Case(
        "preset before the start",
        indexed(status(completedIndexes="0-3")),
        [],
        succeeded(DONE),
        news=["Completed"],
    ),
    # Failures
    Case("as often as allowed", job(backoffLimit=1), [fails()]),
    Case("once more", job(backoffLimit=0), [fails()], failed(LIMIT), news=[LIMIT]),
    Case(
        "with those before",
        job(status(failed=2), backoffLimit=2),
        [fails(), pod("b")],
        [f"FailureTarget=True {LIMIT}"],
        ["b"],
    ),
    Case(
        "with those noted",
        job(status(failed=1, uncountedTerminatedPods={"failed": ["x"]}), backoffLimit=1),
        [],
        failed(LIMIT),
        news=[LIMIT],
    ),
    Case(
        "a deleted pod has failed",
        job(backoffLimit=0),
        [pod("a", deleted=30)],
        [f"FailureTarget=True {LIMIT}"],
    ),
    Case(
        "one that nothing keeps was counted",
        job(backoffLimit=0),
        [fails(tracked=False, finished=-99)],
    ),
    Case(
        "restarted as often as allowed",
        job(restart="OnFailure", backoffLimit=3),
        [pod("a", restarts=2)],
    ),
    Case(
        "restarted too often",
        job(restart="OnFailure", backoffLimit=3),
        [pod("a", restarts=3)],
        [f"FailureTarget=True {LIMIT}"],
        ["a"],
    ),
    Case("no restart allowed, and none", job(restart="OnFailure", backoffLimit=0), [pod("a")]),
    Case(
        "no restart allowed, but one",
        job(restart="OnFailure", backoffLimit=0),
        [pod("a", restarts=1)],
        [f"FailureTarget=True {LIMIT}"],
        ["a"],
    ),
    Case("restarts of a pod that is to fail", job(backoffLimit=0), [pod("a", restarts=3)]),
    # Deadline
    Case("in time", job(activeDeadlineSeconds=61), [pod("a")]),
    Case(
        "too late",
        job(activeDeadlineSeconds=60),
        [pod("a")],
        [f"FailureTarget=True {LATE}"],
        ["a"],
    ),
    Case("at once", job({}, activeDeadlineSeconds=0), [], failed(LATE), news=[LATE]),
    Case("not started", job({}, activeDeadlineSeconds=1), []),
    Case(
        "suspended",
        job(activeDeadlineSeconds=60, suspend=True),
        [],
        ["Suspended=True JobSuspended"],
        news=["Suspended"],
    ),
    Case(
        "resumed too late",
        job(status(conditions=[condition("Suspended")]), activeDeadlineSeconds=60),
        [],
        ["Suspended=True Some", *failed(LATE)],
        news=[LATE],
    ),
    # Rules about failures
    Case(
        "the whole Job",
        job(**FAIL_JOB),
        [fails(code=42), pod("b")],
        ["FailureTarget=True PodFailurePolicy"],
        ["b"],
    ),
    Case("ignored", job(backoffLimit=0, **FAIL_JOB), [fails(code=7)]),
    Case(
        "no rule", job(backoffLimit=0, **FAIL_JOB), [fails(code=1)], failed(LIMIT), news=[LIMIT]
    ),
    Case(
        "a rule before the limit",
        job(backoffLimit=0, **FAIL_JOB),
        [fails(code=42)],
        failed("PodFailurePolicy"),
        news=["PodFailurePolicy"],
    ),
    Case("not while it ends", job(backoffLimit=0, **FAIL_JOB), [pod("a", code=42, deleted=30)]),
    Case(
        "also where nothing keeps it",
        job(**FAIL_JOB),
        [fails(code=42, tracked=False)],
        failed("PodFailurePolicy"),
        news=["PodFailurePolicy"],
    ),
    # Limits by index
    Case("tried again", indexed(**BY_INDEX), [worn(0, 0)]),
    Case("given up, others go on", indexed(**BY_INDEX), [worn(0, 1)]),
    Case(
        "all are done or given up",
        indexed(status(completedIndexes="1,2"), **BY_INDEX),
        [worn(0, 1), done(3)],
        failed("FailedIndexes"),
        news=["FailedIndexes"],
    ),
    Case("as many as allowed", indexed(maxFailedIndexes=1, **BY_INDEX), [worn(0, 1)]),
    Case(
        "too many",
        indexed(maxFailedIndexes=1, **BY_INDEX),
        [worn(0, 1), worn(2, 1)],
        failed("MaxFailedIndexesExceeded"),
        news=["MaxFailedIndexesExceeded"],
    ),
    Case(
        "with those before",
        indexed(status(failedIndexes="3"), maxFailedIndexes=1, **BY_INDEX),
        [worn(2, 1), pod("a", index=1)],
        ["FailureTarget=True MaxFailedIndexesExceeded"],
        ["a"],
    ),
    Case(
        "a rule gives up an index",
        indexed(maxFailedIndexes=0, **BY_INDEX, **FAIL_JOB),
        [worn(0, 0, code=9)],
        failed("MaxFailedIndexesExceeded"),
        news=["MaxFailedIndexesExceeded"],
    ),
    Case(
        "an ignored failure gives up none",
        indexed(maxFailedIndexes=0, **BY_INDEX, **FAIL_JOB),
        [worn(0, 5, code=7)],
    ),
    Case(
        "all in all too many",
        indexed(backoffLimitPerIndex=5, backoffLimit=1),
        [worn(0, 0), worn(1, 0)],
        failed(LIMIT),
        news=[LIMIT],
    ),
    # Rules about success
    Case(
        "some are enough",
        indexed(**ENOUGH),
        [done(0), done(1), pod("c", index=2)],
        ["SuccessCriteriaMet=True SuccessPolicy"],
        ["c"],
    ),
    Case(
        "any three are enough",
        indexed(status(completedIndexes="1,2"), **ENOUGH),
        [done(3)],
        succeeded("SuccessPolicy"),
        news=["Completed"],
    ),
    Case("too few", indexed(**ENOUGH), [done(0), done(2)]),
    Case(
        "failure comes first",
        indexed(backoffLimit=0, **ENOUGH),
        [done(0), done(1), pod("f", "Failed", index=2)],
        failed(LIMIT),
        news=[LIMIT],
    ),
    # What was said is not taken back
    Case(
        "a success that was met",
        indexed(status(conditions=[condition("SuccessCriteriaMet")]), backoffLimit=0),
        [pod("f", "Failed", index=2)],
        ["SuccessCriteriaMet=True Some", "Complete=True Some"],
        news=["Completed"],
    ),
    Case(
        "a failure that was decided",
        job(status(conditions=[condition("FailureTarget", LATE)])),
        [pod("a", "Succeeded")],
        failed(LATE),
        news=[LATE],
    ),
    Case(
        "a failure that was not",
        job(status(conditions=[condition("FailureTarget", LATE, "False")])),
        [pod("a", "Succeeded")],
        ["FailureTarget=False " + LATE, *succeeded(DONE)],
        news=["Completed"],
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_job_ends(case: Case) -> None:
    result = run(case.job, *case.pods)

    assert result.conditions == case.conditions
    assert result.stopped == case.stopped
    assert result.news == case.news
    assert result.finished == any(
        each.startswith(("Complete=", "Failed=")) for each in case.conditions
    )


def test_the_messages_are_those_that_people_know() -> None:
    def message(job: Job, *found: Pod) -> str:
        return str(run(job, *found).status["conditions"][-1]["message"])

    assert message(job(), pod("a", "Succeeded")) == "Reached expected number of succeeded pods"
    assert (
        message(job(backoffLimit=0), fails()) == "Job has reached the specified backoff limit"
    )
    assert (
        message(job(activeDeadlineSeconds=1)) == "Job was active longer than specified deadline"
    )
    assert message(job(**FAIL_JOB), fails(code=42)) == (
        "Container main for pod default/f failed with exit code 42 matching FailJob rule at index 0"
    )
    assert message(indexed(maxFailedIndexes=0, **BY_INDEX), worn(0, 1)) == (
        "Job has exceeded the specified maximal number of failed indexes"
    )
    ended = indexed(status(completedIndexes="1-3"), **BY_INDEX)
    assert message(ended, worn(0, 1)) == "Job has failed indexes"
    few = indexed(status(completedIndexes="1-2"), **ENOUGH)
    assert message(few, done(3)) == "Matched rules at index 1"


def test_a_job_goes_on_while_a_pod_that_was_to_be_stopped_is_not() -> None:
    result = run(
        job(activeDeadlineSeconds=1, parallelism=2), pod("a"), pod("b"), undeleted=["b"]
    )

    assert result.stopped == ["a", "b"]
    assert result.conditions == []
    assert result.counts == "1/0/1/0/0"


def test_no_job_ends_before_it_started_even_if_our_clock_was_set_back() -> None:
    result = run(job(status(startTime=at(30))), pod("a", "Succeeded"))

    assert result.status["completionTime"] == at(30)


def test_the_end_is_told_in_the_words_in_which_it_was_announced() -> None:
    announced = job(status(conditions=[condition("FailureTarget", LATE)]))

    assert run(announced).status["conditions"][-1]["message"] == "said"
