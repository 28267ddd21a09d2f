"""Which names a definition gets, and when it is served: what upstream's controllers write to its status."""

from collections.abc import Iterable

from jobferry.localkube.apiserver.crds import definition
from jobferry.objects import Obj
from jobferry.objects.gotext import quote

_SCALAR_NAMES = (
    ("plural", "PluralConflict", "resources"),
    ("singular", "SingularConflict", "resources"),
    ("kind", "KindConflict", "kinds"),
    ("listKind", "ListKindConflict", "kinds"),
)


def names_status(crd: Obj, others: Iterable[Obj], now: str) -> Obj:
    """Return the status with the names it gets beside the `others`, and its conditions.

    `now` is the moment to write (RFC 3339). Nothing changes: the same status comes back.
    """
    status: Obj = dict(crd.get("status") or {})
    accepted, reason, message = _accepted(crd, others)
    conditions = list(status.get("conditions") or ())
    agreed = "False" if reason else "True"
    named = {
        "type": "NamesAccepted",
        "status": agreed,
        "reason": reason or "NoConflicts",
        "message": message or "no conflicts found",
    }
    conditions = _with(conditions, named, now)
    if not any(each.get("type") == "Established" for each in conditions):
        words = "not all names are accepted"
        conditions = _with(conditions, _established("False", "NotAccepted", words), now)
    current = next(each for each in conditions if each.get("type") == "Established")
    if current["status"] != "True" and agreed == "True":
        words = "the initial names have been accepted"
        conditions = _with(conditions, _established("False", "Installing", words), now)
    return {**status, "conditions": conditions, "acceptedNames": accepted}


def established_status(crd: Obj, now: str) -> Obj:
    """Return the status once the resource is served; the same if names are not accepted."""
    status: Obj = dict(crd.get("status") or {})
    if definition.condition(crd, "NamesAccepted") != "True":
        return status
    if definition.condition(crd, "Established") == "True":
        return status
    words = "the initial names have been accepted"
    conditions = list(status.get("conditions") or ())
    made = _established("True", "InitialNamesAccepted", words)
    return {**status, "conditions": _with(conditions, made, now)}


def approval_condition(crd: Obj) -> Obj | None:
    """Return the condition that tells of a community API's approval; None: it needs none."""
    if not definition.is_protected(crd["spec"].get("group") or ""):
        return None
    state, words = definition.approval((crd.get("metadata") or {}).get("annotations"))
    status, reason = {
        "invalid": ("False", "InvalidAnnotation"),
        "missing": ("False", "MissingAnnotation"),
        "approved": ("True", "ApprovedAnnotation"),
        "bypassed": ("False", "UnapprovedAnnotation"),
    }[state]
    return {
        "type": "KubernetesAPIApprovalPolicyConformant",
        "status": status,
        "reason": reason,
        "message": words,
    }


def settled_status(crd: Obj, others: Iterable[Obj], now: str) -> Obj:
    """Return the status that a definition comes to on a server that is not busy: all of the above at once."""
    status = names_status(crd, others, now)
    status = established_status({**crd, "status": status}, now)
    if approved := approval_condition(crd):
        status = {**status, "conditions": _with(list(status["conditions"]), approved, now)}
    return status


def terminating_condition(status: str, reason: str, message: str) -> Obj:
    """Return the condition of a definition that is being deleted."""
    return {"type": "Terminating", "status": status, "reason": reason, "message": message}


def with_condition(crd: Obj, condition: Obj, now: str) -> Obj:
    """Return the status with a condition set."""
    status = crd.get("status") or {}
    return {**status, "conditions": _with(list(status.get("conditions") or ()), condition, now)}


def _established(status: str, reason: str, message: str) -> Obj:
    return {"type": "Established", "status": status, "reason": reason, "message": message}


def _with(conditions: list[Obj], wanted: Obj, now: str) -> list[Obj]:
    for index, each in enumerate(conditions):
        if each.get("type") == wanted["type"]:
            since = each.get("lastTransitionTime")
            if each.get("status") != wanted["status"] or not since:
                since = now
            changed = {**each, **wanted, "lastTransitionTime": since}
            return [*conditions[:index], changed, *conditions[index + 1 :]]
    made = {
        "type": wanted["type"],
        "status": wanted["status"],
        "lastTransitionTime": now,
        "reason": wanted["reason"],
        "message": wanted["message"],
    }
    return [*conditions, made]


def _used(others: Iterable[Obj], group: str) -> tuple[set[str], set[str]]:
    resources: set[str] = set()
    kinds: set[str] = set()
    for other in others:
        if other["spec"].get("group") == group:
            given = (other.get("status") or {}).get("acceptedNames") or {}
            resources |= {given.get("plural", ""), given.get("singular", "")}
            resources.update(given.get("shortNames") or ())
            kinds |= {given.get("kind", ""), given.get("listKind", "")}
    return resources, kinds


def _accepted(crd: Obj, others: Iterable[Obj]) -> tuple[Obj, str, str]:
    """Return the names it gets, and why and how they are not those it wants."""
    group = crd["spec"].get("group") or ""
    name = (crd.get("metadata") or {}).get("name")
    rest = [each for each in others if (each.get("metadata") or {}).get("name") != name]
    resources, kinds = _used(rest, group)
    wanted: Obj = crd["spec"].get("names") or {}
    held: Obj = (crd.get("status") or {}).get("acceptedNames") or {}
    result: Obj = dict(held)
    reason, message = "", ""
    for field, conflict, sort in _SCALAR_NAMES:
        used = resources if sort == "resources" else kinds
        if field == "kind":
            reason, message = _short_names(wanted, held, resources, result, reason, message)
        requested = wanted.get(field) or ""
        if requested != held.get(field) and requested in used:
            reason, message = conflict, f"{quote(requested)} is already in use"
        else:
            result[field] = requested
    result.pop("categories", None)
    if wanted.get("categories"):
        result["categories"] = wanted["categories"]
    return result, reason, message


def _short_names(
    wanted: Obj, held: Obj, used: set[str], result: Obj, reason: str, message: str
) -> tuple[str, str]:
    requested: list[str] = wanted.get("shortNames") or []
    ours = set(held.get("shortNames") or ())
    taken = [quote(each) + " is already in use" for each in requested if each in used - ours]
    if taken:
        told = taken[0] if len(set(taken)) == 1 else f"[{', '.join(dict.fromkeys(taken))}]"
        return "ShortNamesConflict", told
    result.pop("shortNames", None)
    if requested:
        result["shortNames"] = requested
    return reason, message
