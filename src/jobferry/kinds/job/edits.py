"""What changed on a hub Job since its mirror was made, and what somebody changed on the mirror.

The mirror notes each field as it was last forwarded. So three states meet: forwarded, hub, mirror. What
changed on the hub is forwarded; what changed on the mirror alone (by Kueue, a policy, a person) stays.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

import orjson

from jobferry.core import marks, times
from jobferry.kinds.job.base import Base
from jobferry.kinds.job.draft import draft
from jobferry.kinds.job.status import count, is_indexed, is_suspended
from jobferry.kinds.metadata import travelling, without_generated
from jobferry.objects import Obj

Path = tuple[str, ...]
Fields = dict[Path, Any]
"""The leaves of an object that an edit may change, by where they are."""

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

SHORT = 64
"""How long a noted value may be as JSON; of a longer one only the hash is noted."""


@dataclass(frozen=True, slots=True)
class Edits:
    """What to do about the differences between a hub Job and its mirror."""

    patch: Obj | None
    """The merge patch that forwards what changed on the hub."""

    refusals: tuple[str, ...] = ()
    """What cannot be forwarded, and why."""

    drift: tuple[str, ...] = ()
    """What somebody changed on the mirror."""


NOTHING = Edits(None)


def note(mirror: Obj, hub_job: Obj, made: Obj) -> Obj:
    """Return the mirror with a note of everything that is forwarded by creating it; `made` is its draft."""
    metadata = mirror["metadata"]
    noted = _notes(hub_job, _traces(_fields(made)))
    annotations = {**metadata.get("annotations", {}), **noted}
    return {**mirror, "metadata": {**metadata, "annotations": annotations}}


def edits(hub_job: Obj, mirror: Obj, base: Base) -> Edits:
    """Compare a hub Job with its mirror and with what was forwarded."""
    if _is_untouched(hub_job, mirror):
        return NOTHING
    now, found = _fields(draft(hub_job, base)), _fields(mirror)
    forwarded = _forwarded(mirror)
    if forwarded is None:
        # Somebody removed the note. What is different may be anybody's doing, so nothing is forwarded.
        traces = _traces(now)
        patch = _patch(mirror, {}, _notes(hub_job, traces))
        return Edits(patch, drift=tuple(_drift(now, found, traces)))
    changed = _changed(hub_job, mirror, now, forwarded)
    refused = {path: why for path in changed if (why := _refusal(path, mirror))}
    sent = {path: now.get(path) for path in changed if path not in refused}
    if COMPLETIONS in sent:
        # API servers take new completions only together with an equal parallelism.
        sent[PARALLELISM] = now.get(PARALLELISM)
    noted = {path: trace for path, trace in forwarded.items() if path not in sent}
    noted |= _traces({path: value for path, value in sent.items() if value is not None})
    known = {path: value for path, value in found.items() if path not in changed}
    settled = {path: trace for path, trace in forwarded.items() if path not in changed}
    return Edits(
        patch=_patch(mirror, sent, _notes(hub_job, noted)) if sent else None,
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
    forwarded = _forwarded(mirror)
    notes = _notes(hub_job, (forwarded or _traces(fields)) | sent)
    if forwarded is not None:
        # What else has changed on the hub is yet to be forwarded.
        del notes[marks.HUB_GENERATION]
    return _patch(mirror, sent, notes)


def _is_untouched(hub_job: Obj, mirror: Obj) -> bool:
    """Tell whether it is certain, without looking closer, that nobody has changed anything.

    The first generation of a mirror is what its worker made of what we sent; status does not count.
    """
    ours, theirs = hub_job["metadata"], mirror["metadata"]
    noted = (theirs.get("annotations") or {}).get(marks.HUB_GENERATION)
    if theirs.get("generation") != 1 or noted != str(ours["generation"]):
        return False
    return all(
        travelling(ours.get(member)) == travelling(theirs.get(member))
        for member in ("labels", "annotations")
    ) or _is_only_labelled(hub_job, mirror)


def _is_only_labelled(hub_job: Obj, mirror: Obj) -> bool:
    """Tell whether all is as forwarded but for labels and annotations that were added on the worker.

    Kueue and Kyverno do that to every mirror: what takes another look at each is to be cheap.
    """
    forwarded, spec = _forwarded(mirror), mirror["spec"]
    if forwarded is None:
        return False
    mutable = (*MUTABLE, "completions") if is_indexed(spec) else MUTABLE
    ours = {path: trace for path, trace in forwarded.items() if path[0] == "metadata"}
    return (
        _traces(dict(_leaves((), {"metadata": _travelling(hub_job)}))) == ours
        and all(("spec", key) in forwarded or spec.get(key) is None for key in mutable)
        and all(
            path == TEMPLATE or _trace(_found(mirror, path)) == trace
            for path, trace in forwarded.items()
        )
    )


def _found(value: Any, path: Path) -> Any:
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    return value


def _travelling(job: Obj) -> Obj:
    metadata = job["metadata"]
    return {
        "labels": travelling(metadata.get("labels")),
        "annotations": travelling(metadata.get("annotations")),
    }


def pointer(path: Path) -> str:
    """Write where a field is, as a JSON pointer."""
    return "".join("/" + step.replace("~", "~0").replace("/", "~1") for step in path)


def _fields(job: Obj) -> Fields:
    """Return what may be edited and forwarded; of the rest of the pod template, one value for it all."""
    spec = job["spec"]
    mutable = (*MUTABLE, "completions") if is_indexed(spec) else MUTABLE
    directives, rest = _split(spec["template"])
    view = {
        "metadata": _travelling(job),
        "spec": {key: spec.get(key) for key in mutable} | {"template": directives},
    }
    return dict(_leaves((), view)) | {TEMPLATE: rest}


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


def _leaves(path: Path, value: Any) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, dict):
        for key, member in value.items():
            yield from _leaves((*path, key), member)
    elif value is not None:
        yield path, value


def _trace(value: Any) -> Any:
    """Return the value, or what stands for it where it is too long to be noted."""
    text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    return value if len(text) <= SHORT else f"sha256:{hashlib.sha256(text).hexdigest()[:40]}"


def _traces(fields: Fields) -> Fields:
    return {path: _trace(value) for path, value in fields.items()}


def _notes(hub_job: Obj, traces: Fields) -> dict[str, str]:
    """Return the annotations that say what was forwarded."""
    record = {pointer(path): trace for path, trace in traces.items()}
    return {
        marks.FORWARDED: orjson.dumps(record, option=orjson.OPT_SORT_KEYS).decode(),
        marks.HUB_GENERATION: str(hub_job["metadata"]["generation"]),
    }


def _forwarded(mirror: Obj) -> Fields | None:
    text = (mirror["metadata"].get("annotations") or {}).get(marks.FORWARDED, "")
    try:
        record = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(record, dict) or not all(key.startswith("/") for key in record):
        return None
    return {_path(key): trace for key, trace in record.items()}


@lru_cache(maxsize=1024)  # the same few fields are noted on every mirror
def _path(pointer: str) -> Path:
    steps = pointer.split("/")[1:]
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in steps)


def _changed(hub_job: Obj, mirror: Obj, now: Fields, forwarded: Fields) -> list[Path]:
    """Return the fields that have changed on the hub since they were forwarded.

    With the generation unchanged nobody edited the spec, even if a newer API server reads it with more
    defaults than the one before. But the deadline may be one that we raised, until there is a new start.
    """
    noted = mirror["metadata"]["annotations"].get(marks.HUB_GENERATION)
    is_edited = noted != str(hub_job["metadata"]["generation"])
    traces = _traces(now)
    changed = [
        path
        for path in sorted(traces.keys() | forwarded.keys())
        if traces.get(path) != forwarded.get(path)
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


def _drift(now: Fields, found: Fields, traces: Fields) -> Iterator[str]:
    """Yield what is not on the mirror as it was forwarded.

    Labels, annotations and scheduling directives that were added there are no drift, and of the rest of
    the pod template nothing is: webhooks and defaults do that to every Job.
    """
    added = {path for path in found if path[0] == "spec" and path[:2] != TEMPLATE}
    for path in sorted(traces.keys() | added):
        if path != TEMPLATE and _trace(found.get(path)) != traces.get(path):
            yield f"{pointer(path)}: {_shown(now.get(path))} became {_shown(found.get(path))}"


def _shown(value: Any) -> str:
    """Write a value as a person may want to read it."""
    text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
    if value is None:
        return "nothing"
    return text if len(text) <= SHORT else f"{text[:SHORT]}..."


def _patch(mirror: Obj, sent: Fields, notes: Mapping[str, str]) -> Obj:
    """Return a merge patch for the mirror as it was compared: if it has changed since, a conflict."""
    version = mirror["metadata"]["resourceVersion"]
    patch: Obj = {"metadata": {"resourceVersion": version, "annotations": dict(notes)}}
    for path, value in sent.items():
        inner = patch
        for step in path[:-1]:
            inner = inner.setdefault(step, {})
        inner[path[-1]] = value
    return patch
