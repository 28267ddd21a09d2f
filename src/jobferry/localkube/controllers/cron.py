"""What a CronJob wants done now, and when to look at it again: pure decisions."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import Enum, auto
from typing import NamedTuple

from jobferry.clock import span
from jobferry.kube.events import Type
from jobferry.objects import Obj, conditions, owners, schedules
from jobferry.objects.schedules import BadSchedule, Schedule

API_VERSION = "batch/v1"
SCHEDULED = "batch.kubernetes.io/cronjob-scheduled-timestamp"
MANY = 100
"""Missed times from which something must be wrong."""

PADDING = timedelta(milliseconds=100)
"""So that a clock which is a little behind does not look too early."""


class Told(NamedTuple):
    """An Event."""

    type: Type
    reason: str
    message: str


@dataclass(slots=True)
class Plan:
    """What to do for a CronJob, in this order: delete, create, write the status."""

    active: list[Obj]
    last_success: str | None
    last_schedule: str | None
    told: list[Told] = field(default_factory=list)
    replace: list[Obj] = field(default_factory=list)
    """References to the Jobs that a new one takes the place of."""

    create: Obj | None = None
    scheduled: datetime | None = None
    """The time for which the Job is created."""

    again: datetime | None = None


class Missed(Enum):
    """How many times have passed without a Job."""

    NONE = auto()
    FEW = auto()
    MANY = auto()


class Recent(NamedTuple):
    """The last time that a schedule was due, since when, and how many were before it."""

    since: datetime
    due: datetime | None
    missed: Missed


def decide(cron_job: Obj, jobs: Sequence[Obj], missing: set[str], now: datetime) -> Plan:
    """Decide what is due; `missing` are the UIDs of active Jobs that are certainly gone."""
    plan = _account(cron_job, jobs, missing)
    if cron_job["metadata"].get("deletionTimestamp"):
        return plan
    known = {**(cron_job.get("status") or {}), "lastScheduleTime": plan.last_schedule}
    cron_job = {**cron_job, "status": known}
    spec = cron_job["spec"]
    zone = spec.get("timeZone") or ""
    if problem := schedules.zone_problem(zone):
        said = f'invalid timeZone: "{zone}": {problem}'
        plan.told.append(Told("Warning", "UnknownTimeZone", said))
        return plan
    if spec.get("suspend"):
        return plan
    try:
        schedule = schedules.parse(spec["schedule"], zone)
    except BadSchedule as error:
        said = f'unparseable schedule: "{spec["schedule"]}" : {error}'
        plan.told.append(Told("Warning", "UnparseableSchedule", said))
        return plan
    _start(cron_job, schedule, plan, now)
    return plan


def surplus(cron_job: Obj, jobs: Sequence[Obj]) -> list[Obj]:
    """Return the finished Jobs that are more than the history keeps, the oldest first."""
    spec = cron_job["spec"]
    found = []
    for type, limit in (
        ("Complete", spec.get("successfulJobsHistoryLimit")),
        ("Failed", spec.get("failedJobsHistoryLimit")),
    ):
        if limit is not None:
            ended = sorted((job for job in jobs if finished_as(job) == type), key=_age)
            found += ended[: max(0, len(ended) - limit)]
    return [job for job in found if not job["metadata"].get("deletionTimestamp")]


def reference(job: Obj) -> Obj:
    """Return how the status of a CronJob names an active Job."""
    meta = job["metadata"]
    return {
        "apiVersion": API_VERSION,
        "kind": "Job",
        "name": meta["name"],
        "namespace": meta["namespace"],
        "resourceVersion": meta.get("resourceVersion"),
        "uid": meta["uid"],
    }


def finished_as(job: Obj) -> str:
    """Return how a Job ended: Complete or Failed; empty if it has not."""
    found = (job.get("status") or {}).get("conditions")
    return next(
        (type for type in ("Complete", "Failed") if conditions.is_true(found, type)), ""
    )


def job_name(cron_job: Obj, scheduled: datetime) -> str:
    """Return the name of the Job for a time: the same whoever makes it, so it is made once."""
    return f"{cron_job['metadata']['name']}-{int(scheduled.timestamp()) // 60}"


def job_for(cron_job: Obj, scheduled: datetime) -> Obj:
    """Return the Job for a time."""
    meta, spec = cron_job["metadata"], cron_job["spec"]
    template = spec["jobTemplate"]
    given = template.get("metadata") or {}
    local = scheduled.astimezone(schedules.location(spec.get("timeZone") or ""))
    owner = {**cron_job, "apiVersion": API_VERSION, "kind": "CronJob"}
    return {
        "metadata": {
            "name": job_name(cron_job, scheduled),
            "namespace": meta["namespace"],
            "labels": given.get("labels") or {},
            "annotations": {**(given.get("annotations") or {}), SCHEDULED: rfc3339(local)},
            "ownerReferences": [owners.owner_reference(owner)],
        },
        "spec": template["spec"],
    }


def next_look(cron_job: Obj, schedule: Schedule, now: datetime) -> datetime | None:
    """Return when the next time comes; None if it never does."""
    recent = _most_recent(cron_job, schedule, now, within_deadline=False)
    if recent is None:
        base = now
    elif recent.due is not None:
        base = recent.due
    else:
        base = recent.since if recent.missed is Missed.NONE else now
    following = schedule.next(base)
    return None if following is None else following + PADDING


def _account(cron_job: Obj, jobs: Sequence[Obj], missing: set[str]) -> Plan:
    """Take out of the active Jobs those that have ended or are gone."""
    status = cron_job.get("status") or {}
    plan = Plan(
        list(status.get("active") or ()),
        status.get("lastSuccessfulTime"),
        status.get("lastScheduleTime"),
    )
    known = {ref.get("uid") for ref in plan.active}
    for job in jobs:
        meta, ending = job["metadata"], finished_as(job)
        if not ending and meta["uid"] not in known and (made_for := _made_for(cron_job, job)):
            # Ours: we were stopped before we could write it down.
            plan.active.append(reference(job))
            plan.last_schedule = _later(plan.last_schedule, made_for)
        elif not ending and meta["uid"] not in known:
            said = f"Saw a job that the controller did not create or forgot: {meta['name']}"
            plan.told.append(Told("Warning", "UnexpectedJob", said))
        elif ending and meta["uid"] in known:
            plan.active = _without(plan.active, meta["uid"])
            said = f"Saw completed job: {meta['name']}, condition: {ending}"
            plan.told.append(Told("Normal", "SawCompletedJob", said))
        if ending == "Complete":
            plan.last_success = _later(plan.last_success, job["status"].get("completionTime"))
    for ref in plan.active:
        if ref.get("uid") in missing:
            plan.active = _without(plan.active, ref["uid"])
            said = f"Active job went missing: {ref['name']}"
            plan.told.append(Told("Normal", "MissingJob", said))
    return plan


def _made_for(cron_job: Obj, job: Obj) -> str:
    """Return the time for which we made a Job; empty for one that others made in our name."""
    told = (job["metadata"].get("annotations") or {}).get(SCHEDULED)
    if told is None:
        return ""
    try:
        scheduled = datetime.fromisoformat(told).astimezone(UTC)
    except ValueError:
        return ""
    if job["metadata"]["name"] != job_name(cron_job, scheduled):
        return ""
    return rfc3339(scheduled)


def _start(cron_job: Obj, schedule: Schedule, plan: Plan, now: datetime) -> None:
    """Plan the Job for the last time that was due, unless it is too late or not wanted."""
    spec = cron_job["spec"]
    plan.again = next_look(cron_job, schedule, now)
    recent = _most_recent(cron_job, schedule, now, within_deadline=True)
    if recent is None:
        why = "time difference between two schedules is less than 1 second"
        said = f"invalid schedule: {spec['schedule']} : {why}"
        plan.told.append(Told("Warning", "InvalidSchedule", said))
        plan.again = None
        return
    due = recent.due
    if due is None:
        return
    if recent.missed is Missed.MANY:
        plan.told.append(Told("Warning", "TooManyMissedTimes", _TOO_MANY))
    deadline = spec.get("startingDeadlineSeconds")
    if deadline is not None and due + span(deadline) < now:
        said = f"Missed scheduled time to start a job: {due:%a, %d %b %Y %H:%M:%S +0000}"
        plan.told.append(Told("Warning", "MissSchedule", said))
        return
    name = job_name(cron_job, due)
    if _is_last(cron_job, due) or any(ref["name"] == name for ref in plan.active):
        return
    policy = spec.get("concurrencyPolicy")
    if policy == "Forbid" and plan.active:
        plan.told.append(Told("Normal", "JobAlreadyActive", _FORBIDDEN))
        return
    if policy == "Replace":
        plan.replace = list(plan.active)
    plan.create, plan.scheduled = job_for(cron_job, due), due


_TOO_MANY = "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew"
_FORBIDDEN = (
    "Not starting job because prior execution is running and concurrency policy is Forbid"
)


def _most_recent(
    cron_job: Obj, schedule: Schedule, now: datetime, *, within_deadline: bool
) -> Recent | None:
    """Find the last time that was due; None for a schedule that makes no sense.

    How many were missed is estimated by the time between the first two: that is what Kubernetes does.
    """
    since = _since(cron_job)
    deadline = cron_job["spec"].get("startingDeadlineSeconds")
    if within_deadline and deadline is not None:
        since = max(since, now - span(deadline))
    first = schedule.next(since)
    if first is None:
        return None
    if now < first:
        return Recent(since, None, Missed.NONE)
    second = schedule.next(first)
    if second is None or now < second:
        return Recent(since, first, Missed.NONE)
    between = second - first
    count = int((now - first) / between) + 1
    found = schedule.next(first + (count - 2) * between)
    due = None
    while found is not None and found <= now:
        due, found = found, schedule.next(found)
    return Recent(since, due, Missed.MANY if count > MANY else Missed.FEW)


def _since(cron_job: Obj) -> datetime:
    last = (cron_job.get("status") or {}).get("lastScheduleTime")
    return datetime.fromisoformat(last or cron_job["metadata"]["creationTimestamp"])


def _is_last(cron_job: Obj, due: datetime) -> bool:
    last = (cron_job.get("status") or {}).get("lastScheduleTime")
    return last is not None and datetime.fromisoformat(last) == due


def _without(active: Sequence[Obj], uid: str) -> list[Obj]:
    return [ref for ref in active if ref.get("uid") != uid]


def _later(one: str | None, other: str | None) -> str | None:
    """Return the later of two times; they are all written alike."""
    return max(filter(None, (one, other)), default=None)


def _age(job: Obj) -> tuple[bool, str, str]:
    start = (job.get("status") or {}).get("startTime")
    return start is None, start or "", job["metadata"]["name"]


def rfc3339(when: datetime) -> str:
    """Write a time as Kubernetes does."""
    return when.isoformat(timespec="seconds").replace("+00:00", "Z")
