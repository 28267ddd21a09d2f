from dataclasses import replace
from datetime import timedelta

import pytest

from jobferry.core.kind import Report, Stillness
from jobferry.core.marks import Marks, Standing
from jobferry.kinds.job import base as bases
from jobferry.kinds.job.adapter import JOB
from jobferry.kinds.job.base import Base
from jobferry.objects import Obj, quantities
from tests.unit.kinds.job.jobs import NOW, at, condition, hub_job

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

    assert JOB.demand(hub) == {"cpu": quantities.parse("1")}


def test_the_priority_class_is_that_of_its_pods() -> None:
    hub = hub_job()
    assert JOB.priority_class(hub) == ""

    hub["spec"]["template"]["spec"]["priorityClassName"] = "high"
    assert JOB.priority_class(hub) == "high"


def test_a_mirror_has_the_marks_it_was_made_with() -> None:
    mirror = JOB.mirror(hub_job(), MARKS, "")

    assert MARKS.judge(mirror).standing is Standing.CURRENT
    assert "managedBy" not in mirror["spec"]
    assert "status" not in mirror


def test_a_mirror_gets_the_name_that_its_marks_say() -> None:
    mirror = JOB.mirror(hub_job(), replace(MARKS, name="train-x"), "")

    assert mirror["metadata"]["name"] == "train-x"


def test_the_same_mirror_is_made_however_often_it_is_asked_for() -> None:
    base = bases.write(Base(failed=1, seconds=3))

    assert JOB.mirror(hub_job(), MARKS, base) == JOB.mirror(hub_job(), MARKS, base)


@pytest.mark.parametrize("how", ["Complete", "Failed", None])
def test_how_a_job_ended(how: str | None) -> None:
    listed = [condition(how)] if how else []

    assert JOB.finish({"status": {"conditions": listed}}) == how


# -- whether a mirror waits to run ---------------------------------------------------------------

STARTED = {"active": 3, "ready": 0, "terminating": 0, "startTime": at(-9)}


def test_a_mirror_with_a_start_and_no_pod_that_did_something_waits_since_then() -> None:
    assert JOB.waits_since({"status": STARTED}) == NOW + timedelta(seconds=-9)
    assert JOB.waits_since({"status": {**STARTED, "uncountedTerminatedPods": {}}})


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
    assert JOB.waits_since({"status": {**STARTED, **status}}) is None


# -- what the status of a Job tells -------------------------------------------------------------------


def test_a_job_is_a_workload_kind() -> None:
    assert (JOB.name, str(JOB.resource), JOB.carries_record) == (
        "Job.batch",
        "jobs.batch",
        True,
    )


@pytest.mark.parametrize(("suspend", "expected"), [(True, True), (False, False), (None, False)])
def test_a_job_is_suspended_as_its_spec_says(suspend: bool | None, expected: bool) -> None:
    assert JOB.is_suspended(hub_job(suspend=suspend)) is expected


def test_a_job_ended_when_its_condition_says_so_if_it_does() -> None:
    done = condition("Complete") | {"lastTransitionTime": at(-9)}
    untold = {k: v for k, v in done.items() if k != "lastTransitionTime"}

    assert JOB.finished_at(hub_job({"conditions": [done]})) == NOW - timedelta(seconds=9)
    assert JOB.finished_at(hub_job({"conditions": [untold]})) is None
    assert JOB.finished_at(hub_job()) is None


@pytest.mark.parametrize("status", ["True", "False"])
def test_a_job_was_resumed_when_its_condition_says_so(status: str) -> None:
    said = condition("Suspended", status) | {"lastTransitionTime": at(-9)}

    assert JOB.resumed_at(hub_job({"conditions": [said]})) == NOW - timedelta(seconds=9)
    assert JOB.resumed_at(hub_job()) is None


