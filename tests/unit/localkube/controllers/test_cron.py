"""What a CronJob wants done, and when."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from jobferry.localkube.controllers import cron
from jobferry.objects import Obj

START = datetime(2026, 1, 1, 10, tzinfo=UTC)


def at(minutes: float) -> datetime:
    return START + timedelta(minutes=minutes)


def text(when: datetime) -> str:
    return when.strftime("%Y-%m-%dT%H:%M:%SZ")


def cron_job(*, status: Obj | None = None, meta: Obj | None = None, **spec: Any) -> Obj:
    """Return a CronJob that was made at 10 o'clock, and is due every full hour."""
    return {
        "metadata": {
            "name": "c",
            "namespace": "default",
            "uid": "c-uid",
            "creationTimestamp": text(START),
            **(meta or {}),
        },
        "spec": {
            "schedule": "0 * * * *",
            "concurrencyPolicy": "Allow",
            "jobTemplate": {"metadata": {"labels": {"a": "b"}}, "spec": {"template": {}}},
            **spec,
        },
        "status": status or {},
    }


def job(
    name: str, ending: str = "", *, start: int = 0, end: int = 0, meta: Obj | None = None
) -> Obj:
    status: Obj = {"startTime": text(at(start))}
    if ending:
        status["conditions"] = [{"type": ending, "status": "True"}]
    if ending == "Complete":
        status["completionTime"] = text(at(end))
    return {
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": f"{name}-uid",
            **(meta or {}),
        },
        "status": status,
    }


def ref(name: str) -> Obj:
    return {"name": name, "namespace": "default", "uid": f"{name}-uid"}


def minutes(when: datetime | None) -> float | None:
    return None if when is None else (when - START).total_seconds() / 60


ACTIVE = {"active": [ref("j")]}
PADDED = 0.1 / 60


@pytest.mark.parametrize(
    ("of", "now", "scheduled", "again", "told"),
    [
        ({}, 59, None, 60, []),
        ({}, 60, 60, 120, []),
        ({}, 61, 60, 120, []),
        ({}, 150, 120, 180, []),
        ({"status": {"lastScheduleTime": text(at(60))}}, 61, None, 120, []),
        ({"status": {"lastScheduleTime": text(at(60))}}, 120, 120, 180, []),
        ({"suspend": True}, 61, None, None, []),
        ({"meta": {"deletionTimestamp": text(START)}}, 61, None, None, []),
        ({"schedule": "nonsense"}, 61, None, None, ["UnparseableSchedule"]),
        ({"schedule": "0 0 31 2 *"}, 61, None, None, ["InvalidSchedule"]),
        ({"timeZone": "No/Where"}, 61, None, None, ["UnknownTimeZone"]),
        ({"timeZone": "Asia/Kolkata"}, 31, 30, 90, []),
        ({"startingDeadlineSeconds": 120}, 61, 60, 120, []),
        ({"startingDeadlineSeconds": 120}, 63, None, 120, []),
        ({"startingDeadlineSeconds": 120}, 62, None, 120, []),
        ({"startingDeadlineSeconds": 7200}, 150, 120, 180, []),
        ({"startingDeadlineSeconds": 2**63 - 1}, 150, 120, 180, []),
        ({}, 60 * 200, 60 * 200, 60 * 201, ["TooManyMissedTimes"]),
        ({"startingDeadlineSeconds": 60}, 60 * 200, 60 * 200, 60 * 201, []),
        ({"schedule": "@every 90m"}, 200, 180, 270, []),
        (
            {"concurrencyPolicy": "Forbid", "status": ACTIVE},
            61,
            None,
            120,
            ["JobAlreadyActive"],
        ),
        ({"concurrencyPolicy": "Forbid"}, 61, 60, 120, []),
        ({"concurrencyPolicy": "Allow", "status": ACTIVE}, 61, 60, 120, []),
        ({"concurrencyPolicy": "Replace", "status": ACTIVE}, 61, 60, 120, []),
    ],
)
def test_a_job_is_due_at_the_last_time_that_was_not_too_long_ago(
    of: Obj, now: float, scheduled: float | None, again: float | None, told: list[str]
) -> None:
    jobs = [job("j")] if of.get("status") == ACTIVE else []

    plan = cron.decide(cron_job(**of), jobs, set(), at(now))

    assert minutes(plan.scheduled) == scheduled
    assert minutes(plan.again) == (None if again is None else pytest.approx(again + PADDED))
    assert [each.reason for each in plan.told] == told
    assert (plan.create is None) is (scheduled is None)


