"""Jobs: what is filled in, generated, checked and warned of."""

from collections.abc import Mapping, Sequence

from jobferry.localkube.apiserver.problems import Problem
from jobferry.localkube.apiserver.strategies import (
    job_status,
    job_validation,
    pod_defaults,
    pod_disabled,
)
from jobferry.localkube.apiserver.strategies.job_validation import (
    CONTROLLER_UID,
    JOB_NAME,
    MANY_COMPLETIONS,
    MAX_BESIDE_MANY,
    OLD_CONTROLLER_UID,
    OLD_JOB_NAME,
)
from jobferry.localkube.apiserver.strategy import Strategy
from jobferry.localkube.apiserver.validation import metadata, names
from jobferry.objects import Obj

_MANY = (
    "In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher "
    "than 10^4, Kubernetes might not be able to track completedIndexes when a big number of "
    "indexes fail"
)
DELETE_WARNING = (
    "child pods are preserved by default when jobs are deleted; set "
    "propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress "
    "this warning"
)


def default(job: Obj) -> None:
    """Fill in a Job."""
    spec = job.setdefault("spec", {})
    default_template(spec)
    if spec.get("parallelism") is None:
        if spec.get("completions") is None:
            spec["completions"] = 1
        spec["parallelism"] = 1
    if spec.get("backoffLimit") is None:
        limited = spec.get("backoffLimitPerIndex") is not None
        spec["backoffLimit"] = names.MAX_INT32 if limited else 6
    template_labels = spec["template"]["metadata"].get("labels")
    if template_labels and not job["metadata"].get("labels"):
        # One map for both, as upstream: what is generated into the one is in the other, too.
        job["metadata"]["labels"] = template_labels
    if spec.get("podReplacementPolicy") is None:
        with_policy = spec.get("podFailurePolicy") is not None
        spec["podReplacementPolicy"] = "Failed" if with_policy else "TerminatingOrFailed"
    for member, value in (
        ("completionMode", "NonIndexed"),
        ("suspend", False),
        ("manualSelector", False),
    ):
        if spec.get(member) is None:
            spec[member] = value


def default_template(spec: Obj) -> None:
    """Fill in what a Job, and a template for Jobs, says about pods."""
    pod_defaults.default_template(spec.setdefault("template", {}))
    for rule in (spec.get("podFailurePolicy") or {}).get("rules") or ():
        for pattern in rule.get("onPodConditions") or ():
            if not pattern.get("status"):
                pattern["status"] = "True"


def prepare_create(job: Obj) -> None:
    """Generate labels and selector, and forget any status."""
    spec, about = job["spec"], job["metadata"]
    if not spec.get("manualSelector"):
        _generate_selector(spec, about.get("name") or "", about.get("uid") or "")
    job["status"] = {}
    pod_disabled.drop_from_spec(spec["template"]["spec"])
    carried = spec["template"]["metadata"].get("labels")
    if carried and (not about.get("labels") or about["labels"] is carried):
        about["labels"] = dict(carried)


def _generate_selector(spec: Obj, name: str, uid: str) -> None:
    carried = spec["template"]["metadata"].setdefault("labels", {})
    for key, value in (
        (OLD_JOB_NAME, name),
        (JOB_NAME, name),
        (OLD_CONTROLLER_UID, uid),
        (CONTROLLER_UID, uid),
    ):
        carried.setdefault(key, value)
    if spec.get("selector") is None:
        spec["selector"] = {}
    wanted = spec["selector"].get("matchLabels")
    if wanted is None:
        wanted = spec["selector"]["matchLabels"] = {}
    wanted.setdefault(CONTROLLER_UID, uid)


def prepare_update(job: Obj, old: Obj) -> None:
    """Keep the status as it was."""
    job["status"] = old.get("status") or {}
    pod_disabled.drop_from_spec(job["spec"]["template"]["spec"])
    carried = job["metadata"].get("labels")
    if carried is not None and carried is job["spec"]["template"]["metadata"].get("labels"):
        job["metadata"]["labels"] = dict(carried)


def prepare_status_update(job: Obj, old: Obj) -> None:
    """Keep everything but status and metadata as it was."""
    job["spec"] = old["spec"]


def validate_create(job: Obj) -> Sequence[Problem]:
    """Say what is wrong with a new Job."""
    return list(job_validation.job_problems(job))


def validate_update(job: Obj, old: Obj) -> Sequence[Problem]:
    """Say what is wrong with a changed Job."""
    return list(job_validation.job_update_problems(job, old))


def validate_status_update(job: Obj, old: Obj) -> Sequence[Problem]:
    """Say what is wrong with a changed status."""
    return [*metadata.update_problems(job, old), *job_status.status_problems(job, old)]


def warn_create(job: Obj) -> Sequence[str]:
    """Warn of a new Job."""
    return [*name_warnings(job), *spec_warnings(job["spec"], "spec")]


def warn_update(job: Obj, old: Obj) -> Sequence[str]:
    """Warn of a Job whose spec changed."""
    if job["metadata"].get("generation") == old["metadata"].get("generation"):
        return ()
    return spec_warnings(job["spec"], "spec")


def name_warnings(obj: Obj) -> Sequence[str]:
    """Warn of a name that makes bad names of pods."""
    if complaints := names.label_problems(obj["metadata"].get("name") or ""):
        warning = (
            "metadata.name: this is used in Pod names and hostnames, which can result in "
            f"surprising behavior; a DNS label is recommended: [{' '.join(complaints)}]"
        )
        return [warning]
    return ()


def spec_warnings(spec: Obj, field: str) -> Sequence[str]:
    """Warn of the spec of a Job."""
    completions, parallelism = spec.get("completions") or 0, spec.get("parallelism") or 0
    many = completions > MANY_COMPLETIONS and parallelism > MAX_BESIDE_MANY
    if spec.get("completionMode") == "Indexed" and many:
        return [f"{field}: {_MANY}"]
    return ()


def fields(job: Obj) -> Mapping[str, str]:
    """Return what field selectors see of a Job."""
    return {"status.successful": str((job.get("status") or {}).get("succeeded") or 0)}


STRATEGY = Strategy(
    default=default,
    prepare_create=prepare_create,
    prepare_update=prepare_update,
    validate_create=validate_create,
    validate_update=validate_update,
    warn_create=warn_create,
    warn_update=warn_update,
    name_problems=names.is_subdomain,
    fields=fields,
    field_names=frozenset({"status.successful"}),
    unknown_field='field label "{0}" not supported for Job',
    default_propagation="Orphan",
    delete_warning=DELETE_WARNING,
    reset_fields=("status",),
)

STATUS = Strategy(
    default=default,
    prepare_update=prepare_status_update,
    validate_update=validate_status_update,
    name_problems=names.is_subdomain,
    fields=fields,
    field_names=STRATEGY.field_names,
    unknown_field=STRATEGY.unknown_field,
    reset_fields=("spec",),
)
