"""What changed on a hub Job since its mirror was made, and what somebody changed on the mirror."""

from collections.abc import Iterator
from datetime import datetime

from jobferry.core import times
from jobferry.kinds import forwarding
from jobferry.kinds.forwarding import NOTHING, Edits, Fields, Path, pointer, trace, traces
from jobferry.kinds.job.base import Base
from jobferry.kinds.job.draft import draft
from jobferry.kinds.job.status import count, is_indexed, is_suspended
from jobferry.kinds.metadata import without_generated
from jobferry.kinds.paths import found as found_at
from jobferry.objects import Obj

MUTABLE = (
    "activeDeadlineSeconds",
    "backoffLimit",
    "maxFailedIndexes",
    "parallelism",
    "podReplacementPolicy",
    "suspend",
)
DIRECTIVES = ("nodeSelector", "schedulingGates", "tolerations")
TEMPLATE: Path = ("spec", "template")
COMPLETIONS: Path = ("spec", "completions")
PARALLELISM: Path = ("spec", "parallelism")
DEADLINE: Path = ("spec", "activeDeadlineSeconds")
SUSPEND: Path = ("spec", "suspend")

DAY = 24 * 60 * 60
"""In seconds: more than any two clocks differ by."""


def note(mirror: Obj, hub_job: Obj, made: Obj) -> Obj:
    """Return the mirror with a note of everything that is forwarded by creating it; `made` is its draft."""
    return forwarding.note(mirror, hub_job, _fields(made))


def edits(hub_job: Obj, mirror: Obj, base: Base) -> Edits:
    """Compare a hub Job with its mirror and with what was forwarded."""
    if _is_untouched(hub_job, mirror):
        return NOTHING
    now, found = _fields(draft(hub_job, base)), _fields(mirror)
    forwarded = forwarding.forwarded(mirror)
    if forwarded is None:
        # Somebody removed the note. What is different may be anybody's doing, so nothing is forwarded.
        noted = traces(now)
        patch = forwarding.merge(mirror, {}, forwarding.notes(hub_job, noted))
        return Edits(patch, drift=tuple(_drift(now, found, noted)))
    changed = _changed(hub_job, mirror, now, forwarded)
    refused = {path: why for path in changed if (why := _refusal(path, mirror))}
    sent = {path: now.get(path) for path in changed if path not in refused}
    if COMPLETIONS in sent:
        # API servers take new completions only together with an equal parallelism.
        sent[PARALLELISM] = now.get(PARALLELISM)
    noted = {path: each for path, each in forwarded.items() if path not in sent}
    noted |= traces({path: value for path, value in sent.items() if value is not None})
    known = {path: value for path, value in found.items() if path not in changed}
    settled = {path: each for path, each in forwarded.items() if path not in changed}
    notes = forwarding.notes(hub_job, noted, is_whole=not refused)
    return Edits(
        patch=forwarding.merge(mirror, sent, notes) if sent else None,
        refusals=tuple(f"{pointer(path)}: {why}" for path, why in refused.items()),
        drift=tuple(_drift(now, known, settled)),
    )


def resume(hub_job: Obj, mirror: Obj, base: Base, now: datetime) -> Obj:
    """Return the merge patch that lets a mirror which we suspended ourselves be as the hub wants it.

    Job controllers look at the deadline before they note the new start: if the old one is over by then,
    the Job fails at once. So the deadline is raised by all that has passed, and by more than clocks may
    differ. It is noted as forwarded so; once there is a new start, `edits` brings back the right one.
    """
    suspend, fields = bool(hub_job["spec"].get("suspend")), _fields(draft(hub_job, base))
    deadline, started = fields.get(DEADLINE), (mirror.get("status") or {}).get("startTime")
    if suspend or deadline is None or started is None:
        return {"spec": {"suspend": suspend}}
    passed = max(0, int((now - times.instant(started)).total_seconds()))
    sent = {SUSPEND: False, DEADLINE: deadline + passed + DAY}
    forwarded = forwarding.forwarded(mirror)
    # What else has changed on the hub is yet to be forwarded.
    notes = forwarding.notes(
        hub_job, (forwarded or traces(fields)) | sent, is_whole=forwarded is None
    )
    return forwarding.merge(mirror, sent, notes)


