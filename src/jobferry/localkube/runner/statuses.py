"""The status that a kubelet reports for a pod: pure."""

from collections.abc import Iterable
from datetime import datetime

from jobferry.localkube.runner import containers
from jobferry.localkube.runner.containers import NOTHING, Attempt, Knowledge, Known, Part
from jobferry.localkube.runner.deciding import Step
from jobferry.objects import Obj, conditions
from jobferry.objects.times import timestamp

HOST = "127.0.0.1"
"""The address of every pod and node: they share that of the machine."""


def status(pod: Obj, known: Knowledge, step: Step, now: datetime) -> Obj:
    """Return the status of a pod whose containers are so."""
    phase = _phase(pod, known, step)
    before = pod.get("status") or {}
    all_parts = list(containers.parts(pod))
    report: Obj = {
        "phase": phase,
        "startTime": before.get("startTime") or timestamp(now),
        "hostIP": HOST,
        "hostIPs": [{"ip": HOST}],
        "podIP": HOST,
        "podIPs": [{"ip": HOST}],
        "conditions": _conditions(pod, known, phase, now),
        "containerStatuses": [
            _container(pod, part, known) for part in all_parts if not part.is_init
        ],
    }
    if any(part.is_init for part in all_parts):
        report["initContainerStatuses"] = [
            _container(pod, part, known) for part in all_parts if part.is_init
        ]
    if step.reason:
        report |= {"reason": step.reason, "message": step.message}
    return report


def container_id(uid: str, name: str, number: int) -> str:
    """Return how a run of a container is called."""
    return f"jobferry://{uid}/{name}/{number}"


def _phase(pod: Obj, known: Knowledge, step: Step) -> str:
    if step.is_over:
        return _last_phase(pod, known, step)
    mains = [
        known.get(part.name, NOTHING) for part in containers.parts(pod) if not part.is_init
    ]
    if any(one.current is None for one in mains):
        return "Pending"
    return "Running"


def _last_phase(pod: Obj, known: Knowledge, step: Step) -> str:
    mains = [
        known.get(part.name, NOTHING) for part in containers.parts(pod) if not part.is_init
    ]
    if step.reason or not all(one.has_succeeded for one in mains):
        return "Failed"
    return "Succeeded"


# -- conditions -----------------------------------------------------------------------------------


def _conditions(pod: Obj, known: Knowledge, phase: str, now: datetime) -> list[Obj]:
    is_over = phase in {"Succeeded", "Failed"}
    unready, lacking = _unready(pod, known), _incomplete(pod, known)
    why_unready = _reason("ContainersNotReady", "containers with unready status", unready)
    why_lacking = _reason(
        "ContainersNotInitialized", "containers with incomplete status", lacking
    )
    if phase == "Succeeded":
        why_unready = why_lacking = {"reason": "PodCompleted"}
    elif phase == "Failed":
        why_unready = {"reason": "PodFailed"}
    is_ready = not is_over and not unready
    mine: list[tuple[str, bool, Obj]] = [
        ("PodReadyToStartContainers", not is_over, {}),
        ("Initialized", not lacking or phase == "Succeeded", why_lacking),
        ("Ready", is_ready, why_unready),
        ("ContainersReady", is_ready, why_unready),
        ("PodScheduled", True, {}),
    ]
    found = (pod.get("status") or {}).get("conditions")
    generation = pod["metadata"].get("generation")
    for kind, holds, why in mine:
        new = {"type": kind, "status": "True" if holds else "False"}
        if generation:
            new["observedGeneration"] = generation
        found = conditions.set(found, new | why, now)
    names = {kind for kind, _, _ in mine}
    return [each for each in found or () if each["type"] in names]


def _reason(reason: str, what: str, names: Iterable[str]) -> Obj:
    named = " ".join(names)
    return {"reason": reason, "message": f"{what}: [{named}]"} if named else {}


def _unready(pod: Obj, known: Knowledge) -> list[str]:
    return [
        part.name
        for part in containers.parts(pod)
        if (not part.is_init or part.is_sidecar)
        and not _is_ready(known.get(part.name, NOTHING))
    ]


def _incomplete(pod: Obj, known: Knowledge) -> list[str]:
    return [
        part.name
        for part in containers.parts(pod)
        if part.is_init and not _is_complete(part, known.get(part.name, NOTHING))
    ]


def _is_complete(part: Part, one: Known) -> bool:
    if part.is_sidecar:
        return one.current is not None and one.current.is_started
    return one.has_succeeded


def _is_ready(one: Known) -> bool:
    return one.is_running and one.current is not None and one.current.is_ready


# -- containers -----------------------------------------------------------------------------------


def _container(pod: Obj, part: Part, known: Knowledge) -> Obj:
    one = known.get(part.name, NOTHING)
    uid = pod["metadata"]["uid"]
    image = part.container.get("image", "")
    is_plain_init = part.is_init and not part.is_sidecar
    report: Obj = {
        "name": part.name,
        "image": image,
        "imageID": image if one.current else "",
        "restartCount": one.current.number if one.current else 0,
        "ready": one.has_succeeded if is_plain_init else _is_ready(one),
        "started": one.is_running and one.current is not None and one.current.is_started,
        "state": _state(pod, part, one, known),
        "lastState": {},
    }
    if one.current is not None:
        report["containerID"] = container_id(uid, part.name, one.current.number)
    last = one.current if "waiting" in report["state"] else one.previous
    if last is not None and last.end is not None:
        report["lastState"] = {"terminated": _terminated(uid, part.name, last)}
    return report


def _state(pod: Obj, part: Part, one: Known, known: Knowledge) -> Obj:
    if one.is_running and one.current is not None:
        return {"running": {"startedAt": timestamp(one.current.began)}}
    if one.trouble is not None:
        return {"waiting": {"reason": one.trouble.reason, "message": one.trouble.message}}
    run = one.current
    if run is None or run.end is None:
        return {"waiting": {"reason": _why_not_yet(pod, part, known)}}
    is_due = containers.restarts(pod, part, run.end.exit_code) and not _is_ending(pod)
    if is_due and (wait := containers.pause(one.streak)):
        return {"waiting": _crash_loop(pod, part.name, wait)}
    return {"terminated": _terminated(pod["metadata"]["uid"], part.name, run)}


def _is_ending(pod: Obj) -> bool:
    return "deletionTimestamp" in pod["metadata"]


def _why_not_yet(pod: Obj, part: Part, known: Knowledge) -> str:
    lacking = _incomplete(pod, known)
    waits = bool(lacking) and (not part.is_init or part.name != lacking[0])
    return "PodInitializing" if waits else "ContainerCreating"


def _crash_loop(pod: Obj, name: str, wait: float) -> Obj:
    meta = pod["metadata"]
    whole = f"{meta['name']}_{meta['namespace']}({meta['uid']})"
    return {
        "reason": "CrashLoopBackOff",
        "message": f"back-off {_duration(wait)} restarting failed container={name} pod={whole}",
    }


def _duration(seconds: float) -> str:
    """Write a duration as Go does."""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"


def _terminated(uid: str, name: str, run: Attempt) -> Obj:
    end = run.end
    if end is None:
        raise ValueError("a container that runs is not terminated")
    report: Obj = {
        "exitCode": end.exit_code,
        "reason": end.word,
        "startedAt": timestamp(run.began),
        "finishedAt": timestamp(end.at),
        "containerID": container_id(uid, name, run.number),
    }
    if end.message:
        report["message"] = end.message
    return report
