"""The columns of pods: above all the one word that says how a pod is doing."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from jobferry.localkube.apiserver.printing import columns, durations
from jobferry.localkube.apiserver.printing.columns import Columns, column
from jobferry.objects import Obj, conditions

NONE = "<none>"


class _Progress(NamedTuple):
    """What the containers tell together."""

    ready: int = 0
    restarts: int = 0
    last_restart: str = ""
    """When the last one ended; timestamps in UTC sort as text."""
    reason: str = ""


def _cells(pod: Obj, now: datetime) -> list[Any]:
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    sidecars = _sidecars(spec)
    progress = _progress(spec, status, sidecars)
    total = len(spec.get("containers") or ()) + len(sidecars)
    return [
        columns.name_of(pod),
        f"{progress.ready}/{total}",
        _deletion_reason(pod, status) or progress.reason,
        _restarts(progress, now),
        columns.age_of(pod, now),
        _ip(status) or NONE,
        spec.get("nodeName") or NONE,
        status.get("nominatedNodeName") or NONE,
        _readiness_gates(spec, status),
    ]


def _sidecars(spec: Obj) -> frozenset[str]:
    return frozenset(
        each["name"]
        for each in spec.get("initContainers") or ()
        if each.get("restartPolicy") == "Always"
    )


def _progress(spec: Obj, status: Obj, sidecars: frozenset[str]) -> _Progress:
    before = _phase_reason(status)
    statuses = status.get("initContainerStatuses")
    if not statuses:
        return _running(status, _Progress(reason=before))
    every, of_sidecars = _initializing(spec, statuses, sidecars)
    if every.reason and not _is_initialized(status):
        return every
    return _running(status, of_sidecars._replace(reason=every.reason or before))


def _phase_reason(status: Obj) -> str:
    for condition in status.get("conditions") or ():
        if (
            condition.get("type") == "PodScheduled"
            and condition.get("reason") == "SchedulingGated"
        ):
            return "SchedulingGated"
    reason: str = status.get("reason") or status.get("phase") or ""
    return reason


def _is_initialized(status: Obj) -> bool:
    initialized = conditions.find(status.get("conditions"), "Initialized")
    return initialized is not None and initialized.get("status") == "True"


def _initializing(
    spec: Obj, statuses: Sequence[Obj], sidecars: frozenset[str]
) -> tuple[_Progress, _Progress]:
    """Follow the init containers up to the first that is not done: all of them, and sidecars alone."""
    ready, reason = 0, ""
    every, of_sidecars = (0, ""), (0, "")
    for index, container in enumerate(statuses):
        every = _with_restarts(every, container)
        is_sidecar = container.get("name") in sidecars
        if is_sidecar:
            of_sidecars = _with_restarts(of_sidecars, container)
        if _has_succeeded(container):
            continue
        if is_sidecar and container.get("started"):
            ready += bool(container.get("ready"))
            continue
        count = len(spec.get("initContainers") or ())
        reason = _init_reason(container) or f"Init:{index}/{count}"
        break
    return _Progress(ready, *every, reason), _Progress(ready, *of_sidecars, reason)


def _with_restarts(so_far: tuple[int, str], container: Obj) -> tuple[int, str]:
    count, last = so_far
    ended = (container.get("lastState") or {}).get("terminated") or {}
    return count + container.get("restartCount", 0), max(last, ended.get("finishedAt") or "")


def _has_succeeded(container: Obj) -> bool:
    terminated = (container.get("state") or {}).get("terminated")
    return terminated is not None and not terminated.get("exitCode")


def _init_reason(container: Obj) -> str:
    state = container.get("state") or {}
    if (terminated := state.get("terminated")) is not None:
        return f"Init:{_ending(terminated)}"
    waiting = (state.get("waiting") or {}).get("reason")
    return f"Init:{waiting}" if waiting and waiting != "PodInitializing" else ""


def _ending(terminated: Obj) -> str:
    if reason := terminated.get("reason"):
        return str(reason)
    if signal := terminated.get("signal"):
        return f"Signal:{signal}"
    return f"ExitCode:{terminated.get('exitCode', 0)}"


def _running(status: Obj, start: _Progress) -> _Progress:
    ready, reason, failure = start.ready, start.reason, ""
    restarts = start.restarts, start.last_restart
    is_running = False
    # The first container has the last word.
    for container in reversed(status.get("containerStatuses") or ()):
        restarts = _with_restarts(restarts, container)
        state = container.get("state") or {}
        terminated = state.get("terminated")
        if waiting := (state.get("waiting") or {}).get("reason"):
            reason = waiting
        elif terminated is not None:
            reason = _ending(terminated)
            failure = reason if terminated.get("exitCode") else failure
        elif container.get("ready") and state.get("running") is not None:
            is_running = True
            ready += 1
    if reason == "Completed":
        reason = _partly_completed(status, failure, is_running=is_running)
    return _Progress(ready, *restarts, reason)


def _partly_completed(status: Obj, failure: str, *, is_running: bool) -> str:
    if is_running and conditions.is_true(status.get("conditions"), "Ready"):
        return "Running"
    if failure:
        return failure
    return "NotReady" if is_running else "Completed"


def _deletion_reason(pod: Obj, status: Obj) -> str:
    if not pod["metadata"].get("deletionTimestamp"):
        return ""
    if status.get("reason") == "NodeLost":
        return "Unknown"
    return "" if status.get("phase") in ("Failed", "Succeeded") else "Terminating"


def _restarts(progress: _Progress, now: datetime) -> str:
    if progress.restarts and progress.last_restart:
        return f"{progress.restarts} ({durations.since(progress.last_restart, now)} ago)"
    return str(progress.restarts)


def _ip(status: Obj) -> str:
    ips: Sequence[Mapping[str, str]] = status.get("podIPs") or ()
    return ips[0].get("ip", "") if ips else ""


def _readiness_gates(spec: Obj, status: Obj) -> str:
    gates = spec.get("readinessGates")
    if not gates:
        return NONE
    met = 0
    for gate in gates:
        found = conditions.find(status.get("conditions"), gate["conditionType"])
        met += found is not None and found.get("status") == "True"
    return f"{met}/{len(gates)}"


def _completed(reason: str, message: str) -> list[Obj]:
    return [{"type": "Completed", "status": "True", "reason": reason, "message": message}]


_ROW_CONDITIONS = {
    "Succeeded": _completed("Succeeded", "The pod has completed successfully."),
    "Failed": _completed("Failed", "The pod failed."),
}


def _row_conditions(pod: Obj) -> Sequence[Obj]:
    return _ROW_CONDITIONS.get((pod.get("status") or {}).get("phase", ""), ())


PODS = Columns(
    [
        columns.NAME,
        column("Ready", "How many containers are ready, of how many."),
        column("Status", "How the pod is doing, in one word."),
        column("Restarts", "How often containers were started again, and when last."),
        columns.AGE,
        column("IP", "The address of the pod.", wide=True),
        column("Node", "The node that the pod is on.", wide=True),
        column("Nominated Node", "The node where room is being made for it.", wide=True),
        column("Readiness Gates", "How many extra conditions are met, of how many.", wide=True),
    ],
    _cells,
    _row_conditions,
)
"""Pods."""
