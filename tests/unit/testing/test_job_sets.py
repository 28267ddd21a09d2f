"""The JobSets of a simulation: what their played operator does about one, as the real one would."""

from datetime import UTC, datetime
from typing import Any

from jobferry.kinds.rows import JOB_SET
from jobferry.objects import Obj
from jobferry.testing.simulation import job_sets

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SHAPE: dict[str, Any] = {"replicas": 2, "completions": 2, "parallelism": 1, "backoffLimit": 0}


def made(status: Obj | None = None, **shape: Any) -> Obj:
    """Return a JobSet as a worker has it."""
    found = job_sets.job_set("a", "red", SHAPE | shape)
    found["metadata"]["uid"] = "a-uid"
    return {**found, "status": status or {}}


def jobs_of(found: Obj, **status: Any) -> list[Obj]:
    """Return the Jobs that were made for a JobSet, each with that status."""
    return [{**job, "status": status} for job in job_sets.plan(found, [], NOW).create]


def ended(type: str) -> Obj:
    return {"conditions": [{"type": type, "status": "True"}]}


def counts(plan: job_sets.Plan) -> dict[str, int]:
    assert plan.status is not None
    (part,) = plan.status["replicatedJobsStatus"]
    return {name: number for name, number in part.items() if name != "name"}


def test_the_jobs_of_a_job_set_belong_to_it() -> None:
    made_jobs = jobs_of(made())

    assert [job["metadata"]["name"] for job in made_jobs] == ["a-part-0", "a-part-1"]
    assert {job["metadata"]["ownerReferences"][0]["uid"] for job in made_jobs} == {"a-uid"}
    assert not any("managedBy" in job["spec"] for job in made_jobs)


def test_one_that_is_suspended_stops_its_jobs_and_says_so() -> None:
    running = jobs_of(made(), active=1, ready=1)

    plan = job_sets.plan(made(suspend=True), running, NOW)

    assert plan.suspend == {"a-part-0": True, "a-part-1": True}
    assert plan.status is not None
    assert JOB_SET.suspended is not None
    assert JOB_SET.suspended.holds({"status": plan.status})
    assert counts(plan)["active"] == 2


def test_it_counts_a_job_as_ready_that_has_stopped_after_some_of_it_succeeded() -> None:
    stopped = jobs_of(made(suspend=True), succeeded=1)

    plan = job_sets.plan(made(suspend=True), stopped, NOW)

    assert counts(plan) == {
        "active": 0,
        "ready": 2,
        "succeeded": 0,
        "failed": 0,
        "suspended": 2,
    }


def test_it_ends_well_once_all_of_its_jobs_have() -> None:
    half = [*jobs_of(made(), **ended("Complete"))[:1], *jobs_of(made(), active=1)[1:]]

    first = job_sets.plan(made(), half, NOW)
    last = job_sets.plan(made(), jobs_of(made(), **ended("Complete")), NOW)

    assert job_sets.end({"status": first.status}) is None
    assert last.status is not None
    assert JOB_SET.success.holds({"status": last.status})
    assert last.status["terminalState"] == "Completed"


def test_one_job_that_fails_fails_it_and_the_others_go() -> None:
    mixed = [*jobs_of(made(), **ended("Failed"))[:1], *jobs_of(made(), active=1)[1:]]

    plan = job_sets.plan(made(), mixed, NOW)
    after = job_sets.plan(made(status=plan.status), mixed, NOW)

    assert JOB_SET.failure.holds({"status": plan.status})
    assert after.delete == ["a-part-1"]
    assert after.status is None


def test_nothing_is_written_where_nothing_has_changed() -> None:
    found, running = made(), jobs_of(made(), active=1, ready=1)
    plan = job_sets.plan(found, running, NOW)

    again = job_sets.plan({**found, "status": plan.status}, running, NOW)

    assert again == job_sets.Plan()