@pytest.mark.parametrize(
    "shown",
    [{"startTime": at(0)}, {"active": 1}, {"succeeded": 1}, {"failed": 1}, {"terminating": 1}],
)
def test_a_job_with_a_start_or_a_pod_has_run(shown: Obj) -> None:
    assert JOB.has_run(hub_job(shown))
    assert not JOB.has_run(hub_job())


EARNED = bases.write(Base(succeeded=2, failed=1))


@pytest.mark.parametrize(
    ("shown", "has_run"),
    [
        ({"succeeded": 2, "failed": 1, "active": 1}, False),
        ({"succeeded": 3, "failed": 1}, True),
        ({"succeeded": 2, "failed": 2}, True),
        ({"ready": 1}, True),
        ({"terminating": 1}, True),
        ({"uncountedTerminatedPods": {"failed": ["a"]}}, True),
    ],
)
def test_a_job_has_run_since_if_it_shows_more_than_its_base(shown: Obj, has_run: bool) -> None:
    assert JOB.has_run_since(hub_job(shown), EARNED) is has_run


# -- reports ------------------------------------------------------------------------------------------


def test_a_report_is_guarded_and_says_how_it_ended() -> None:
    done = {"succeeded": 3, "conditions": [condition("Complete")]}

    report = JOB.report(hub_job(completions=3), {"status": done}, "", NOW)

    assert report is not None
    assert report.patch["metadata"] == {"resourceVersion": "41"}
    assert report.end == "Complete"


def test_there_is_no_report_of_what_is_shown() -> None:
    assert JOB.report(hub_job(), {"status": {}}, "", NOW) is None
    assert JOB.waiting(hub_job(), NOW) is None


def test_a_job_that_waits_suspended_says_so() -> None:
    report = JOB.waiting(hub_job(suspend=True), NOW)

    assert isinstance(report, Report)
    [said] = report.patch["status"]["conditions"]
    assert (said["type"], report.end) == ("Suspended", None)


def test_a_job_that_we_give_up_fails() -> None:
    report = JOB.fail(hub_job(), "NoWorker", "gone", NOW)

    assert report is not None
    assert report.end == "Failed"


def test_a_job_of_which_nothing_is_left_ends() -> None:
    base = bases.write(Base(succeeded=3))

    report = JOB.outcome(hub_job(completions=3), None, base, NOW)

    assert report is not None
    assert report.end == "Complete"
    assert JOB.outcome(hub_job(completions=4), None, base, NOW) is None


# -- stopping -----------------------------------------------------------------------------------------

STOPPED = condition("Suspended")


@pytest.mark.parametrize(
    ("spec", "status", "expected"),
    [
        ({}, {"active": 1}, Stillness.RUNS),
        ({}, {}, Stillness.RUNS),
        ({"suspend": True}, {}, Stillness.RUNS),
        ({"suspend": True}, {"active": 1, "conditions": [STOPPED]}, Stillness.RUNS),
        ({"suspend": True}, {"terminating": 1, "conditions": [STOPPED]}, Stillness.RUNS),
        ({"suspend": True}, {"conditions": [STOPPED]}, Stillness.STOPPED),
        ({"suspend": False}, {"conditions": [STOPPED]}, Stillness.RESUMES),
    ],
)
def test_a_mirror_is_still_once_its_status_says_so(
    spec: Obj, status: Obj, expected: Stillness
) -> None:
    mirror: Obj = {"metadata": {}, "spec": spec, "status": status}

    assert JOB.stillness(mirror) is expected


@pytest.mark.parametrize(
    ("status", "expected"), [({"active": 1}, Stillness.RUNS), ({}, Stillness.STOPPED)]
)
def test_a_mirror_that_was_deleted_is_still_once_no_pod_runs(
    status: Obj, expected: Stillness
) -> None:
    mirror: Obj = {"metadata": {"deletionTimestamp": at(0)}, "spec": {}, "status": status}

    assert JOB.stillness(mirror) is expected
