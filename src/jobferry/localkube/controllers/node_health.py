"""How a node is, by what it says itself and by its silence; and which taints follow from that. Pure."""

from datetime import datetime

from jobferry.localkube.controllers.taints import NO_EXECUTE, NO_SCHEDULE
from jobferry.objects import Obj, conditions
from jobferry.objects.times import timestamp

PREFIX = "node.kubernetes.io/"
NOT_READY, UNREACHABLE = f"{PREFIX}not-ready", f"{PREFIX}unreachable"
UNSCHEDULABLE = f"{PREFIX}unschedulable"

_JUDGED = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")
_BY_CONDITION = {
    ("Ready", "False"): NOT_READY,
    ("Ready", "Unknown"): UNREACHABLE,
    ("MemoryPressure", "True"): f"{PREFIX}memory-pressure",
    ("DiskPressure", "True"): f"{PREFIX}disk-pressure",
    ("NetworkUnavailable", "True"): f"{PREFIX}network-unavailable",
    ("PIDPressure", "True"): f"{PREFIX}pid-pressure",
}
_MANAGED = frozenset(
    {
        *((key, NO_SCHEDULE) for key in (*_BY_CONDITION.values(), UNSCHEDULABLE)),
        (NOT_READY, NO_EXECUTE),
        (UNREACHABLE, NO_EXECUTE),
    }
)


def readiness(node: Obj) -> str:
    """Return the status of the condition Ready; empty if the node has not said anything yet."""
    found = conditions.find((node.get("status") or {}).get("conditions"), "Ready")
    return "" if found is None else found["status"]


def silenced(node: Obj, now: datetime) -> list[Obj] | None:
    """Return the conditions of a node that is not heard from any more; None if they say so already."""
    before = (node.get("status") or {}).get("conditions") or []
    after = before
    for type in _JUDGED:
        known = conditions.find(before, type)
        if known is None:
            after = conditions.set(after, _never_told(type, node), now)
        elif known["status"] != "Unknown":
            after = conditions.set(after, _silent(known), now)
    return None if after is before else after


def taints(node: Obj, now: datetime, *, others_are_ready: bool) -> list[Obj] | None:
    """Return the taints that a node should have; None if it has them.

    Pods leave a node that is in trouble only if there is one that is not: where all are, it is us.
    """
    before = (node.get("spec") or {}).get("taints") or []
    wanted = _wanted(node, others_are_ready=others_are_ready)
    if not readiness(node):
        # It has not said yet how it is: what admission gave it stays.
        wanted |= {
            (taint["key"], taint["effect"]) for taint in before if taint["key"] == NOT_READY
        }
    kept = [
        taint
        for taint in before
        if _identity(taint) not in _MANAGED or _identity(taint) in wanted
    ]
    missing = wanted - {_identity(taint) for taint in kept}
    if not missing and len(kept) == len(before):
        return None
    since = timestamp(now)
    return kept + [
        {"key": key, "effect": effect, "timeAdded": since} for key, effect in sorted(missing)
    ]


def _wanted(node: Obj, *, others_are_ready: bool) -> set[tuple[str, str]]:
    found = set()
    for condition in (node.get("status") or {}).get("conditions") or ():
        key = _BY_CONDITION.get((condition["type"], condition["status"]))
        if key is not None:
            found.add((key, NO_SCHEDULE))
        if key in (NOT_READY, UNREACHABLE) and others_are_ready:
            found.add((key, NO_EXECUTE))
    if (node.get("spec") or {}).get("unschedulable"):
        found.add((UNSCHEDULABLE, NO_SCHEDULE))
    return found


def _identity(taint: Obj) -> tuple[str, str]:
    return taint["key"], taint["effect"]


def _silent(known: Obj) -> Obj:
    return {
        **known,
        "status": "Unknown",
        "reason": "NodeStatusUnknown",
        "message": "Kubelet stopped posting node status.",
    }


def _never_told(type: str, node: Obj) -> Obj:
    return {
        "type": type,
        "status": "Unknown",
        "reason": "NodeStatusNeverUpdated",
        "message": "Kubelet never posted node status.",
        "lastHeartbeatTime": node["metadata"].get("creationTimestamp"),
    }
