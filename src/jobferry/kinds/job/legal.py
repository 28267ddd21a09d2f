"""Which status of a hub Job is legal: accepted by every API server as the next one, and true.

A worker says what it likes: it may be old or new, late or ahead, have another clock, or not know what
earlier attempts did. API servers are strict about each *change* of a Job's status, and some of what they
accept binds for ever. So `legalise` builds the next status from the present one and from what is wanted.
It asks nothing of the hub's version: what only newer API servers allow is never used.
"""

from collections.abc import Iterable
from datetime import datetime

from jobferry.core import times
from jobferry.kinds.job.status import (
    COMPLETE,
    FAILED,
    INTERIM,
    SUSPENDED,
    count,
    end,
    is_indexed,
    is_suspended,
    read_indexes,
)
from jobferry.objects import Obj, conditions, merge_patch
from jobferry.objects.times import timestamp

OURS = frozenset(
    {
        "active",
        "completedIndexes",
        "completionTime",
        "conditions",
        "failed",
        "failedIndexes",
        "ready",
        "startTime",
        "succeeded",
        "terminating",
        "uncountedTerminatedPods",
    }
)
"""The members of a status that are decided here; others, of a newer API, stay as they are."""


def legalise(hub_job: Obj, wanted: Obj, now: datetime) -> Obj:
    """Return the status to write to a hub Job, given the status that a worker would have it show.

    Conditions of other types than the Job controller's are the hub's own: they stay as they are, and a
    worker's do not come over. A Job that has ended on the hub stays as it is.
    """
    old = hub_job.get("status") or {}
    if end(old):
        return old
    spec = hub_job["spec"]
    ending = _ending(old, wanted)
    listed = _conditions(spec, old, wanted, ending, now)
    status: Obj = {key: value for key, value in old.items() if key not in OURS}
    status |= _progress(spec, old, wanted)
    status |= _pods(old, {} if ending else wanted)
    status |= _moments(spec, old, wanted, listed, now)
    if listed:
        status["conditions"] = listed
    return status


def unplaced(hub_job: Obj, now: datetime) -> Obj:
    """Return the status of a hub Job that runs nowhere: no pods, and suspended if it should be."""
    condition = _condition(SUSPENDED, "JobSuspended", "Job suspended")
    suspended = hub_job["spec"].get("suspend")
    return legalise(hub_job, {"conditions": [condition] if suspended else []}, now)


def fail(hub_job: Obj, reason: str, message: str, now: datetime) -> Obj:
    """Return the status of a hub Job that we give up ourselves, started or not."""
    return legalise(hub_job, {"conditions": [_condition(FAILED, reason, message)]}, now)


def patch(hub_job: Obj, status: Obj) -> Obj | None:
    """Return the smallest merge patch of the status subresource; None if nothing changes.

    It names the resourceVersion it was made for: API servers check that before anything else, so that a
    stale write is a harmless conflict even if it has become illegal.
    """
    change = merge_patch.create(hub_job.get("status") or {}, status)
    if not change:
        return None
    version = hub_job["metadata"]["resourceVersion"]
    return {"metadata": {"resourceVersion": version}, "status": change}


def _ending(old: Obj, wanted: Obj) -> Obj | None:
    """Return the condition to end with, if there is an end.

    Whoever wrote FailureTarget or SuccessCriteriaMet alone to the hub (never we) has decided how the
    Job ends: API servers accept no other end, and the Job controller itself would not seek one.
    """
    said = end(wanted)
    if said is None:
        return None
    for type, interim in INTERIM.items():
        if type != said["type"] and conditions.is_true(old.get("conditions"), interim):
            decided = conditions.find(old["conditions"], interim) or {}
            return _condition(type, decided.get("reason"), decided.get("message"))
    return said


def _conditions(
    spec: Obj, old: Obj, wanted: Obj, ending: Obj | None, now: datetime
) -> list[Obj]:
    listed: list[Obj] = list(old.get("conditions") or ())
    for condition in (*_suspension(spec, old, wanted), *_final(old, wanted, ending)):
        probed = {**condition, "lastProbeTime": timestamp(now)}
        listed = conditions.set(_without(listed, condition), probed, now)
    return listed


