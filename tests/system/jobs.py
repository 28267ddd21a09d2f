"""Jobs for system tests, and what they may be found to be."""

from collections.abc import Callable
from typing import Any

from jobferry.objects import Obj, conditions

Holds = Callable[[Obj], bool]

MANAGER = "jobferry.io/dispatcher"
FOREVER = float("inf")
"""How long a pod runs that ends only if it is made to."""

NORTH_FIRST: dict[str, Any] = {
    "placement": "Ordered",
    "workers": {"order": ["north", "south"]},
}
"""What a Queue says that uses the second of the lab's workers only if it must."""

SOON: dict[str, Any] = {**NORTH_FIRST, "onWorkerLost": {"action": "Move", "afterSeconds": 1}}
WAITING: dict[str, Any] = {**NORTH_FIRST, "onWorkerLost": {"action": "Wait"}}


def job(
    name: str,
    *,
    seconds: float = 0.0,
    exit_code: int = 0,
    manager: str | None = MANAGER,
    queue: str | None = None,
    priority: str | None = None,
    **spec: Any,
) -> Obj:
    """Return a Job whose pods run for so long and end with that code; `priority` names a PriorityClass."""
    said = {"jobferry.io/run-seconds": str(seconds), "jobferry.io/exit-code": str(exit_code)}
    template: dict[str, Any] = {
        "metadata": {"annotations": said},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "none"}]},
    }
    if priority:
        template["spec"]["priorityClassName"] = priority
    return {
        "metadata": {"name": name, "labels": {"jobferry.io/queue": queue} if queue else {}},
        "spec": {"template": template, **({"managedBy": manager} if manager else {}), **spec},
    }


def condition(obj: Obj, type: str) -> Obj:
    """Return a condition; empty if there is none."""
    return conditions.find((obj.get("status") or {}).get("conditions"), type) or {}


def holds(type: str) -> Holds:
    """Hold if the object has this condition."""
    return lambda obj: condition(obj, type).get("status") == "True"


def runs(pods: int = 1) -> Holds:
    """Hold if so many pods of the Job are ready."""
    return lambda obj: count(obj, "ready") == pods


def counts(**members: int) -> Holds:
    """Hold if the counters of the Job's status are these."""
    return lambda obj: all(count(obj, member) == value for member, value in members.items())


def is_there(_: Obj) -> bool:
    """Hold for anything."""
    return True


def count(obj: Obj, member: str) -> int:
    """Return a counter of a Job's status."""
    return int((obj.get("status") or {}).get(member) or 0)


complete = holds("Complete")
failed = holds("Failed")
suspended = holds("Suspended")
placed = holds("Placed")
ready = holds("Ready")


def ended(obj: Obj) -> bool:
    """Hold if the Job is Complete or Failed."""
    return complete(obj) or failed(obj)


def lost(worker: Obj) -> bool:
    """Hold if a Worker is not connected any more."""
    return condition(worker, "Connected").get("status") == "False"


def tells(reason: str) -> Holds:
    """Hold if a Worker is not connected for that reason."""
    return lambda worker: lost(worker) and condition(worker, "Connected")["reason"] == reason


def attempt(obj: Obj) -> int:
    """Return for the how many-th time a Job was placed."""
    return int(condition(obj, "Placed")["message"].split()[1])
