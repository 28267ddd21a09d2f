"""The status of workloads that are rows of a table: what it says, and what of a mirror's status the hub shows.

API servers accept any status of a custom resource that fits its schema. So what must hold is up to us: what has
ended stays so, what belongs to the hub stays, and generations are those of the hub.
"""

import hashlib
from collections.abc import Iterable
from datetime import datetime
from typing import Any

import orjson

from jobferry.core import times
from jobferry.core.kind import Earned
from jobferry.kinds.paths import Path, every, items, word
from jobferry.kinds.table import CONDITIONS, Row, Says
from jobferry.objects import Obj, conditions, merge_patch
from jobferry.objects.times import timestamp

COMPLETE = "Complete"
FAILED = "Failed"

OBSERVED = "observedGeneration"


def ending(row: Row, obj: Obj) -> str | None:
    """Return how a workload or a mirror ended, in the same words for all kinds; None if it did not."""
    if row.failure.holds(obj):
        return FAILED
    return COMPLETE if row.success.holds(obj) else None


def ended_at(row: Row, obj: Obj) -> datetime | None:
    """Return when it ended, where that is said; else when a condition last changed, which will be about then."""
    said = row.failure if row.failure.holds(obj) else row.success
    exact = moment(obj, row.ended) or read_moment(said.entry(obj).get("lastTransitionTime"))
    if exact:
        return exact
    changes = (read_moment(each.get("lastTransitionTime")) for each in items(obj, CONDITIONS))
    return max((each for each in changes if each), default=None)


def moment(obj: Obj, path: Path) -> datetime | None:
    """Return the moment at a path; None if there is none that can be read."""
    return read_moment(word(obj, path))


def read_moment(text: Any) -> datetime | None:
    """Read what an API server wrote, where it is a moment that all clocks agree on."""
    try:
        read = times.instant(text) if text else None
    except (TypeError, ValueError):
        return None
    return read if read and read.tzinfo else None


def is_any(obj: Obj, paths: Iterable[Path]) -> bool:
    """Tell whether anything is found that is neither nothing nor zero."""
    return any(bool(each) for path in paths for each in every(obj, path))


# What ran


def has_started(row: Row, obj: Obj) -> bool:
    """Tell whether some of a workload was ever ready, or ended."""
    return is_any(obj, row.ready) or any(said.holds(obj) for said in row.ran)


def evidence(row: Row, obj: Obj) -> Obj:
    """Return what a status tells of pods: all but that it is suspended, and what belongs to the hub."""
    status = obj.get("status") or {}
    shown = {
        key: value
        for key, value in status.items()
        if value and key not in {OBSERVED, "conditions", *row.noise, *row.quiet, *row.required}
    }
    if row.suspended and row.suspended.member and row.suspended.holds(obj):
        shown.pop(row.suspended.member[-1], None)
    said = sorted(
        str(each.get("type"))
        for each in items(obj, CONDITIONS)
        if each.get("status") == "True" and is_own(row, each) and not _is_suspension(row, each)
    )
    return {**shown, **({"conditions": said} if said else {})}


def digest(row: Row, obj: Obj) -> Earned:
    """Return what stands for all that a status tells of pods; empty: nothing ran."""
    told = evidence(row, obj)
    if not told:
        return ""
    text = orjson.dumps(told, option=orjson.OPT_SORT_KEYS)
    return orjson.dumps({"seen": hashlib.sha256(text).hexdigest()[:16]}).decode()


# What the hub shows


def is_own(row: Row, condition: Obj) -> bool:
    """Tell whether a condition is the operator's: those of a domain are of whoever has that domain."""
    type = str(condition.get("type"))
    return "/" not in type or type in row.words


