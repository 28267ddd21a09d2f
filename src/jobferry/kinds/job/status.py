"""What the spec and status of a Job say, read so that nothing a cluster may hold is a surprise."""

from datetime import datetime

from jobferry.core import times
from jobferry.objects import Obj, conditions, indexes
from jobferry.objects.indexes import IndexSet

COMPLETE = "Complete"
FAILED = "Failed"
SUSPENDED = "Suspended"

INTERIM = {COMPLETE: "SuccessCriteriaMet", FAILED: "FailureTarget"}
"""The condition that comes before, or together with, each way to end."""

MAX_COMPLETIONS = 2**31
"""More than any Job can have: for indexes whose Job is not at hand."""


def end(status: Obj) -> Obj | None:
    """Return the condition that says how a Job ended; None if it did not."""
    stated = (each for each in status.get("conditions") or () if each.get("status") == "True")
    return next((each for each in stated if each.get("type") in INTERIM), None)


def is_suspended(status: Obj) -> bool:
    """Tell whether a Job's status says that it is suspended."""
    return conditions.is_true(status.get("conditions"), SUSPENDED)


def is_indexed(spec: Obj) -> bool:
    """Tell whether the pods of a Job have indexes."""
    return spec.get("completionMode") == "Indexed"


def count(status: Obj, member: str) -> int:
    """Return a counter; absent is zero."""
    return max(0, int(status.get(member) or 0))


def uncounted(status: Obj, outcome: str) -> int:
    """Return how many pods have succeeded or failed that the counters do not hold yet."""
    return len((status.get("uncountedTerminatedPods") or {}).get(outcome) or ())


def read_indexes(status: Obj, member: str) -> IndexSet:
    """Return the indexes that a member names; none if that makes no sense."""
    try:
        return indexes.parse(status.get(member) or "", MAX_COMPLETIONS)
    except indexes.BadIndexes:
        return IndexSet()


def has_pods(status: Obj) -> bool:
    """Tell whether there are pods that got so far that they were seen to run, or ended and are not counted yet."""
    return (
        count(status, "ready") > 0
        or count(status, "terminating") > 0
        or any(uncounted(status, outcome) for outcome in ("succeeded", "failed"))
    )


def decision(status: Obj) -> tuple[str, Obj] | None:
    """Return how it is decided that a Job ends, and the condition that says so; None: it is not decided."""
    listed = status.get("conditions")
    for type, interim in INTERIM.items():
        if conditions.is_true(listed, interim):
            return type, conditions.find(listed, interim) or {}
    return None


def is_about_to_end(status: Obj) -> bool:
    """Tell whether nothing runs any more and it is decided how to end: the next status is the last."""
    is_over = not count(status, "active") and not count(status, "terminating")
    return is_over and decision(status) is not None and end(status) is None


def waits_since(status: Obj) -> datetime | None:
    """Return when a Job was started of which no pod was ever ready or ended; None for any other."""
    ran = has_pods(status) or count(status, "succeeded") or count(status, "failed")
    started = status.get("startTime")
    if not started or ran or is_suspended(status) or end(status):
        return None
    return times.instant(started)
