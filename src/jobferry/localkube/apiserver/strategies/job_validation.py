"""What is wrong with a Job, when it is made and when it is changed."""

import re
from collections.abc import Iterator

from jobferry.localkube.apiserver import problems
from jobferry.localkube.apiserver.problems import Problem
from jobferry.localkube.apiserver.strategies import job_policies
from jobferry.localkube.apiserver.validation import (
    metadata,
    names,
    pod_template,
    selectors,
    values,
)
from jobferry.objects import Obj, labels

JOB_NAME, OLD_JOB_NAME = "batch.kubernetes.io/job-name", "job-name"
CONTROLLER_UID, OLD_CONTROLLER_UID = "batch.kubernetes.io/controller-uid", "controller-uid"
GENERATED = (OLD_JOB_NAME, JOB_NAME, OLD_CONTROLLER_UID, CONTROLLER_UID)
"""The labels that the pods of a Job get, unless it brings a selector of its own."""

MAX_INDEXED = 100_000
"""How many pods of an Indexed Job may run at once, and how many indexes may fail."""
MANY_COMPLETIONS = 100_000
"""Above this number of completions, a Job has to be content with less of all else."""
MAX_BESIDE_MANY = 10_000
_MAX_MANAGED_BY = 63
_NUMBERS = (
    *("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit"),
    *("ttlSecondsAfterFinished", "backoffLimitPerIndex"),
)
_NEEDS_INDEXED = "requires indexed completion mode"
_path = re.compile(names.HTTP_PATH).fullmatch


def job_problems(job: Obj, old: Obj | None = None) -> Iterator[Problem]:
    """Say what is wrong with a Job; of a changed one, `old` is what it was."""
    yield from metadata.create_problems(
        _as_sent(job) if old is None else job,
        namespaced=True,
        name_problems=names.is_subdomain,
    )
    yield from _generated_problems(job, with_prefix=old is None or _had_prefix(old))
    yield from _full_spec_problems(job["spec"], "spec")
    yield from _hostname_problems(job)


def job_update_problems(job: Obj, old: Obj) -> Iterator[Problem]:
    """Say what is wrong with a changed Job; like upstream, much of it twice."""
    yield from job_problems(job, old)
    yield from metadata.update_problems(job, old)
    yield from _full_spec_problems(job["spec"], "spec")
    yield from _change_problems(job["spec"], old)


def spec_problems(spec: Obj, field: str) -> Iterator[Problem]:
    """Say what is wrong with the spec of a Job, but for its selector."""
    for member in _NUMBERS:
        yield from values.not_negative(f"{field}.{member}", spec.get(member))
    if (failed := spec.get("maxFailedIndexes")) is not None:
        yield from values.not_negative(f"{field}.maxFailedIndexes", failed)
        if spec.get("backoffLimitPerIndex") is None:
            what = "when maxFailedIndexes is specified"
            yield problems.required(f"{field}.backoffLimitPerIndex", what)
    if (manager := spec.get("managedBy")) is not None:
        yield from _manager_problems(manager, f"{field}.managedBy")
    yield from _mode_problems(spec, field)
    if spec.get("podFailurePolicy") is not None:
        yield from job_policies.failure_problems(spec, f"{field}.podFailurePolicy")
    if (policy := spec.get("successPolicy")) is not None:
        if spec.get("completionMode") == "Indexed":
            yield from job_policies.success_problems(spec, f"{field}.successPolicy")
        else:
            yield problems.invalid(f"{field}.successPolicy", policy, _NEEDS_INDEXED)
    yield from job_policies.replacement_problems(spec, f"{field}.podReplacementPolicy")
    yield from pod_template.template_problems(spec.get("template") or {}, f"{field}.template")
    yield from _restart_problems(spec, f"{field}.template.spec.restartPolicy")


def _full_spec_problems(spec: Obj, field: str) -> Iterator[Problem]:
    yield from spec_problems(spec, field)
    selector = spec.get("selector")
    if selector is None:
        yield problems.required(f"{field}.selector")
    else:
        yield from selectors.selector_problems(selector, f"{field}.selector")
    carried = _template_labels(spec)
    if not _selects(selector, carried or {}):
        what = "`selector` does not match template `labels`"
        yield problems.invalid(f"{field}.template.metadata.labels", carried, what)