def shown(row: Row, hub: Obj, mirror: Obj, *, is_forwarded: bool) -> Obj:
    """Return the status that a mirror would have the hub show; empty if it has none.

    `is_forwarded` says whether the mirror is as the hub wants it: then what it observed is the hub's generation.
    """
    status = {
        key: value
        for key, value in (mirror.get("status") or {}).items()
        if key not in row.noise
    }
    if not status:
        return {}
    status = _observed(status, hub, mirror, is_forwarded)
    theirs = [_observed(each, hub, mirror, is_forwarded) for each in items(mirror, CONDITIONS)]
    listed = [each for each in theirs if is_own(row, each)]
    listed += [each for each in items(hub, CONDITIONS) if not is_own(row, each)]
    if listed or "conditions" in status:
        status["conditions"] = listed
    return {**row.required, **status}


def _observed(part: Obj, hub: Obj, mirror: Obj, is_forwarded: bool) -> Obj:
    """Return a part of a status with the hub's generation in place of the mirror's."""
    if OBSERVED not in part:
        return part
    generation = hub["metadata"].get("generation") or 0
    is_recent = part[OBSERVED] == mirror["metadata"].get("generation") and is_forwarded
    return {**part, OBSERVED: generation if is_recent else max(0, generation - 1)}


def patch(hub: Obj, status: Obj) -> Obj | None:
    """Return the smallest merge patch of the status subresource; None if the hub shows that, or nothing is to be shown.

    What is nothing on the hub may stay: newer CRDs have defaults for what older operators never wrote. A null cannot
    be written; where servers show some, as in the conditions of pods, they are nothing.
    """
    old, new = (merge_patch.without_nulls(each) for each in (hub.get("status") or {}, status))
    kept = {key: value for key, value in old.items() if not value and key not in new}
    change = merge_patch.create(old, kept | new)
    if not change or not new:
        return None
    version = hub["metadata"]["resourceVersion"]
    return {"metadata": {"resourceVersion": version}, "status": change}


# What we say ourselves


def suspension(row: Row, hub: Obj, is_suspended: bool, now: datetime) -> Obj:
    """Return the status of a workload that runs nowhere, which says that it is suspended if it should be."""
    status = dict(hub.get("status") or {})
    said = row.suspended
    if said is None or said.holds(hub) == is_suspended:
        return status
    if said.member:
        key = said.member[-1]
        status[key] = said.values[0] if is_suspended else ""
        return {**row.required, **status}
    if not is_suspended:
        said = Says(said.condition, "False")
    reason = "Suspended" if is_suspended else "Resumed"
    message = f"{row.resource.kind} is {reason.lower()}"
    status["conditions"] = with_condition(row, hub, said, reason, message, now)
    return {**row.required, **status}


def failure(row: Row, hub: Obj, reason: str, message: str, now: datetime) -> Obj:
    """Return the status of a workload that we give up ourselves."""
    status: Obj = {**row.required, **(hub.get("status") or {}), **row.fails_also}
    if row.ended[:1] == ("status",) and row.ended:
        status[row.ended[-1]] = timestamp(now)
    if row.failure.member:
        status[row.failure.member[-1]] = row.failure.values[0]
    else:
        status["conditions"] = with_condition(row, hub, row.failure, reason, message, now)
    return status


def with_condition(
    row: Row, hub: Obj, said: Says, reason: str, message: str, now: datetime
) -> list[Obj]:
    """Return the conditions of a hub object with one that we set ourselves."""
    listed = [_ended(row, each, reason, message, now) for each in items(hub, CONDITIONS)]
    entry = {
        "type": said.condition,
        "status": said.status,
        "reason": reason,
        "message": message,
    }
    stamped = {row.stamp: timestamp(now)} if row.stamp else {}
    return conditions.set(listed, entry | stamped, now)


def _ended(row: Row, condition: Obj, reason: str, message: str, now: datetime) -> Obj:
    if condition.get("type") != row.running or condition.get("status") != "True":
        return condition
    moments = {key: timestamp(now) for key in ("lastTransitionTime", row.stamp) if key}
    return {**condition, "status": "False", "reason": reason, "message": message, **moments}


def _is_suspension(row: Row, condition: Obj) -> bool:
    return row.suspended is not None and condition.get("type") == row.suspended.condition
