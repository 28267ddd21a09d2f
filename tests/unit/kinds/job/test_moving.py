from datetime import timedelta
from typing import Any

import pytest

from jobferry.kinds.job import base as bases
from jobferry.kinds.job import legal, moving
from jobferry.kinds.job.adapter import JOB
from jobferry.kinds.job.base import Base
from jobferry.objects import Obj
from jobferry.objects.indexes import IndexSet
from tests.unit.kinds.job.jobs import INDEXED, NOW, PER_INDEX, at, hub_job
from tests.unit.kinds.job.test_adapter import MARKS


def test_the_status_of_a_mirror_is_on_top_of_the_base() -> None:
    said = {"succeeded": 1, "failed": 1, "active": 2, "startTime": at(-9)}

    wanted = moving.wanted_status(hub_job(), {"status": said}, Base(succeeded=2, failed=3))

    assert wanted == {"succeeded": 3, "failed": 4, "active": 2, "startTime": at(-9)}


def test_the_indexes_of_a_mirror_are_joined_with_those_of_the_base() -> None:
    base = Base(completed_indexes=IndexSet.of([0]), failed_indexes=IndexSet.of([1, 2]))
    said = {"succeeded": 1, "completedIndexes": "1", "failedIndexes": "3"}

    wanted = moving.wanted_status(hub_job(**PER_INDEX), {"status": said}, base)

    assert wanted == {
        "succeeded": 2,
        "failed": 0,
        "completedIndexes": "0,1",
        "failedIndexes": "2,3",
    }


def test_a_mirror_without_a_status_shows_the_base() -> None:
    wanted = moving.wanted_status(hub_job(), {}, Base(failed=1))

    assert wanted == {"succeeded": 0, "failed": 1}


def test_the_base_of_the_next_attempt_is_what_all_before_have_earned() -> None:
    mirror = {"status": {"succeeded": 1, "uncountedTerminatedPods": {"failed": ["a"]}}}

    base = moving.carried(hub_job({"succeeded": 2}), mirror, Base(succeeded=1, failed=1), NOW)

    assert base == Base(succeeded=2, failed=2)


def test_what_the_hub_shows_counts_even_if_nothing_is_known_of_the_mirror() -> None:
    shown = {"succeeded": 2, "failed": 3, "completedIndexes": "0,1"}

    base = moving.carried(hub_job(shown, **INDEXED), None, Base(), NOW)

    assert base == Base(succeeded=2, failed=3, completed_indexes=IndexSet.of([0, 1]))


@pytest.mark.parametrize(("start", "seconds"), [(at(-90), 90), (at(30), 0), (None, 0)])
def test_the_deadline_runs_from_the_start_that_the_hub_shows(
    start: str | None, seconds: int
) -> None:
    shown = {"startTime": start} if start else {}
    now = NOW + timedelta(milliseconds=900)

    assert moving.carried(hub_job(shown), None, Base(seconds=5), now).seconds == seconds


LIMITED = {"completions": 3, "backoffLimit": 2, "activeDeadlineSeconds": 60}


@pytest.mark.parametrize(
    ("base", "spec", "reason"),
    [
        (Base(failed=3), LIMITED, "BackoffLimitExceeded"),
        (Base(seconds=60), LIMITED, "DeadlineExceeded"),
        (Base(succeeded=3), LIMITED, "CompletionsReached"),
        (Base(succeeded=3, failed=3), LIMITED, "BackoffLimitExceeded"),
        (Base(succeeded=2, failed=2, seconds=59), LIMITED, None),
        (Base(succeeded=3, seconds=60), {"completions": None}, None),
    ],
)
def test_a_job_of_which_nothing_is_left_to_run_ends(
    base: Base, spec: dict[str, Any], reason: str | None
) -> None:
    wanted = moving.outcome(hub_job(**spec), None, base)

    assert (wanted["conditions"][0]["reason"] if wanted else None) == reason


@pytest.mark.parametrize(
    ("interim", "reason", "end"),
    [
        ("FailureTarget", "DeadlineExceeded", "Failed"),
        ("FailureTarget", "PodFailurePolicy", "Failed"),
        ("SuccessCriteriaMet", "SuccessPolicy", "Complete"),
    ],
)
def test_a_job_whose_mirror_was_lost_after_it_decided_how_to_end_ends_so(
    interim: str, reason: str, end: str
) -> None:
    said = {"type": interim, "status": "True", "reason": reason, "message": "so it is"}
    mirror = {"status": {"failed": 9, "terminating": 1, "conditions": [said]}}

    wanted = moving.outcome(hub_job(backoffLimit=0), mirror, Base(failed=9))

    assert wanted is not None
    assert wanted["conditions"] == [{**said, "type": end}]
    assert wanted["failed"] == 9


def test_a_job_that_ends_with_its_base_shows_it() -> None:
    base = Base(succeeded=4, failed=1, completed_indexes=IndexSet.below(4))
    hub = hub_job({"startTime": at(-9)}, **INDEXED)
    wanted = moving.outcome(hub, None, base)

    assert wanted is not None
    status = legal.legalise(hub, wanted, NOW)
    assert (status["completedIndexes"], status["succeeded"], status["failed"]) == ("0-3", 4, 1)
    assert status["completionTime"] == at(0)


@pytest.mark.parametrize(
    ("spec", "base"),
    [
        ({"backoffLimit": 6, "completions": 5}, Base(succeeded=2, failed=1)),
        ({"activeDeadlineSeconds": 600}, Base(succeeded=1, seconds=100)),
        ({"completions": None}, Base(succeeded=3)),
        (PER_INDEX, Base(2, 1, IndexSet.of([0, 3]), IndexSet.of([1]))),
    ],
)
def test_the_base_of_a_mirror_can_be_told_without_its_record(spec: Obj, base: Base) -> None:
    bare = hub_job(**spec)
    made = JOB.mirror(bare, MARKS, bases.write(base))
    made["status"] = {"succeeded": 1, "failed": 1, "completedIndexes": "0"}

    shown = hub_job(moving.wanted_status(bare, made, base), **spec)

    assert moving.earlier(shown, made) == base
