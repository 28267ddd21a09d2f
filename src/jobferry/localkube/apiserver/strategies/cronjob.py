"""CronJobs: what is filled in, checked and warned of."""

from collections.abc import Iterator, Sequence

from jobferry.localkube.apiserver import problems
from jobferry.localkube.apiserver.problems import Named, Problem
from jobferry.localkube.apiserver.strategies import (
    job,
    job_validation,
    pod_disabled,
)
from jobferry.localkube.apiserver.strategy import Strategy
from jobferry.localkube.apiserver.validation import metadata, names, values
from jobferry.objects import Obj, schedules

MAX_NAME = 52
"""A Job gets the name of its CronJob and eleven characters more."""

_POLICIES = ("Allow", "Forbid", "Replace")
_TEMPLATE = "spec.jobTemplate.spec"


def default(cronjob: Obj) -> None:
    """Fill in a CronJob; the Jobs of its template are filled in when they are made."""
    spec = cronjob.setdefault("spec", {})
    if not spec.get("concurrencyPolicy"):
        spec["concurrencyPolicy"] = "Allow"
    for member, value in (
        ("suspend", False),
        ("successfulJobsHistoryLimit", 3),
        ("failedJobsHistoryLimit", 1),
    ):
        if spec.get(member) is None:
            spec[member] = value
    job.default_template(spec.setdefault("jobTemplate", {}).setdefault("spec", {}))


def prepare_create(cronjob: Obj) -> None:
    """Forget any status."""
    cronjob["status"] = {}
    pod_disabled.drop_from_spec(cronjob["spec"]["jobTemplate"]["spec"]["template"]["spec"])


def prepare_update(cronjob: Obj, old: Obj) -> None:
    """Keep the status as it was."""
    cronjob["status"] = old.get("status") or {}
    pod_disabled.drop_from_spec(cronjob["spec"]["jobTemplate"]["spec"]["template"]["spec"])


def prepare_status_update(cronjob: Obj, old: Obj) -> None:
    """Keep everything but status and metadata as it was."""
    cronjob["spec"] = old["spec"]


def validate_create(cronjob: Obj) -> Sequence[Problem]:
    """Say what is wrong with a new CronJob."""
    found = [
        *metadata.create_problems(cronjob, namespaced=True, name_problems=names.is_subdomain),
        *_spec_problems(cronjob["spec"], None),
    ]
    name = cronjob["metadata"].get("name") or ""
    if names.size(name) > MAX_NAME:
        found.append(problems.invalid("metadata.name", name, names.at_most(MAX_NAME)))
    return found


def validate_update(cronjob: Obj, old: Obj) -> Sequence[Problem]:
    """Say what is wrong with a changed CronJob."""
    return [
        *metadata.update_problems(cronjob, old),
        *_spec_problems(cronjob["spec"], old["spec"]),
    ]


def _spec_problems(spec: Obj, was: Obj | None) -> Iterator[Problem]:
    if schedule := spec.get("schedule"):
        with_zone = "TZ" in ((was or {}).get("schedule") or "")
        yield from _schedule_problems(schedule, spec.get("timeZone"), with_zone=with_zone)
    else:
        yield problems.required("spec.schedule")
    deadline = spec.get("startingDeadlineSeconds")
    yield from values.not_negative("spec.startingDeadlineSeconds", deadline)
    zone = spec.get("timeZone")
    if zone is not None and (was is None or was.get("timeZone") != zone):
        yield from _zone_problems(Named(zone), "spec.timeZone")
    policy = spec.get("concurrencyPolicy")
    yield from values.one_of("spec.concurrencyPolicy", policy, _POLICIES)
    yield from _template_problems((spec.get("jobTemplate") or {}).get("spec") or {})
    for member in ("successfulJobsHistoryLimit", "failedJobsHistoryLimit"):
        yield from values.not_negative(f"spec.{member}", spec.get(member))


def _schedule_problems(
    schedule: str, zone: str | None, *, with_zone: bool
) -> Iterator[Problem]:
    field = "spec.schedule"
    try:
        schedules.parse(schedule)
    except schedules.BadSchedule as error:
        yield problems.invalid(field, schedule, str(error))
    if "TZ" not in schedule:
        return
    if not with_zone:
        what = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
        yield problems.invalid(field, schedule, what)
    elif zone is not None:
        what = "cannot use both timeZone field and TZ or CRON_TZ in schedule"
        yield problems.invalid(field, schedule, what)


def _zone_problems(zone: str, field: str) -> Iterator[Problem]:
    if not zone:
        yield problems.invalid(field, zone, "timeZone must be nil or non-empty string")
        return
    if not schedules.is_zone_name(zone):
        yield problems.invalid(field, zone, f"unknown time zone {zone}")
        return
    if zone.lower() == "local":
        what = (
            "timeZone must be an explicit time zone as defined in "
            "https://www.iana.org/time-zones"
        )
        yield problems.invalid(field, zone, what)
    if what := schedules.zone_problem(zone):
        yield problems.invalid(field, zone, what)


def _template_problems(spec: Obj) -> Iterator[Problem]:
    yield from job_validation.spec_problems(spec, _TEMPLATE)
    if (selector := spec.get("selector")) is not None:
        what = "`selector` will be auto-generated"
        yield problems.invalid(f"{_TEMPLATE}.selector", selector, what)
    if spec.get("manualSelector"):
        field, supported = f"{_TEMPLATE}.manualSelector", ("nil", "false")
        yield problems.not_supported(field, True, supported)


def warn_create(cronjob: Obj) -> Sequence[str]:
    """Warn of a new CronJob."""
    template = cronjob["spec"]["jobTemplate"]["spec"]
    return [*job.name_warnings(cronjob), *job.spec_warnings(template, _TEMPLATE)]


def warn_update(cronjob: Obj, old: Obj) -> Sequence[str]:
    """Warn of a changed CronJob."""
    found: list[str] = []
    if cronjob["metadata"].get("generation") != old["metadata"].get("generation"):
        found += job.spec_warnings(cronjob["spec"]["jobTemplate"]["spec"], _TEMPLATE)
    if "TZ" in (cronjob["spec"].get("schedule") or ""):
        found.append(
            "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see "
            "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ "
            "for more details"
        )
    return found


STRATEGY = Strategy(
    default=default,
    prepare_create=prepare_create,
    prepare_update=prepare_update,
    validate_create=validate_create,
    validate_update=validate_update,
    warn_create=warn_create,
    warn_update=warn_update,
    name_problems=names.is_subdomain,
    reset_fields=("status",),
)

STATUS = Strategy(
    default=default,
    prepare_update=prepare_status_update,
    name_problems=names.is_subdomain,
    reset_fields=("spec",),
)
