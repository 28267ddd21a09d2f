"""Conditions: the entries of `status.conditions`, in the style of Jobs and of metav1 alike."""

from collections.abc import Iterable
from datetime import datetime

from jobferry.objects import Obj, times


def find(conditions: Iterable[Obj] | None, type: str) -> Obj | None:
    """Return the first condition of a type."""
    return next((each for each in conditions or () if each.get("type") == type), None)


def is_true(conditions: Iterable[Obj] | None, type: str) -> bool:
    """Tell whether a condition is True; if a type comes twice, any entry will do, as for Jobs."""
    return any(
        each.get("type") == type and each.get("status") == "True" for each in conditions or ()
    )


def set(conditions: Iterable[Obj] | None, condition: Obj, now: datetime) -> list[Obj]:
    """Return the conditions with this one in the place of its type, or at the end.

    Its `lastTransitionTime` is `now` only if the status is another than before.
    """
    old = list(conditions or ())
    before = find(old, condition["type"])
    new = {**condition, "lastTransitionTime": _transition(before, condition, now)}
    kept = [each for each in old if each is before or each.get("type") != condition["type"]]
    return [new if each is before else each for each in kept] + ([] if before else [new])


def remove(conditions: Iterable[Obj] | None, type: str) -> list[Obj]:
    """Return the conditions without any of this type."""
    return [each for each in conditions or () if each.get("type") != type]


def _transition(before: Obj | None, condition: Obj, now: datetime) -> str:
    since = before.get("lastTransitionTime") if before else None
    if before and since and before.get("status") == condition["status"]:
        return str(since)
    return times.timestamp(now)
