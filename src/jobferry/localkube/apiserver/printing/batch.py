"""The columns of Jobs and CronJobs."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from jobferry.localkube.apiserver.printing import columns, durations
from jobferry.localkube.apiserver.printing.columns import Columns, column
from jobferry.objects import Obj, conditions, labels

NONE = "<none>"


def _job_cells(job: Obj, now: datetime) -> list[Any]:
    spec, status = job.get("spec") or {}, job.get("status") or {}
    return [
        columns.name_of(job),
        _status(job, status),
        _completions(spec, status),
        _duration(status, now),
        columns.age_of(job, now),
        *_containers(spec),
        selector_text(spec.get("selector")),
    ]


def _status(job: Obj, status: Obj) -> str:
    found = status.get("conditions")
    if found and _has(found, "Complete"):
        return "Complete"
    if found and _has(found, "Failed"):
        return "Failed"
    if job["metadata"].get("deletionTimestamp"):
        return "Terminating"
    if found:
        for type in ("Suspended", "FailureTarget", "SuccessCriteriaMet"):
            if _has(found, type):
                return type
    return "Running"


def _has(found: Iterable[Obj], type: str) -> bool:
    # Here, unlike for the Job controller, only the first entry of a type counts.
    condition = conditions.find(found, type)
    return condition is not None and condition.get("status") == "True"


def _completions(spec: Obj, status: Obj) -> str:
    succeeded = status.get("succeeded", 0)
    wanted = spec.get("completions")
    if wanted is not None:
        return f"{succeeded}/{wanted}"
    parallelism = spec.get("parallelism") or 0
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


def _duration(status: Obj, now: datetime) -> str:
    start = status.get("startTime")
    if not start:
        return ""
    end = status.get("completionTime")
    until = datetime.fromisoformat(end) if end else now
    return durations.human(durations.seconds_between(start, until))


def _containers(spec: Obj) -> tuple[str, str]:
    pod = (spec.get("template") or {}).get("spec") or {}
    containers = pod.get("containers") or ()
    names = ",".join([each.get("name", "") for each in containers])
    return names, ",".join([each.get("image", "") for each in containers])


def selector_text(selector: Obj | None) -> str:
    """Write a LabelSelector in its text form."""
    if selector and not selector.get("matchExpressions"):
        # Nearly all selectors are of this kind; those of stored objects have been checked.
        pairs = sorted((selector.get("matchLabels") or {}).items())
        return ",".join([f"{key}={value}" for key, value in pairs]) or NONE
    try:
        return str(labels.from_object(selector)) or NONE
    except labels.BadSelector:
        return "<error>"


def _cron_job_cells(cron_job: Obj, now: datetime) -> list[Any]:
    spec, status = cron_job.get("spec") or {}, cron_job.get("status") or {}
    template = (spec.get("jobTemplate") or {}).get("spec") or {}
    last = status.get("lastScheduleTime")
    zone = spec.get("timeZone")
    return [
        columns.name_of(cron_job),
        spec.get("schedule", ""),
        NONE if zone is None else zone,
        _is_suspended(spec.get("suspend")),
        len(status.get("active") or ()),
        durations.since(last, now) if last else NONE,
        columns.age_of(cron_job, now),
        *_containers(template),
        selector_text(template.get("selector")),
    ]


def _is_suspended(value: bool | None) -> str:
    # The column is called boolean; its cells are text all the same.
    return "<unset>" if value is None else str(value)


JOBS = Columns(
    [
        columns.NAME,
        column("Status", "How the job is doing, in one word."),
        column("Completions", "How many pods succeeded, of how many wanted."),
        column("Duration", "From the start to the completion, or until now."),
        columns.AGE,
        columns.CONTAINERS,
        columns.IMAGES,
        column("Selector", "Which pods count as those of the job.", wide=True),
    ],
    _job_cells,
)
"""Jobs."""

CRON_JOBS = Columns(
    [
        columns.NAME,
        column("Schedule", "When jobs are made, in cron's words."),
        column("Timezone", "The time zone of the schedule."),
        column("Suspend", "Whether no more jobs are made.", type="boolean"),
        column("Active", "How many of its jobs are running.", type="integer"),
        column("Last Schedule", "How long ago the last job was due."),
        columns.AGE,
        columns.CONTAINERS,
        columns.IMAGES,
        column("Selector", "Which pods count as those of a job.", wide=True),
    ],
    _cron_job_cells,
)
"""CronJobs."""
