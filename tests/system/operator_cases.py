"""Workloads that real operators run: short ones."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jobferry.kinds.adapter import MULTIKUEUE
from jobferry.objects import Obj
from jobferry.objects.resource import Resource
from jobferry.testing.pods import EXIT_CODE, RUN_SECONDS
from tests.system.jobs import MANAGER, Holds, condition, holds, is_there
from tests.system.operator_programs import (
    APP_WRAPPER,
    JOB_SET,
    MPI,
    RAY,
    TEKTON,
    TEKTON_WEBHOOK,
    TRAINER,
    TRAINING,
)
from tests.system.operators import Operator

EVERYWHERE = ("hub", "east", "west")
"""The clusters of the fleet: in the lab, west is the hub, east is north, and hub is south."""


WORKERS_ALONE = ("hub", "east")

FOREVER = {RUN_SECONDS: "inf"}


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

    beside: Callable[[Obj], list[tuple[Resource, Obj]]] = lambda _: []
    """Makes what it refers to, which must be on all clusters."""

    failed: Holds = is_there
    """What its status says, once it failed because its pods did."""

    ends: frozenset[str] = frozenset({"Complete", "Failed"})
    """How it can end by itself."""

    while_stopped: Obj | None = None
    """A change of its spec that its operator takes only while it is suspended, and that pods get an annotation by."""


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


def _training(framework: str, container: str, **replicas: int) -> Callable[[Obj], Obj]:
    """Return what makes specs of a kind of Kubeflow's first trainer, with so many pods in each role."""

    def spec(annotations: Obj) -> Obj:
        pods = template(annotations, container)
        return {
            "runPolicy": {"managedBy": MULTIKUEUE, "ttlSecondsAfterFinished": 3600},
            f"{framework}ReplicaSpecs": {
                role: {"replicas": count, "restartPolicy": "Never", "template": pods}
                for role, count in replicas.items()
            },
        }

    return spec


def _trained(
    kind: str,
    framework: str,
    container: str,
    clusters: tuple[str, ...] = EVERYWHERE,
    **replicas: int,
) -> Case:
    """Return workloads of a kind of Kubeflow's first trainer."""
    spec = _training(framework, container, **replicas)
    name = f"{kind}.kubeflow.org"
    return Case(name, (TRAINING,), spec, _active(**replicas), clusters=clusters)


