"""Says what there is in a cluster, for people whose test waited in vain."""

from collections.abc import Iterable

from jobferry.objects import Obj, conditions


def jobs(found: Iterable[Obj]) -> list[str]:
    """Describe Jobs, a line each."""
    return [f"Job {_name(job)}: {_progress(job.get('status') or {})}" for job in found]


def pods_in_trouble(found: Iterable[Obj]) -> list[str]:
    """Describe those of some Pods that something keeps from running, a line each."""
    troubled = ((pod, _trouble(pod.get("status") or {})) for pod in found)
    return [f"Pod {_name(pod)}: {trouble}" for pod, trouble in troubled if trouble]


def _progress(status: Obj) -> str:
    known = status.get("conditions", ())
    true = [each["type"] for each in known if each["status"] == "True"]
    keys = ("active", "succeeded", "failed")
    counts = [f"{status[key]} {key}" for key in keys if status.get(key)]
    said = ", ".join([*true, *counts]) or "new"
    placed = conditions.find(known, "Placed") or {}
    return f"{said}; {placed['message']}" if placed.get("message") else said


def _trouble(status: Obj) -> str:
    scheduled = conditions.find(status.get("conditions"), "PodScheduled")
    states = [each["state"] for each in status.get("containerStatuses", ())]
    waiting = (state["waiting"] for state in states if "waiting" in state)
    reasons = [scheduled, *waiting] if scheduled else waiting
    said = (f"{each['reason']}: {each['message']}" for each in reasons if each.get("message"))
    return next(said, "")


def _name(obj: Obj) -> str:
    return f"{obj['metadata']['namespace']}/{obj['metadata']['name']}"
