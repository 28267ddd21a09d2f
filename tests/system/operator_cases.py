"""Workloads that real operators run: short ones, with what webhooks would fill in."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jobferry.kinds.adapter import MULTIKUEUE
from jobferry.objects import Obj
from tests.system.jobs import MANAGER, Holds, holds
from tests.system.operator_programs import APP_WRAPPER, MPI, TRAINING
from tests.system.operators import Operator

EVERYWHERE = ("hub", "east", "west")
"""The clusters of the fleet: in the lab, west is the hub, east is north, and hub is south."""


@dataclass(frozen=True)
class Case:
    """Workloads of a kind, and who runs them."""

    kind: str
    operators: tuple[Operator, ...]
    spec: Callable[[Obj], Obj]
    """Makes a spec of what all of its pods are annotated with, which says how they end."""

    runs: Holds
    """What its status says while its pods run."""

    clusters: tuple[str, ...] = EVERYWHERE
    """Where the operators run."""


def template(annotations: Obj, container: str, **spec: Any) -> Obj:
    """Return a pod template."""
    requests = {"requests": {"cpu": "1"}}
    return {
        "metadata": {"annotations": annotations},
        "spec": {
            "containers": [{"name": container, "image": "none", "resources": requests}],
            **spec,
        },
    }


def _active(**replicas: int) -> Holds:
    def of(obj: Obj) -> bool:
        found = obj.get("status", {}).get("replicaStatuses") or {}
        active = {name: found.get(name, {}).get("active", 0) for name in replicas}
        return active == replicas and holds("Running")(obj)

    return of


def _pytorch(annotations: Obj) -> Obj:
    replica = {"replicas": 1, "restartPolicy": "Never"}
    pods = template(annotations, "pytorch")
    return {
        "runPolicy": {"managedBy": MULTIKUEUE, "ttlSecondsAfterFinished": 3600},
        "pytorchReplicaSpecs": {
            "Master": {**replica, "template": pods},
            "Worker": {**replica, "replicas": 2, "template": pods},
        },
    }


def _mpi(annotations: Obj) -> Obj:
    forever = {"jobferry.io/run-seconds": "inf"}
    return {
        "slotsPerWorker": 1,
        "runPolicy": {"managedBy": MANAGER, "cleanPodPolicy": "Running", "backoffLimit": 0},
        "mpiReplicaSpecs": {
            "Launcher": {"replicas": 1, "template": template(annotations, "launcher")},
            "Worker": {"replicas": 2, "template": template(forever, "worker")},
        },
    }


def _wrapped(annotations: Obj) -> Obj:
    pods = template(annotations, "main", restartPolicy="Never")
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "wrapped"},
        "spec": {"backoffLimit": 0, "template": pods},
    }
    settings = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "wrapped"},
        "data": {"text": "hello"},
    }
    components = [{"template": settings, "podSets": []}, {"template": job}]
    return {"managedBy": MANAGER, "components": components}


def _train(annotations: Obj) -> Obj:
    return {
        "managedBy": MULTIKUEUE,
        "runtimeRef": {"name": "plain", "kind": "TrainingRuntime"},
        "trainer": {"numNodes": 2},
    }


CASES = (
    Case("PyTorchJob.kubeflow.org", (TRAINING,), _pytorch, _active(Master=1, Worker=2)),
    Case(
        "MPIJob.kubeflow.org", (MPI,), _mpi, _active(Launcher=1, Worker=2), clusters=("east",)
    ),
    Case(
        "AppWrapper.workload.codeflare.dev",
        (APP_WRAPPER,),
        _wrapped,
        lambda obj: obj.get("status", {}).get("phase") == "Running",
    ),
)
