"""The JobSets of a simulation: their definition, what they look like, and what their operator would do about one."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from jobferry.kinds.rows import JOB_SET
from jobferry.objects import Obj, conditions
from jobferry.testing.simulation import shapes

RESOURCE = JOB_SET.resource
NAME_LABEL = "jobset.sigs.k8s.io/jobset-name"
UID_LABEL = "jobset.sigs.k8s.io/jobset-uid"
"""On all pods of a JobSet: they may outlive the Job that they were made for."""

STOPS = (0, 6)
"""How long the pods of a JobSet take to stop; the next one has the next of these."""

_ANYTHING: Obj = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_CONDITIONS: Obj = {
    "type": "array",
    "items": {
        **_ANYTHING,
        "required": ["type", "status", "reason", "lastTransitionTime"],
        "properties": {"type": {"type": "string"}},
    },
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["type"],
}

DEFINITION: Obj = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": str(RESOURCE)},
    "spec": {
        "group": RESOURCE.group,
        "scope": "Namespaced",
        "names": {
            "kind": RESOURCE.kind,
            "plural": RESOURCE.plural,
            "singular": RESOURCE.kind.lower(),
        },
        "versions": [
            {
                "name": RESOURCE.version,
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": _ANYTHING,
                            "status": {**_ANYTHING, "properties": {"conditions": _CONDITIONS}},
                        },
                    }
                },
            }
        ],
    },
}
"""A small one, of the paths that count: the real one is a hundred times as large, for the sake of pod templates."""


def job_set(name: str, namespace: str, shape: dict[str, Any]) -> Obj:
    """Make a JobSet of one sort of Jobs; `shape` says how many there are, and what a Job looks like."""
    given = dict(shape)
    spec: Obj = {"managedBy": shapes.MANAGER}
    if given.pop("suspend", False):
        spec["suspend"] = True
    replicas = given.pop("replicas", 1)
    # By its name: to draw it would make another history of every seed.
    stops = STOPS[sum(name.encode()) % len(STOPS)]
    template = shapes.job("", "", {"stops": stops, **given, "managedBy": None})["spec"]
    jobs = {"name": "part", "replicas": replicas, "template": {"spec": template}}
    return {
        "metadata": {"name": name, "namespace": namespace},
        "spec": {**spec, "replicatedJobs": [jobs]},
    }


def ending(job_set: Obj) -> str:
    """Say how a JobSet ends whose pods do what their annotations say, and are let."""
    parts = job_set["spec"]["replicatedJobs"]
    ends = {shapes.ending({"spec": part["template"]["spec"]}).condition for part in parts}
    return "Failed" if "Failed" in ends else "Completed"


def end(obj: Obj) -> Obj | None:
    """Return the condition by which a JobSet has ended."""
    listed = (obj.get("status") or {}).get("conditions")
    stated = [conditions.find(listed, type) for type in ("Completed", "Failed")]
    return next((each for each in stated if each and each["status"] == "True"), None)


# Its operator


@dataclass(slots=True)
class Plan:
    """What an operator does about a JobSet."""

    create: list[Obj] = field(default_factory=list)
    suspend: dict[str, bool] = field(default_factory=dict)
    """By the name of a Job: what is to become of its `suspend`."""

    delete: list[str] = field(default_factory=list)
    status: Obj | None = None
    """None: it is to stay as it is."""


def plan(job_set: Obj, jobs: Iterable[Obj], now: datetime) -> Plan:
    """Decide as the JobSet controller does: Jobs are made, stopped and resumed, and what they come to is told."""
    known = {job["metadata"]["name"]: job for job in jobs}
    if end(job_set) is not None:
        return Plan(delete=[name for name, job in known.items() if not _finish(job)])
    is_suspended = bool(job_set["spec"].get("suspend"))
    found = Plan(
        create=[made for made in _wanted(job_set) if made["metadata"]["name"] not in known],
        suspend={
            name: is_suspended
            for name, job in known.items()
            if not _finish(job) and bool(job["spec"].get("suspend")) != is_suspended
        },
    )
    status = {**(job_set.get("status") or {}), **_counted(job_set, [*known.values()])}
    if listed := _conditions(job_set, [*known.values()], now):
        status["conditions"] = listed
    if ended := end({"status": status}):
        status["terminalState"] = ended["type"]
    found.status = status if status != job_set.get("status") else None
    return found


def _wanted(job_set: Obj) -> list[Obj]:
    """Return the Jobs that a JobSet has."""
    meta, spec = job_set["metadata"], job_set["spec"]
    owner = {
        "apiVersion": RESOURCE.api_version,
        "kind": RESOURCE.kind,
        "name": meta["name"],
        "uid": meta["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    return [
        {
            "metadata": {
                "name": f"{meta['name']}-{part['name']}-{number}",
                "namespace": meta["namespace"],
                "labels": {NAME_LABEL: meta["name"]},
                "ownerReferences": [owner],
            },
            "spec": {
                **_labelled(part["template"]["spec"], meta["uid"]),
                "suspend": bool(spec.get("suspend")),
            },
        }
        for part in spec["replicatedJobs"]
        for number in range(part.get("replicas", 1))
    ]


def _labelled(spec: Obj, uid: str) -> Obj:
    """Return the spec of a Job whose pods say which JobSet they are of."""
    pod = spec["template"]
    metadata = {**pod["metadata"], "labels": {UID_LABEL: uid}}
    return {**spec, "template": {**pod, "metadata": metadata}}


def _counted(job_set: Obj, jobs: list[Obj]) -> Obj:
    """Return how many Jobs there are of each sort; as the real one, it does not ask for pods that are about to end."""
    (part,) = job_set["spec"]["replicatedJobs"]
    running = [job for job in jobs if not _finish(job)]
    statuses = [job.get("status") or {} for job in running]
    counts = {
        "active": sum(bool(each.get("active")) for each in statuses),
        "ready": sum(map(_is_ready, running)),
        "succeeded": sum(_finish(job) == "Complete" for job in jobs),
        "failed": sum(_finish(job) == "Failed" for job in jobs),
        "suspended": sum(bool(job["spec"].get("suspend")) for job in running),
    }
    return {"restarts": 0, "replicatedJobsStatus": [{"name": part["name"], **counts}]}


def _is_ready(job: Obj) -> bool:
    """Tell whether as many pods of a Job are ready, or have succeeded, as may run at a time."""
    spec, status = job["spec"], job.get("status") or {}
    least = min(spec["parallelism"], spec["completions"])
    return bool(status.get("succeeded", 0) + status.get("ready", 0) >= least)


def _conditions(job_set: Obj, jobs: list[Obj], now: datetime) -> list[Obj]:
    listed = (job_set.get("status") or {}).get("conditions") or []
    is_suspended = bool(job_set["spec"].get("suspend"))
    ends = [_finish(job) for job in jobs]
    if "Failed" in ends:
        return conditions.set(listed, _condition("Failed", "FailedJobs"), now)
    if len(ends) == len(_wanted(job_set)) and set(ends) == {"Complete"}:
        return conditions.set(listed, _condition("Completed", "AllJobsCompleted"), now)
    if is_suspended != conditions.is_true(listed, "Suspended"):
        reason = "SuspendedJobs" if is_suspended else "ResumeJobs"
        said = _condition("Suspended", reason) | {"status": str(is_suspended)}
        return conditions.set(listed, said, now)
    return listed


def _condition(type: str, reason: str) -> Obj:
    return {"type": type, "status": "True", "reason": reason, "message": f"jobset: {reason}"}


def _finish(job: Obj) -> str | None:
    listed = (job.get("status") or {}).get("conditions")
    return next(
        (type for type in ("Complete", "Failed") if conditions.is_true(listed, type)), None
    )