def _as_sent(job: Obj) -> Obj:
    """Return a new Job without labels that are its own only because a read fills them in."""
    about = job["metadata"]
    name, uid = about.get("name") or "", about.get("uid") or ""
    generated = dict(zip(GENERATED, (name, name, uid, uid), strict=True))
    if job["spec"].get("manualSelector") or about.get("labels") != generated:
        return job
    return {"metadata": {key: about[key] for key in about if key != "labels"}}


def _template_labels(spec: Obj) -> dict[str, str] | None:
    carried: dict[str, str] | None = (spec["template"].get("metadata") or {}).get("labels")
    return carried


def _selects(selector: Obj | None, carried: dict[str, str]) -> bool:
    """Tell whether a selector selects labels; one that is wrong is reported elsewhere."""
    if selector is not None and not selector.get("matchExpressions"):
        wanted = selector.get("matchLabels") or {}
        if wanted.items() <= carried.items():
            return True  # that is so of most; also of a wrong one, no more is to be said
    try:
        return labels.from_object(selector).matches(carried)
    except labels.BadSelector:
        return True


def _had_prefix(old: Obj) -> bool:
    carried = _template_labels(old["spec"]) or {}
    return JOB_NAME in carried and CONTROLLER_UID in carried


def _generated_problems(job: Obj, *, with_prefix: bool) -> Iterator[Problem]:
    """Complain where a Job without a selector of its own does not have the generated one."""
    spec, about = job["spec"], job["metadata"]
    if spec.get("manualSelector") or spec.get("selector") is None:
        return
    uid, name = about.get("uid") or "", about.get("name") or ""
    if not uid:
        yield problems.required("metadata.uid")
    expected = {OLD_CONTROLLER_UID: uid, OLD_JOB_NAME: name}
    if with_prefix:
        expected |= {CONTROLLER_UID: uid, JOB_NAME: name}
    carried = _template_labels(spec) or {}
    for key, value in expected.items():
        path, what = f"spec.template.metadata.labels[{key}]", f"must be '{value}'"
        if key not in carried:
            yield problems.required(path, what)
        elif carried[key] != value:
            yield problems.invalid(path, carried, what)
    if not _selects(spec["selector"], expected):
        what = "`selector` not auto-generated"
        yield problems.invalid("spec.selector", spec["selector"], what)


def _hostname_problems(job: Obj) -> Iterator[Problem]:
    spec, name = job["spec"], job["metadata"].get("name") or ""
    completions = spec.get("completions")
    if spec.get("completionMode") == "Indexed" and completions and completions > 0:
        hostname = f"{name}-{completions - 1}"
        if names.label_problems(hostname):
            what = f"will not able to create pod with invalid DNS label: {hostname}"
            yield problems.invalid("metadata.name", name, what)


def _manager_problems(manager: str, field: str) -> Iterator[Problem]:
    domain, _, path = manager.partition("/")
    if not manager:
        yield problems.required(field)
    elif not domain or not path:
        what = 'must be a domain-prefixed path (such as "acme.io/foo")'
        yield problems.invalid(field, manager, what)
    else:
        yield from values.subdomain(field, domain)
        if not _path(path):
            what = names.must_match("Invalid path", names.HTTP_PATH)
            yield problems.invalid(field, path, what)
    if names.size(manager) > _MAX_MANAGED_BY:
        yield problems.too_long(field, _MAX_MANAGED_BY)


def _mode_problems(spec: Obj, field: str) -> Iterator[Problem]:
    mode = spec.get("completionMode")
    if mode == "Indexed":
        yield from _indexed_problems(spec, field)
        return
    if mode not in (None, "NonIndexed"):
        known = ("NonIndexed", "Indexed")
        yield problems.not_in_enum(f"{field}.completionMode", mode, known)
        return
    for member in ("backoffLimitPerIndex", "maxFailedIndexes"):
        if (number := spec.get(member)) is not None:
            yield problems.invalid(f"{field}.{member}", number, _NEEDS_INDEXED)


