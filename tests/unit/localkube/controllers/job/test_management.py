"""Which pods are created, and which removed as too many."""

from dataclasses import dataclass, field
from datetime import timedelta

import pytest

from jobferry.localkube.controllers.heads import Pod
from jobferry.localkube.controllers.job import backoff, pods
from jobferry.localkube.controllers.job.backoff import Record
from jobferry.localkube.controllers.job.jobs import Job
from jobferry.objects import Obj
from tests.unit.localkube.controllers.job.passes import NOW, indexed, job, pod, run


@dataclass(frozen=True)
class Case:
    name: str
    job: Job
    pods: list[Pod] = field(default_factory=list)
    created: list[int | None] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    after: float | None = None
    record: Record = backoff.NONE


RUNS = [pod("a"), pod("b", ready=-5), pod("c", "Pending", node="")]
WAITS: Obj = {"podReplacementPolicy": "Failed"}
BY_INDEX: Obj = {"backoffLimitPerIndex": 3}
FAILED_ONCE = Record(1, NOW - timedelta(seconds=4))


def of(index: int, phase: str = "Running", **more: object) -> Pod:
    return pod(f"p{index}", phase, index=index, **more)  # type: ignore[arg-type]


def counted(index: int, failures: int, finished: float = -1) -> Pod:
    said = {pods.FAILURES: str(failures)}
    return pod(f"p{index}", "Failed", index=index, annotations=said, finished=finished)


