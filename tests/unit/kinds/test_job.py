from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from jobferry.core import legal
from jobferry.core.base import Base
from jobferry.core.marks import Marks, Standing
from jobferry.kinds import job
from jobferry.objects import Obj, quantities
from jobferry.objects.indexes import IndexSet
from tests.unit.core.jobs import INDEXED, NOW, PER_INDEX, at, condition, hub_job

MARKS = Marks(
    origin="5f0c",
    dispatcher="jobferry.io/dispatcher",
    worker="east",
    hub_uid="0f8e",
    attempt=1,
    namespace="ml",
    name="train",
    hub_name="train",
)


def test_the_demand_is_that_of_the_pods_that_run_side_by_side() -> None:
    requests = {"resources": {"requests": {"cpu": "500m"}}}
    hub = hub_job()
    hub["spec"]["template"]["spec"]["containers"][0] |= requests

    assert job.demand(hub) == {"cpu": quantities.parse("1")}


def test_the_priority_class_is_that_of_its_pods() -> None:
    hub = hub_job()
    assert job.priority_class(hub) == ""

    hub["spec"]["template"]["spec"]["priorityClassName"] = "high"
    assert job.priority_class(hub) == "high"


def test_a_mirror_has_the_marks_it_was_made_with() -> None:
    mirror = job.mirror(hub_job(), MARKS, Base())

    assert MARKS.judge(mirror).standing is Standing.CURRENT
    assert "managedBy" not in mirror["spec"]
    assert "status" not in mirror


def test_a_mirror_gets_the_name_that_its_marks_say() -> None:
    mirror = job.mirror(hub_job(), replace(MARKS, name="train-x"), Base())

    assert mirror["metadata"]["name"] == "train-x"


def test_the_same_mirror_is_made_however_often_it_is_asked_for() -> None:
    base = Base(failed=1, seconds=3)

    assert job.mirror(hub_job(), MARKS, base) == job.mirror(hub_job(), MARKS, base)


def test_the_status_of_a_mirror_is_on_top_of_the_base() -> None:
    said = {"succeeded": 1, "failed": 1, "active": 2, "startTime": at(-9)}

    wanted = job.wanted_status(hub_job(), {"status": said}, Base(succeeded=2, failed=3))

    assert wanted == {"succeeded": 3, "failed": 4, "active": 2, "startTime": at(-9)}


def test_the_indexes_of_a_mirror_are_joined_with_those_of_the_base() -> None:
    base = Base(completed_indexes=IndexSet.of([0]), failed_indexes=IndexSet.of([1, 2]))
    said = {"succeeded": 1, "completedIndexes": "1", "failedIndexes": "3"}

    wanted = job.wanted_status(hub_job(**PER_INDEX), {"status": said}, base)

    assert wanted == {
        "succeeded": 2,
        "failed": 0,
        "completedIndexes": "0,1",
        "failedIndexes": "2,3",
    }


def test_a_mirror_without_a_status_shows_the_base() -> None:
    wanted = job.wanted_status(hub_job(), {}, Base(failed=1))

    assert wanted == {"succeeded": 0, "failed": 1}


@pytest.mark.parametrize("how", ["Complete", "Failed", None])
def test_how_a_job_ended(how: str | None) -> None:
    listed = [condition(how)] if how else []

    assert job.finish({"status": {"conditions": listed}}) == how


# -- the next attempt ----------------------------------------------------------------------------


def test_the_base_of_the_next_attempt_is_what_all_before_have_earned() -> None:
    mirror = {"status": {"succeeded": 1, "uncountedTerminatedPods": {"failed": ["a"]}}}

    base = job.carried(hub_job({"succeeded": 2}), mirror, Base(succeeded=1, failed=1), NOW)

    assert base == Base(succeeded=2, failed=2)


def test_what_the_hub_shows_counts_even_if_nothing_is_known_of_the_mirror() -> None:
    shown = {"succeeded": 2, "failed": 3, "completedIndexes": "0,1"}

    base = job.carried(hub_job(shown, **INDEXED), None, Base(), NOW)

    assert base == Base(succeeded=2, failed=3, completed_indexes=IndexSet.of([0, 1]))


@pytest.mark.parametrize(("start", "seconds"), [(at(-90), 90), (at(30), 0), (None, 0)])
def test_the_deadline_runs_from_the_start_that_the_hub_shows(
    start: str | None, seconds: int
) -> None:
    shown = {"startTime": start} if start else {}
    now = NOW + timedelta(milliseconds=900)

    assert job.carried(hub_job(shown), None, Base(seconds=5), now).seconds == seconds


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
    wanted = job.outcome(hub_job(**spec), base)

    assert (wanted["conditions"][0]["reason"] if wanted else None) == reason


def test_a_job_that_ends_with_its_base_shows_it() -> None:
    base = Base(succeeded=4, failed=1, completed_indexes=IndexSet.below(4))
    hub = hub_job({"startTime": at(-9)}, **INDEXED)
    wanted = job.outcome(hub, base)

    assert wanted is not None
    status = legal.legalise(hub, wanted, NOW)
    assert (status["completedIndexes"], status["succeeded"], status["failed"]) == ("0-3", 4, 1)
    assert status["completionTime"] == at(0)


# -- whether a mirror waits to run ---------------------------------------------------------------

STARTED = {"active": 3, "ready": 0, "terminating": 0, "startTime": at(-9)}


def test_a_mirror_with_a_start_and_no_pod_that_did_something_waits_since_then() -> None:
    assert job.waits_since({"status": STARTED}) == NOW + timedelta(seconds=-9)
    assert job.waits_since({"status": {**STARTED, "uncountedTerminatedPods": {}}})


@pytest.mark.parametrize(
    "status",
    [
        {"startTime": None},
        {"ready": 1},
        {"succeeded": 1},
        {"failed": 1},
        {"terminating": 1},
        {"uncountedTerminatedPods": {"succeeded": ["a"]}},
        {"uncountedTerminatedPods": {"failed": ["a"]}},
        {"conditions": [condition("Suspended")]},
        {"conditions": [condition("Complete")]},
    ],
)
def test_any_other_mirror_waits_for_nothing(status: Obj) -> None:
    assert job.waits_since({"status": {**STARTED, **status}}) is None


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
    made = job.mirror(bare, MARKS, base)
    made["status"] = {"succeeded": 1, "failed": 1, "completedIndexes": "0"}

    shown = hub_job(job.wanted_status(bare, made, base), **spec)

    assert job.earlier(shown, made) == base