def _without(listed: Iterable[Obj], new: Obj) -> list[Obj]:
    """Leave out what says already what is new: if a type comes twice, the other one counted so far."""
    said = (new["type"], new["status"])
    return [each for each in listed if (each.get("type"), each.get("status")) != said]


def _suspension(spec: Obj, old: Obj, wanted: Obj) -> Iterable[Obj]:
    """Yield the condition Suspended if it changes; while the hub Job is suspended, never to False."""
    said = conditions.find(wanted.get("conditions"), SUSPENDED) or {}
    if is_suspended(wanted) and not is_suspended(old):
        yield _condition(SUSPENDED, said.get("reason"), said.get("message"))
    elif is_suspended(old) and not is_suspended(wanted) and not spec.get("suspend"):
        resumed = _condition(SUSPENDED, "JobResumed", "Job resumed")
        yield {**resumed, "status": "False"}


def _final(old: Obj, wanted: Obj, ending: Obj | None) -> Iterable[Obj]:
    """Yield the conditions of the end, both in one write: the first alone would bind for ever."""
    if ending is None:
        return
    type = ending["type"]
    if not conditions.is_true(old.get("conditions"), INTERIM[type]):
        # Workers before 1.31 end without it.
        said = conditions.find(wanted.get("conditions"), INTERIM[type]) or ending
        yield _condition(INTERIM[type], said.get("reason"), said.get("message"))
    yield _condition(type, ending.get("reason"), ending.get("message"))


def _progress(spec: Obj, old: Obj, wanted: Obj) -> Obj:
    """Return the counters and indexes: what was shown once stays, unless it is scaled away."""
    failed = max(count(old, "failed"), count(wanted, "failed"))
    succeeded = max(count(old, "succeeded"), count(wanted, "succeeded"))
    if not is_indexed(spec):
        return _nonzero(failed=failed, succeeded=succeeded)
    limit = int(spec["completions"])
    completed, lost = (
        (read_indexes(old, member) | read_indexes(wanted, member)).clip(limit)
        for member in ("completedIndexes", "failedIndexes")
    )
    # Only where completions and parallelism are equal, so that it can be scaled, may the counter go down.
    is_elastic = spec.get("parallelism") == limit
    succeeded = max(0 if is_elastic else count(old, "succeeded"), len(completed))
    progress = _nonzero(failed=failed, succeeded=succeeded)
    if completed:
        progress["completedIndexes"] = str(completed)
    if spec.get("backoffLimitPerIndex") is not None and "failedIndexes" in {**old, **wanted}:
        progress["failedIndexes"] = str(lost - completed)
    return progress


def _pods(old: Obj, wanted: Obj) -> Obj:
    """Return how many pods there are now; which of them are not counted yet stays with the worker."""
    active = count(wanted, "active")
    pods = _nonzero(active=active)
    if "ready" in {**old, **wanted}:
        pods["ready"] = min(count(wanted, "ready"), active)
    if "terminating" in {**old, **wanted}:
        pods["terminating"] = count(wanted, "terminating")
    return pods


def _moments(spec: Obj, old: Obj, wanted: Obj, listed: list[Obj], now: datetime) -> Obj:
    """Return when the Job started and completed.

    An unsuspended Job keeps its start for ever, on API servers up to 1.32.9 even while it is resumed.
    So the start is forgotten while the Job is suspended (as Job controllers from 1.36 on do), which
    leaves room for the next one; and none is noted meanwhile, which would freeze the pod template.
    """
    ending = end({"conditions": listed})
    started = old.get("startTime")
    if ending:
        started = started or wanted.get("startTime") or timestamp(now)
    elif not spec.get("suspend"):
        started = started or wanted.get("startTime")
    elif conditions.is_true(listed, SUSPENDED):
        started = None
    moments = {"startTime": started} if started else {}
    if ending and ending["type"] == COMPLETE:
        completed = wanted.get("completionTime") or timestamp(now)
        # The clocks of workers differ, and a start may be that of an earlier attempt elsewhere.
        moments["completionTime"] = max(completed, str(started), key=times.instant)
    return moments


def _condition(type: str, reason: str | None, message: str | None) -> Obj:
    said = {"reason": reason, "message": message}
    return {"type": type, "status": "True"} | {k: v for k, v in said.items() if v}


def _nonzero(**counters: int) -> Obj:
    """Leave out what API servers leave out."""
    return {name: value for name, value in counters.items() if value}
