"""How pods are counted: noted first, then let go, then counted."""

from dataclasses import dataclass, field

import pytest

from jobferry.localkube.controllers.heads import Pod
from jobferry.localkube.controllers.job import accounting, pods
from jobferry.localkube.controllers.job.jobs import Job
from jobferry.objects import Obj
from jobferry.objects.indexes import parse
from tests.unit.localkube.controllers.job.passes import at, indexed, job, pod, run


@dataclass(frozen=True)
class Case:
    name: str
    job: Job
    pods: list[Pod] = field(default_factory=list)
    noted: Obj = field(default_factory=dict)
    released: list[str] = field(default_factory=list)
    counts: str = "0/0"
    """Succeeded and failed, in the end."""


def status(**members: object) -> Obj:
    return {"startTime": at(-60), **members}


WIDE: Obj = {"completions": 9, "parallelism": 2}
IGNORED: Obj = {
    "podFailurePolicy": {
        "rules": [{"action": "Ignore", "onExitCodes": {"operator": "In", "values": [1]}}]
    }
}
WAITS: Obj = {"podReplacementPolicy": "Failed"}
BY_INDEX: Obj = {"backoffLimitPerIndex": 3}
LATE: Obj = {"activeDeadlineSeconds": 1}


def noted(*succeeded: str, failed: tuple[str, ...] = ()) -> Obj:
    lists = {"succeeded": list(succeeded), "failed": list(failed)}
    return {member: uids for member, uids in lists.items() if uids}


