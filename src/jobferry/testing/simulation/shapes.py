"""The Jobs of a simulation: what they look like, and how each must end, on one cluster or on many."""

from dataclasses import dataclass
from typing import Any

from jobferry.clock import Seconds
from jobferry.localkube.runner.simulated import EXIT_CODE, RUN_SECONDS, STOP_SECONDS
from jobferry.objects import Obj

MANAGER = "jobferry.io/dispatcher"

NOWHERE = "registry"
"""A Secret that every third Job refers to and no cluster has: a dispatcher looks for it, and pods do without."""


def job(name: str, namespace: str, shape: dict[str, Any]) -> Obj:
    """Make a Job; `shape` may say how long its pods run and how they end, and give fields of its spec and metadata."""
    given = dict(shape)
    notes = {
        RUN_SECONDS: str(given.pop("runs", 3)),
        EXIT_CODE: str(given.pop("exits", 0)),
        STOP_SECONDS: str(given.pop("stops", 0)),
    }
    container: Obj = {"name": "main", "image": "any"}
    if requests := given.pop("requests", None):
        container["resources"] = {"requests": requests}
    pod: Obj = {"restartPolicy": "Never", "containers": [container]}
    if priority := given.pop("priority", None):
        pod["priorityClassName"] = priority
    if sum(name.encode()) % 3 == 0:
        # By its name: to draw it would make another history of every seed.
        pod["imagePullSecrets"] = [{"name": NOWHERE}]
    metadata: Obj = {"name": name, "namespace": namespace}
    metadata |= {key: given.pop(key) for key in ("labels", "annotations") if key in given}
    spec = {"managedBy": MANAGER, **given}
    if spec["managedBy"] is None:
        del spec["managedBy"]
    return {
        "metadata": metadata,
        "spec": {**spec, "template": {"metadata": {"annotations": notes}, "spec": pod}},
    }


@dataclass(frozen=True, slots=True)
class Ending:
    """How a Job must end."""

    condition: str
    reason: str
    succeeded: int
    failed: int


ENDLESS: Seconds = 1000.0
"""So long runs what nobody lives to see the end of, unless others end it."""


def is_endless(job: Obj) -> bool:
    """Tell whether a Job runs for longer than any history."""
    notes = job["spec"]["template"]["metadata"]["annotations"]
    return float(notes[RUN_SECONDS]) >= ENDLESS


def ending(job: Obj) -> Ending:
    """Say how a Job ends whose pods do what their annotations say, and are let."""
    spec, notes = job["spec"], job["spec"]["template"]["metadata"]["annotations"]
    runs, exits = float(notes[RUN_SECONDS]), int(notes[EXIT_CODE])
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and runs > deadline:
        return Ending("Failed", "DeadlineExceeded", 0, 0)
    if exits:
        return Ending("Failed", "BackoffLimitExceeded", 0, spec["backoffLimit"] + 1)
    return Ending("Complete", "CompletionsReached", spec["completions"], 0)
