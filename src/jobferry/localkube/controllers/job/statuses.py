"""Changes to the status of a Job; each function returns a new one."""

from collections.abc import Collection
from datetime import datetime

from jobferry.objects import Obj, conditions
from jobferry.objects.times import timestamp

OMITTED = ("active", "succeeded", "failed")
"""Counters that an API server does not write if they are zero."""


def count(status: Obj, **counts: int) -> Obj:
    """Set counters."""
    kept = {member: value for member, value in status.items() if member not in counts}
    said = {member: value for member, value in counts.items() if value or member not in OMITTED}
    return kept | said


def condition(type: str, reason: str, message: str, now: datetime, status: str = "True") -> Obj:
    """Make a condition."""
    time = timestamp(now)
    return {
        "type": type,
        "status": status,
        "reason": reason,
        "message": message,
        "lastProbeTime": time,
        "lastTransitionTime": time,
    }


def add(status: Obj, entry: Obj) -> Obj:
    """Set a condition; one that says the same stays as it is, with its times."""
    entries = list(status.get("conditions") or ())
    old = conditions.find(entries, entry["type"])
    if old is None:
        return {**status, "conditions": [*entries, entry]}
    if all(old.get(member) == entry[member] for member in ("status", "reason", "message")):
        return status
    return {**status, "conditions": [entry if each is old else each for each in entries]}


def uncounted(status: Obj, member: str) -> list[str]:
    """Return the UIDs of pods that are noted as ended, but not counted yet."""
    return list((status.get("uncountedTerminatedPods") or {}).get(member) or ())


def note(status: Obj, succeeded: Collection[str], failed: Collection[str]) -> Obj:
    """Set the UIDs of the pods that are noted as ended, but not counted yet."""
    lists = {"succeeded": list(succeeded), "failed": list(failed)}
    some = {member: uids for member, uids in lists.items() if uids}
    return {**status, "uncountedTerminatedPods": some}


def count_noted(status: Obj, tracked: Collection[str]) -> Obj:
    """Count the pods that are noted and need not be any more: those that are not `tracked`."""
    kept: dict[str, list[str]] = {}
    counts: dict[str, int] = {}
    for member in ("succeeded", "failed"):
        noted = uncounted(status, member)
        kept[member] = [uid for uid in noted if uid in tracked]
        counts[member] = (status.get(member) or 0) + len(noted) - len(kept[member])
    return note(count(status, **counts), kept["succeeded"], kept["failed"])