CASES = [
    Case("one that runs", job(**WIDE), [pod("a")]),
    Case("a success", job(**WIDE), [pod("a", "Succeeded")], noted("a"), ["a"], "1/0"),
    Case("a failure", job(**WIDE), [pod("a", "Failed")], noted(failed=("a",)), ["a"], "0/1"),
    Case(
        "both",
        job(status(succeeded=1, failed=1), **WIDE),
        [pod("a", "Failed"), pod("b", "Succeeded")],
        noted("b", failed=("a",)),
        ["a", "b"],
        "2/2",
    ),
    Case(
        "one that is deleted",
        job(**WIDE),
        [pod("a", deleted=30)],
        noted(failed=("a",)),
        ["a"],
        "0/1",
    ),
    Case("one that is waited for", job(**WIDE, **WAITS), [pod("a", deleted=30)]),
    Case(
        "one that ended well though deleted",
        job(**WIDE),
        [pod("a", "Succeeded", deleted=30)],
        noted("a"),
        ["a"],
        "1/0",
    ),
    Case("one that is ignored", job(**WIDE, **IGNORED), [pod("a", "Failed")], {}, ["a"]),
    Case("one that nothing keeps", job(**WIDE), [pod("a", "Succeeded", tracked=False)]),
    Case(
        "noted before",
        job(status(uncountedTerminatedPods=noted("a")), **WIDE),
        [pod("a", "Succeeded")],
        noted("a"),
        ["a"],
        "1/0",
    ),
    Case(
        "noted and let go before",
        job(status(uncountedTerminatedPods=noted("a", failed=("b",))), **WIDE),
        [pod("a", "Succeeded", tracked=False)],
        {},
        [],
        "1/1",
    ),
    Case(
        "noted as failed, though it ended well",
        job(status(uncountedTerminatedPods=noted(failed=("a",))), **WIDE),
        [pod("a", "Succeeded")],
        noted(failed=("a",)),
        ["a"],
        "0/1",
    ),
    # Indexes
    Case("an index", indexed(), [pod("a", "Succeeded", index=2)], {}, ["a"], "1/0"),
    Case(
        "in their order",
        indexed(),
        [pod("b", "Succeeded", index=2), pod("a", "Succeeded", index=0)],
        {},
        ["a", "b"],
        "2/0",
    ),
    Case(
        "an index that is done",
        indexed(status(completedIndexes="2")),
        [pod("a", "Succeeded", index=2)],
        {},
        ["a"],
        "1/0",
    ),
    Case(
        "an index beyond the end",
        indexed(),
        [pod("a", "Succeeded", index=4), pod("b", "Failed", index=4)],
        {},
        ["a", "b"],
    ),
    Case("no index", indexed(), [pod("a", "Succeeded"), pod("b", "Failed")], {}, ["a", "b"]),
    Case(
        "a failed index",
        indexed(),
        [pod("a", "Failed", index=2)],
        noted(failed=("a",)),
        ["a"],
        "0/1",
    ),
    # Those whose count a replacement carries on
    Case("kept until it is replaced", indexed(**BY_INDEX), [pod("a", "Failed", index=2)]),
    Case(
        "replaced",
        indexed(**BY_INDEX),
        [pod("a", "Failed", index=2), pod("b", index=2)],
        noted(failed=("a",)),
        ["a"],
        "0/1",
    ),
    Case(
        "given up",
        indexed(**BY_INDEX),
        [pod("a", "Failed", index=2, annotations={pods.FAILURES: "3"})],
        noted(failed=("a",)),
        ["a"],
        "0/1",
    ),
    Case(
        "done by another",
        indexed(**BY_INDEX),
        [pod("a", "Failed", index=2), pod("b", "Succeeded", index=2)],
        noted(failed=("a",)),
        ["a", "b"],
        "1/1",
    ),
    Case(
        "only the last is kept",
        indexed(**BY_INDEX),
        [
            pod("a", "Failed", index=2, finished=-9),
            pod("b", "Failed", index=2, annotations={pods.FAILURES: "1"}),
        ],
        noted(failed=("a",)),
        ["a"],
        "0/1",
    ),
    Case(
        "the last by its count",
        indexed(**BY_INDEX),
        [
            pod("b", "Failed", index=2, annotations={pods.FAILURES: "1"}),
            pod("a", "Failed", index=2, finished=-9),
        ],
        noted(failed=("a",)),
        ["a"],
        "0/1",
    ),
    # The Job ends
    Case(
        "all count as failed",
        job(**WIDE, **LATE),
        [pod("a"), pod("b", "Pending")],
        noted(failed=("a", "b")),
        ["a", "b"],
        "0/2",
    ),
    Case(
        "but for those that did not",
        job(**WIDE, **LATE),
        [pod("a"), pod("b", "Succeeded")],
        noted("b", failed=("a",)),
        ["a", "b"],
        "1/1",
    ),
    Case(
        "a kept one too",
        indexed(**BY_INDEX, **LATE),
        [pod("a", "Failed", index=2)],
        noted(failed=("a",)),
        ["a"],
        "0/1",
    ),
    Case(
        "those left over by a success do not",
        indexed(successPolicy={"rules": [{"succeededCount": 1}]}),
        [pod("a", "Succeeded", index=0), pod("b", index=1)],
        {},
        ["a", "b"],
        "1/0",
    ),
    # The Job is deleted
    Case(
        "all are let go",
        job(deleted=True, **WIDE),
        [pod("a"), pod("b", "Failed")],
        noted(failed=("b",)),
        ["a", "b"],
        "0/1",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_pods_are_accounted_for(case: Case) -> None:
    result = run(case.job, *case.pods)

    assert result.first["uncountedTerminatedPods"] == case.noted
    assert result.released == case.released
    assert result.counts.split("/", 3)[3] == case.counts
    assert result.status["uncountedTerminatedPods"] == {}


def test_what_could_not_be_let_go_is_counted_later() -> None:
    found = [pod("a", "Succeeded"), pod("b", "Succeeded"), pod("c", "Failed")]
    result = run(job(completions=2), *found, kept=["b", "c"])

    assert result.status["uncountedTerminatedPods"] == {"succeeded": ["b"], "failed": ["c"]}
    assert result.counts == "0/0/0/1/0"
    assert not result.finished

    again = run(job(result.status, completions=2), *found[1:])

    assert again.counts == "0/0/0/2/1"
    assert again.finished


def test_no_more_than_fit_into_a_status_are_noted_at_once() -> None:
    many = [pod(f"p{number:03}", "Succeeded") for number in range(501)]
    first = run(job(completions=501), *many)

    assert len(first.released) == accounting.MOST
    assert first.counts == "0/0/0/500/0"
    assert first.conditions == ["SuccessCriteriaMet=True CompletionsReached"]

    second = run(job(first.status, completions=501), many[-1])

    assert second.counts == "0/0/0/501/0"
    assert second.finished


def test_failures_fill_a_status_as_successes_do() -> None:
    many = [pod(f"p{number}", "Failed") for number in range(501)]

    assert len(run(job(completions=9, backoffLimit=900), *many).released) == accounting.MOST


def test_many_indexes_are_noted_at_once_but_their_pods_let_go_in_turn() -> None:
    many = [pod(f"p{number}", "Succeeded", index=number) for number in range(600)]
    first = run(indexed(completions=600, parallelism=600), *many)

    assert len(first.released) == 500
    assert first.status["completedIndexes"] == "0-599"
    assert not first.finished
    assert run(indexed(first.status, completions=600, parallelism=600), *many[500:]).finished


INDEXES = [
    ("none", indexed(), [], None, None),
    (
        "text",
        indexed(),
        [pod("a", "Succeeded", index=3), pod("b", "Succeeded", index=2)],
        "2,3",
        None,
    ),
    (
        "added",
        indexed(status(completedIndexes="0,1")),
        [pod("a", "Succeeded", index=2)],
        "0-2",
        None,
    ),
    ("scaled down", indexed(status(completedIndexes="0,5-7", succeeded=4)), [], "0", None),
    ("none given up", indexed(**BY_INDEX), [], None, ""),
    (
        "given up",
        indexed(status(failedIndexes="0"), **BY_INDEX),
        [pod("a", "Failed", index=2, annotations={pods.FAILURES: "3"})],
        None,
        "0,2",
    ),
    (
        "never both",
        indexed(backoffLimitPerIndex=0),
        [pod("a", "Failed", index=2), pod("b", "Succeeded", index=2)],
        "2",
        "",
    ),
    (
        "nor later",
        indexed(status(failedIndexes="2"), backoffLimitPerIndex=0),
        [pod("b", "Succeeded", index=2)],
        None,
        "2",
    ),
]


@pytest.mark.parametrize(
    ("asked", "found", "completed", "given_up"),
    [case[1:] for case in INDEXES],
    ids=[c[0] for c in INDEXES],
)
def test_the_status_says_which_indexes_are_done(
    asked: Job, found: list[Pod], completed: str | None, given_up: str | None
) -> None:
    result = run(asked, *found)

    assert result.status.get("completedIndexes") == completed
    assert result.status.get("failedIndexes") == given_up
    assert result.status.get("succeeded", 0) == len(parse(completed or "", 4))


def test_a_count_that_somebody_wrote_too_high_does_not_go_down() -> None:
    before = status(succeeded=3, completedIndexes="0")

    assert run(indexed(before, parallelism=2)).status["succeeded"] == 3
    assert run(indexed(before)).status["succeeded"] == 1