CASES = [
    # How many
    Case("as many as may run at once", job(completions=5, parallelism=2), created=[None] * 2),
    Case("no more than are missing", job(completions=2, parallelism=5), created=[None] * 2),
    Case("none at all", job(completions=3, parallelism=0)),
    Case(
        "none for what is done",
        job({"succeeded": 4}, completions=5, parallelism=3),
        created=[None],
    ),
    Case("those that run count", job(completions=5, parallelism=5), RUNS, [None] * 2),
    Case(
        "those that just ended count",
        job(completions=3, parallelism=3),
        [pod("a", "Succeeded"), pod("b")],
        [None],
    ),
    Case("at most 500", job(completions=900, parallelism=900), created=[None] * 500),
    # A queue of work
    Case("all who share a queue", job(parallelism=3), created=[None] * 3),
    Case(
        "nobody once it was found empty",
        job(parallelism=3),
        [pod("a", "Succeeded"), pod("b")],
    ),
    Case("nor later", job({"succeeded": 1}, parallelism=3), [pod("b")]),
    Case("fewer who share a queue", job(parallelism=1), RUNS, removed=["c", "a"]),
    Case(
        "those who share a queue end by themselves",
        job({"succeeded": 1}, parallelism=1),
        RUNS,
    ),
    # Too many
    Case("the dispensable first", job(completions=9, parallelism=2), RUNS, removed=["c"]),
    Case(
        "more than are missing",
        job({"succeeded": 8}, completions=9, parallelism=3),
        RUNS,
        removed=["c", "a"],
    ),
    Case(
        "at most 500 again",
        job(completions=900, parallelism=0),
        [pod(f"p{number}", created=number) for number in range(600)],
        removed=[f"p{number}" for number in range(599, 99, -1)],
    ),
    Case(
        "a suspended one has none",
        job(completions=3, parallelism=3, suspend=True),
        RUNS,
        removed=["c", "a", "b"],
    ),
    # Indexes
    Case("the lowest indexes", indexed(parallelism=2), created=[0, 1]),
    Case("those not in work", indexed(), [of(1), of(2)], [0, 3]),
    Case("those not done", indexed({"completedIndexes": "0,2"}), [of(3, "Succeeded")], [1]),
    Case("an index beyond the end", indexed(), [of(0), of(4), of(9)], removed=["p4", "p9"]),
    Case("no index at all", indexed(), [of(0), pod("x")], removed=["x"]),
    Case(
        "the worse of two with one index",
        indexed(),
        [of(0), pod("twin", "Pending", index=0), of(1)],
        removed=["twin"],
    ),
    Case(
        "those of no use before others",
        indexed(completions=2, parallelism=1),
        [pod("good", index=0, ready=-9), pod("far", index=5, ready=-9), pod("bad", index=1)],
        removed=["far", "bad"],
    ),
    Case(
        "rank decides, not what is done",
        indexed({"completedIndexes": "0,1", "succeeded": 2}, parallelism=4),
        [of(0, ready=-9), of(1, ready=-9), of(2, "Pending"), of(3, "Pending")],
        removed=["p2", "p3"],
    ),
    # Pods that are being deleted
    Case("replaced at once", job(), [pod("a", deleted=30)], after=10.0),
    Case("not before it has ended", job(**WAITS), [pod("a", deleted=30)]),
    Case("by index", indexed(**WAITS), [of(0, deleted=30), of(1)], [2, 3]),
    Case(
        "an index that ends is free",
        indexed(),
        [of(0, deleted=30, finished=-90, tracked=False), of(1)],
        [0, 2, 3],
    ),
    # Backoff
    Case("after a failure", job(), [pod("a", "Failed", finished=-3)], after=7.0),
    Case("after the wait", job(), [pod("a", "Failed", finished=-10)], created=[None]),
    Case("as remembered", job(), record=FAILED_ONCE, after=6.0),
    Case(
        "longer with each",
        job(),
        [pod("a", "Failed", finished=-3)],
        record=FAILED_ONCE,
        after=17.0,
    ),
    Case(
        "a success ends it",
        job(completions=3),
        [pod("a", "Succeeded")],
        [None],
        record=FAILED_ONCE,
    ),
    Case(
        "no wait to remove", job(parallelism=0), [pod("a")], removed=["a"], record=FAILED_ONCE
    ),
    Case(
        "the deadline may come first",
        job(activeDeadlineSeconds=62),
        record=FAILED_ONCE,
        after=2.0,
    ),
    # Backoff by index
    Case(
        "each index waits for itself",
        indexed(**BY_INDEX),
        [counted(0, 0, -3), counted(1, 1, -3), counted(2, 0, -11)],
        [2, 3],
        after=7.0,
    ),
    Case(
        "given up",
        indexed({"failedIndexes": "0"}, **BY_INDEX),
        [counted(1, 3, -99)],
        [2, 3],
    ),
    Case(
        "only those whose turn it is",
        indexed(parallelism=1, **BY_INDEX),
        [counted(0, 0, -3)],
        after=7.0,
    ),
    Case("others do not wait", indexed(**BY_INDEX), created=[0, 1, 2, 3], record=FAILED_ONCE),
    # Deleted Jobs
    Case("a deleted one gets none", job(deleted=True)),
    Case("a deleted one loses none", job(deleted=True, parallelism=0), RUNS),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_pods_are_created_and_removed(case: Case) -> None:
    result = run(case.job, *case.pods, record=case.record)

    assert result.created == case.created
    assert result.removed == case.removed
    assert result.after == case.after


def test_what_was_removed_is_on_its_way_out_and_not_accounted_for() -> None:
    result = run(
        job(completions=9, parallelism=1), pod("a"), pod("b", ready=-5), pod("c", ready=-9)
    )

    assert result.removed == ["a", "b"]
    assert result.released == []
    assert result.counts == "1/1/2/0/0"


def test_what_could_not_be_removed_or_created_is_not_taken_for_it() -> None:
    assert run(job(parallelism=0), pod("a"), undeleted=["a"]).counts == "1/0/0/0/0"
    assert run(job(parallelism=4, completions=4), uncreated=3).counts == "1/0/0/0/0"


def test_while_nothing_may_be_created_those_that_run_are_still_reported() -> None:
    result = run(job(completions=3, parallelism=3), pod("a", ready=-5), record=FAILED_ONCE)

    assert result.created == []
    assert result.counts == "1/1/0/0/0"