def _indexed_problems(spec: Obj, field: str) -> Iterator[Problem]:
    completions, parallelism = spec.get("completions"), spec.get("parallelism")
    failed = spec.get("maxFailedIndexes")
    if completions is None:
        what = "when completion mode is Indexed"
        yield problems.required(f"{field}.completions", what)
    if parallelism is not None and parallelism > MAX_INDEXED:
        what = f"must be less than or equal to {MAX_INDEXED} when completion mode is Indexed"
        yield problems.invalid(f"{field}.parallelism", parallelism, what)
    if failed is not None:
        path = f"{field}.maxFailedIndexes"
        if completions is not None and failed > completions:
            what = "must be less than or equal to completions"
            yield problems.invalid(path, failed, what)
        if failed > MAX_INDEXED:
            what = f"must be less than or equal to {MAX_INDEXED}"
            yield problems.invalid(path, failed, what)
    limited = spec.get("backoffLimitPerIndex") is not None
    if limited and completions is not None and completions > MANY_COMPLETIONS:
        yield from _many_problems(parallelism, failed, field)


def _many_problems(
    parallelism: int | None, failed: int | None, field: str
) -> Iterator[Problem]:
    if failed is None:
        what = f"must be specified when completions is above {MANY_COMPLETIONS}"
        yield problems.required(f"{field}.maxFailedIndexes", what)
    what = (
        f"must be less than or equal to {MAX_BESIDE_MANY} when completions are above "
        f"{MANY_COMPLETIONS} and used with backoff limit per index"
    )
    for member, number in (("parallelism", parallelism), ("maxFailedIndexes", failed)):
        if number is not None and number > MAX_BESIDE_MANY:
            yield problems.invalid(f"{field}.{member}", number, what)


def _restart_problems(spec: Obj, field: str) -> Iterator[Problem]:
    policy = ((spec.get("template") or {}).get("spec") or {}).get("restartPolicy") or ""
    if policy in ("", "Always"):
        yield problems.required(field, 'valid values: "OnFailure", "Never"')
    elif policy not in ("OnFailure", "Never"):
        yield problems.not_in_enum(field, policy, ("OnFailure", "Never"))
    elif spec.get("podFailurePolicy") is not None and policy != "Never":
        what = 'only "Never" is supported when podFailurePolicy is specified'
        yield problems.invalid(field, policy, what)


def _change_problems(spec: Obj, old: Obj) -> Iterator[Problem]:
    was = old["spec"]
    yield from _completions_problems(spec, was)
    yield from values.immutable("spec.selector", spec.get("selector"), was.get("selector"))
    yield from _template_change_problems(spec, old)
    for member in (
        *("completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy"),
        "successPolicy",
    ):
        yield from values.immutable(f"spec.{member}", spec.get(member), was.get(member))


def _completions_problems(spec: Obj, was: Obj) -> Iterator[Problem]:
    completions, field = spec.get("completions"), "spec.completions"
    if spec.get("completionMode") != "Indexed":
        yield from values.immutable(field, completions, was.get("completions"))
    elif completions not in (None, was.get("completions"), spec.get("parallelism")):
        what = "can only be modified in tandem with spec.parallelism"
        yield problems.invalid(field, completions, what)


def _template_change_problems(spec: Obj, old: Obj) -> Iterator[Problem]:
    template, was = spec["template"], old["spec"]["template"]
    if values.same(template, was):
        return
    never_started = not (old.get("status") or {}).get("startTime")
    if old["spec"].get("suspend") and never_started:
        template, was = _without_directives(template, was)
    yield from values.immutable("spec.template", template, was)


def _without_directives(template: Obj, was: Obj) -> tuple[Obj, Obj]:
    """Return two templates without what may change before a Job starts: where its pods may run."""
    return (
        _fixed_part(template, with_affinity=_keeps_affinity(template, was)),
        _fixed_part(was, with_affinity=_keeps_affinity(template, was)),
    )


def _keeps_affinity(template: Obj, was: Obj) -> bool:
    """Tell whether affinity has to be compared at all: it may come and go if it is to nodes only."""
    ours, theirs = (each["spec"].get("affinity") for each in (template, was))
    if (ours is None) == (theirs is None):
        return True
    there = (ours or {}) if theirs is None else theirs
    return bool({*there} - {"nodeAffinity"})


def _fixed_part(template: Obj, *, with_affinity: bool) -> Obj:
    spec = dict(template["spec"])
    affinity = spec.pop("affinity", None)
    for member in ("nodeSelector", "tolerations", "schedulingGates"):
        spec.pop(member, None)
    if with_affinity and affinity is not None:
        spec["affinity"] = {key: affinity[key] for key in affinity if key != "nodeAffinity"}
    about = dict(template.get("metadata") or {})
    about.pop("labels", None)
    about.pop("annotations", None)
    return {"metadata": about, "spec": spec}