def _is_untouched(hub_job: Obj, mirror: Obj) -> bool:
    """Tell whether it is certain, without looking closer, that nobody has changed anything."""
    if not forwarding.is_first(hub_job, mirror):
        return False
    return forwarding.metadata(hub_job) == forwarding.metadata(mirror) or _is_only_labelled(
        hub_job, mirror
    )


def _is_only_labelled(hub_job: Obj, mirror: Obj) -> bool:
    """Tell whether all is as forwarded but for labels and annotations that were added on the worker.

    Kueue and Kyverno do that to every mirror: what takes another look at each is to be cheap.
    """
    forwarded, spec = forwarding.forwarded(mirror), mirror["spec"]
    if forwarded is None:
        return False
    mutable = (*MUTABLE, "completions") if is_indexed(spec) else MUTABLE
    ours = {path: each for path, each in forwarded.items() if path[0] == "metadata"}
    return (
        traces(dict(forwarding.leaves((), {"metadata": forwarding.metadata(hub_job)}))) == ours
        and all(("spec", key) in forwarded or spec.get(key) is None for key in mutable)
        and all(
            path == TEMPLATE or trace(found_at(mirror, path)) == each
            for path, each in forwarded.items()
        )
    )


def _fields(job: Obj) -> Fields:
    """Return what may be edited and forwarded; of the rest of the pod template, one value for it all."""
    spec = job["spec"]
    mutable = (*MUTABLE, "completions") if is_indexed(spec) else MUTABLE
    directives, rest = _split(spec["template"])
    view = {
        "metadata": forwarding.metadata(job),
        "spec": {key: spec.get(key) for key in mutable} | {"template": directives},
    }
    return dict(forwarding.leaves((), view)) | {TEMPLATE: rest}


def _split(template: Obj) -> tuple[Obj, Obj]:
    """Part the scheduling directives, which may be edited while a Job waits suspended, from the rest."""
    metadata, pod = template.get("metadata") or {}, template["spec"]
    affinity = pod.get("affinity") or {}
    directives = {
        "metadata": {
            "labels": without_generated(metadata.get("labels")),
            "annotations": metadata.get("annotations"),
        },
        "spec": {
            **{key: pod.get(key) for key in DIRECTIVES},
            "affinity": {"nodeAffinity": affinity.get("nodeAffinity")},
        },
    }
    rest = {key: value for key, value in pod.items() if key not in (*DIRECTIVES, "affinity")}
    others = {key: value for key, value in affinity.items() if key != "nodeAffinity"}
    return directives, {**rest, "affinity": others}


def _changed(hub_job: Obj, mirror: Obj, now: Fields, forwarded: Fields) -> list[Path]:
    """Return the fields that have changed on the hub since they were forwarded.

    With the generation unchanged nobody edited the spec, even if a newer API server reads it with more
    defaults than the one before. But the deadline may be one that we raised, until there is a new start.
    """
    is_edited, wanted = forwarding.is_edited(hub_job, mirror), traces(now)
    changed = [
        path
        for path in sorted(wanted.keys() | forwarded.keys())
        if wanted.get(path) != forwarded.get(path)
        and (is_edited or path[0] == "metadata" or path == DEADLINE)
    ]
    if not mirror["spec"].get("suspend") and is_suspended(mirror.get("status") or {}):
        return [path for path in changed if path != DEADLINE]
    return changed


def _refusal(path: Path, mirror: Obj) -> str | None:
    """Say why an edit cannot be forwarded, if it cannot."""
    if path[:2] != TEMPLATE:
        return None
    if path == TEMPLATE:
        return "only its scheduling directives can be forwarded"
    status = mirror.get("status") or {}
    if not mirror["spec"].get("suspend"):
        return "the mirror is not suspended"
    if status.get("startTime") or count(status, "active"):
        return "the mirror has started"
    return None


def _drift(now: Fields, found: Fields, noted: Fields) -> Iterator[str]:
    """Yield what is not on the mirror as it was forwarded.

    Labels, annotations and scheduling directives that were added there are no drift, and of the rest of
    the pod template nothing is: webhooks and defaults do that to every Job.
    """
    added = {path for path in found if path[0] == "spec" and path[:2] != TEMPLATE}
    return forwarding.drift(now, found, noted, (noted.keys() | added) - {TEMPLATE})