def _mpi(annotations: Obj) -> Obj:
    return {
        "slotsPerWorker": 1,
        "runPolicy": {"managedBy": MANAGER, "cleanPodPolicy": "Running", "backoffLimit": 0},
        "mpiReplicaSpecs": {
            "Launcher": {"replicas": 1, "template": template(annotations, "launcher")},
            "Worker": {"replicas": 2, "template": template(FOREVER, "worker")},
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
        "runtimeRef": {"name": RUNTIME, "kind": "TrainingRuntime"},
        "trainer": {"numNodes": 2},
    }


def _runtime(annotations: Obj) -> Obj:
    """Return a small runtime."""
    pods = template(annotations, "node", restartPolicy="Never")
    job = {
        "name": "node",
        "replicas": 1,
        "template": {
            "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
            "spec": {"backoffLimit": 0, "template": pods},
        },
    }
    template_ = {"spec": {"replicatedJobs": [job]}}
    return {"metadata": {"name": RUNTIME}, "spec": {"template": template_}}


FLAVOR = {"flavor": "spot"}
"""What pods are annotated with by a change."""


def _patches() -> Obj:
    job = {
        "name": "node",
        "template": {"spec": {"template": {"metadata": {"annotations": FLAVOR}}}},
    }
    spec = {"template": {"spec": {"replicatedJobs": [job]}}}
    return {"runtimePatches": [{"manager": "example.com/me", "trainingRuntimeSpec": spec}]}


RUNTIME = "plain"
RUNTIMES = Resource("trainer.kubeflow.org", "v1alpha1", "trainingruntimes", "TrainingRuntime")


def _trains(obj: Obj) -> bool:
    jobs = obj.get("status", {}).get("jobsStatus") or []
    return any(each.get("ready") for each in jobs)


def _ray_cluster(_: Obj) -> Obj:
    def pods(name: str) -> Obj:
        return {"rayStartParams": {}, "template": template(FOREVER, name)}

    group = {"groupName": "small", "replicas": 2, "minReplicas": 0, "maxReplicas": 2}
    return {
        "rayVersion": "2.46.0",
        "headGroupSpec": pods("ray-head"),
        "workerGroupSpecs": [{**group, **pods("ray-worker")}],
    }


def _delegated_ray_cluster(annotations: Obj) -> Obj:
    return {**_ray_cluster(annotations), "managedBy": MULTIKUEUE}


def _ray_job(annotations: Obj) -> Obj:
    """Return a RayJob whose id tells our dashboard how it fares."""
    fails, runs = annotations[EXIT_CODE] != "0", annotations[RUN_SECONDS] == "inf"
    return {
        "managedBy": MULTIKUEUE,
        "jobId": "running-1" if runs else "failed-1" if fails else "succeeded-1",
        "entrypoint": "none",
        "shutdownAfterJobFinishes": True,
        "rayClusterSpec": _ray_cluster(annotations),
        "submitterPodTemplate": template(
            {**annotations, EXIT_CODE: "0"}, "submitter", restartPolicy="Never"
        ),
    }


def _ready_ray(obj: Obj) -> bool:
    return bool(obj.get("status", {}).get("state") == "ready")


def _running_ray(obj: Obj) -> bool:
    return bool(obj.get("status", {}).get("jobStatus") == "RUNNING")


def _steps() -> Obj:
    return {"steps": [{"name": "one", "image": "none", "command": ["none"]}]}


def _pipeline(annotations: Obj) -> Obj:
    task = {**_steps(), "metadata": {"annotations": annotations}}
    return {
        "managedBy": MANAGER,
        "pipelineSpec": {
            "tasks": [
                {"name": "first", "taskSpec": task},
                {"name": "second", "taskSpec": task, "runAfter": ["first"]},
            ]
        },
    }


def _task(_: Obj) -> Obj:
    return {"managedBy": MANAGER, "taskRef": {"name": TASK}}


TASK = "steps"
TASKS = Resource("tekton.dev", "v1", "tasks", "Task")
ACCOUNTS = Resource("", "v1", "serviceaccounts", "ServiceAccount")


def _account(_: Obj) -> list[tuple[Resource, Obj]]:
    """Return the account that a controller makes in a cluster which has all of them."""
    return [(ACCOUNTS, {"metadata": {"name": "default"}})]


def _account_and_task(annotations: Obj) -> list[tuple[Resource, Obj]]:
    """Return a Task, too, whose annotations are those of the pods that are made of it."""
    task = {"metadata": {"name": TASK, "annotations": annotations}, "spec": _steps()}
    return [*_account(annotations), (TASKS, task)]


def _succeeded(obj: Obj) -> Obj:
    return condition(obj, "Succeeded")


def _runs_tasks(obj: Obj) -> bool:
    return bool(_succeeded(obj).get("reason") == "Running")


def _ran_and_failed(obj: Obj) -> bool:
    return _succeeded(obj).get("reason") in {"Failed", "StepFailed"}


MPI_JOB = Case(
    "MPIJob.kubeflow.org", (MPI,), _mpi, _active(Launcher=1, Worker=2), clusters=("east",)
)

WRAPPER = Case(
    "AppWrapper.workload.codeflare.dev",
    (APP_WRAPPER,),
    _wrapped,
    lambda obj: obj.get("status", {}).get("phase") == "Running",
)

RUNS = (
    Case(
        "PipelineRun.tekton.dev",
        (TEKTON, TEKTON_WEBHOOK),
        _pipeline,
        _runs_tasks,
        beside=_account,
        failed=_ran_and_failed,
    ),
    Case(
        "TaskRun.tekton.dev",
        (TEKTON, TEKTON_WEBHOOK),
        _task,
        _runs_tasks,
        beside=_account_and_task,
        failed=_ran_and_failed,
    ),
)
"""The runs of Tekton."""

CASES = (
    _trained("PyTorchJob", "pytorch", "pytorch", Master=1, Worker=2),
    _trained("TFJob", "tf", "tensorflow", Chief=1, Worker=2),
    _trained("XGBoostJob", "xgb", "xgboost", Master=1, Worker=2),
    _trained("PaddleJob", "paddle", "paddle", Master=1, Worker=2),
    # Its operator does not look at managedBy (kinds.md 3): it must not run on the hub.
    _trained("JAXJob", "jax", "jax", WORKERS_ALONE, Worker=2),
    MPI_JOB,
    WRAPPER,
    Case(
        "TrainJob.trainer.kubeflow.org",
        (JOB_SET, TRAINER),
        _train,
        _trains,
        beside=lambda annotations: [(RUNTIMES, _runtime(annotations))],
        while_stopped=_patches(),
    ),
    Case("RayJob.ray.io", (RAY,), _ray_job, _running_ray),
    Case("RayCluster.ray.io", (RAY,), _delegated_ray_cluster, _ready_ray, ends=frozenset()),
    *RUNS,
)