def test_only_what_is_active_is_replaced() -> None:
    spec: Obj = {"concurrencyPolicy": "Replace", "status": {"active": [ref("j"), ref("done")]}}

    plan = cron.decide(cron_job(**spec), [job("j"), job("done", "Complete")], set(), at(61))

    assert plan.replace == [ref("j")]


def test_the_job_is_made_from_the_template() -> None:
    made = cron.job_for(cron_job(timeZone="Asia/Kolkata"), at(60))

    assert made == {
        "metadata": {
            "name": f"c-{int(at(60).timestamp()) // 60}",
            "namespace": "default",
            "labels": {"a": "b"},
            "annotations": {
                "batch.kubernetes.io/cronjob-scheduled-timestamp": "2026-01-01T16:30:00+05:30"
            },
            "ownerReferences": [
                {
                    "apiVersion": "batch/v1",
                    "kind": "CronJob",
                    "name": "c",
                    "uid": "c-uid",
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": {"template": {}},
    }


def test_a_time_in_utc_is_written_with_a_z() -> None:
    annotations = cron.job_for(cron_job(), at(60))["metadata"]["annotations"]

    assert list(annotations.values()) == ["2026-01-01T11:00:00Z"]


def test_finished_and_missing_jobs_are_active_no_more() -> None:
    status = {"active": [ref("a"), ref("b"), ref("c"), ref("d")]}
    jobs = [job("a"), job("b", "Complete", end=7), job("c", "Failed"), job("x")]

    plan = cron.decide(cron_job(status=status), jobs, {"d-uid"}, at(10))

    assert plan.active == [ref("a")]
    assert plan.last_success == text(at(7))
    assert [(each.reason, each.message) for each in plan.told] == [
        ("SawCompletedJob", "Saw completed job: b, condition: Complete"),
        ("SawCompletedJob", "Saw completed job: c, condition: Failed"),
        ("UnexpectedJob", "Saw a job that the controller did not create or forgot: x"),
        ("MissingJob", "Active job went missing: d"),
    ]


@pytest.mark.parametrize(("known", "expected"), [(5, 7), (9, 9)])
def test_the_latest_success_counts(known: int, expected: int) -> None:
    jobs = [job("a", "Complete", end=7), job("b", "Complete", end=3)]
    found = cron_job(status={"lastSuccessfulTime": text(at(known))})

    assert cron.decide(found, jobs, set(), at(10)).last_success == text(at(expected))


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({}, []),
        ({"successfulJobsHistoryLimit": 2}, []),
        ({"successfulJobsHistoryLimit": 1}, ["old"]),
        ({"successfulJobsHistoryLimit": 0}, ["old", "new"]),
        ({"failedJobsHistoryLimit": 0}, ["bad"]),
        ({"successfulJobsHistoryLimit": 1, "failedJobsHistoryLimit": 1}, ["old"]),
    ],
)
def test_the_history_keeps_the_latest(limits: Obj, expected: list[str]) -> None:
    jobs = [
        job("new", "Complete", start=5),
        job("running"),
        job("old", "Complete", start=1),
        job("bad", "Failed", start=3),
        job("going", "Failed", start=2, meta={"deletionTimestamp": text(START)}),
    ]
    if "failedJobsHistoryLimit" not in limits or limits["failedJobsHistoryLimit"]:
        jobs = jobs[:-1]

    found = cron.surplus(cron_job(**limits), jobs)

    assert [each["metadata"]["name"] for each in found] == expected


@pytest.mark.parametrize(
    ("annotation", "number", "is_ours"),
    [
        ("2026-01-01T11:00:00Z", 0, True),
        ("2026-01-01T16:30:00+05:30", 0, True),
        ("2026-01-01T11:00:00Z", 1, False),
        ("nonsense", 0, False),
        (None, 0, False),
    ],
)
def test_a_job_that_we_forgot_is_known_by_its_name_and_time(
    annotation: str | None, number: int, is_ours: bool
) -> None:
    annotations = {} if annotation is None else {cron.SCHEDULED: annotation}
    name = f"c-{int(at(60).timestamp()) // 60 + number}"
    forgotten = job(name, meta={"annotations": annotations})

    plan = cron.decide(cron_job(concurrencyPolicy="Forbid"), [forgotten], set(), at(90))

    assert [each["name"] for each in plan.active] == ([name] if is_ours else [])
    assert plan.last_schedule == ("2026-01-01T11:00:00Z" if is_ours else None)
    assert (plan.create is None) is is_ours
    assert [each.reason for each in plan.told] == ([] if is_ours else ["UnexpectedJob"])
