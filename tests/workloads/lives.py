"""The lives of mirrors: one status after the other, as the operator of each kind writes them on a worker."""

from typing import Any

from jobferry.objects import Obj

START = "2026-11-17T11:31:00Z"
LATER = "2026-11-17T11:32:00Z"
END = "2026-11-17T11:40:00Z"


def condition(type: str, status: str = "True", at: str = START, **more: Any) -> Obj:
    """Return a condition as most operators write it."""
    return {
        "type": type,
        "status": status,
        "reason": f"{type}Reason",
        "message": f"{type} is {status}",
        "lastTransitionTime": at,
        **more,
    }


def observed(type: str, status: str = "True", at: str = START) -> Obj:
    """Return a condition that names the generation it is about, which is the mirror's."""
    return condition(type, status, at, observedGeneration=1)


def _job_set(restarts: int = 0, **counts: int) -> Obj:
    numbers = dict.fromkeys(("active", "failed", "ready", "succeeded", "suspended"), 0) | counts
    return {"restarts": restarts, "replicatedJobsStatus": [{"name": "workers", **numbers}]}


_STARTED = observed("StartupPolicyCompleted", at=LATER)

JOB_SET = (
    _job_set(active=2),
    _job_set(active=2, ready=2) | {"conditions": [_STARTED]},
    _job_set(active=1, ready=1, restarts=1) | {"conditions": [_STARTED]},
    _job_set(succeeded=2, restarts=1)
    | {"conditions": [_STARTED, observed("Completed", at=END)], "terminalState": "Completed"},
)


def _train(**counts: int) -> Obj:
    numbers = dict.fromkeys(("active", "failed", "ready", "succeeded", "suspended"), 0) | counts
    return {"jobsStatus": [{"name": "node", **numbers}]}


TRAIN_JOB = (
    {"conditions": [observed("Suspended", "False")]},
    _train(active=1) | {"conditions": [observed("Suspended", "False")]},
    _train(active=1, ready=1)
    | {
        "conditions": [observed("Suspended", "False")],
        "trainerStatus": {"progressPercentage": 40, "lastUpdatedTime": LATER},
    },
    _train(failed=1)
    | {"conditions": [observed("Suspended", "False"), observed("Failed", at=END)]},
)

_RAY: Obj = {
    "jobId": "tune-abc",
    "rayClusterName": "tune-xyz",
    "startTime": START,
    "observedGeneration": 1,
}

RAY_JOB = (
    {**_RAY, "jobDeploymentStatus": "Initializing"},
    {
        **_RAY,
        "jobDeploymentStatus": "Running",
        "jobStatus": "RUNNING",
        "dashboardURL": "tune-head-svc.team.svc.cluster.local:8265",
        "rayClusterStatus": {"state": "ready", "desiredCPU": "5", "observedGeneration": 4},
        "succeeded": 0,
        "failed": 0,
    },
    {
        **_RAY,
        "jobDeploymentStatus": "Complete",
        "jobStatus": "SUCCEEDED",
        "endTime": END,
        "succeeded": 1,
        "failed": 0,
    },
)

RAY_CLUSTER = (
    {"desiredWorkerReplicas": 2, "observedGeneration": 1},
    {
        "state": "ready",
        "desiredWorkerReplicas": 2,
        "readyWorkerReplicas": 2,
        "desiredCPU": "5",
        "head": {"podIP": "10.1.2.3", "podName": "notebook-head"},
        "endpoints": {"dashboard": "8265"},
        "stateTransitionTimes": {"ready": LATER},
        "conditions": [observed("HeadPodReady"), observed("RayClusterProvisioned")],
        "observedGeneration": 1,
    },
    {
        "state": "suspended",
        "desiredWorkerReplicas": 2,
        "conditions": [observed("RayClusterSuspended", at=LATER)],
        "observedGeneration": 1,
    },
)

APP_WRAPPER = (
    {"phase": "Suspended"},
    {"phase": "Resuming", "conditions": [condition("ResourcesDeployed")]},
    {
        "phase": "Running",
        "conditions": [condition("ResourcesDeployed"), condition("PodsReady", at=LATER)],
        "componentStatus": [
            {"apiVersion": "batch/v1", "kind": "Job", "name": "report", "podSets": []}
        ],
    },
    {
        "phase": "Failed",
        "conditions": [condition("ResourcesDeployed"), condition("PodsReady", at=LATER)],
    },
    {"phase": "Failed", "conditions": [condition("ResourcesDeployed", "False", END)]},
)

PIPELINE_RUN = (
    {"startTime": START, "conditions": [condition("Succeeded", "Unknown")]},
    {
        "startTime": START,
        "conditions": [condition("Succeeded", "Unknown")],
        "childReferences": [
            {"apiVersion": "tekton.dev/v1", "kind": "TaskRun", "name": "build-compile"}
        ],
        "pipelineSpec": {"tasks": [{"name": "compile"}]},
    },
    {
        "startTime": START,
        "completionTime": END,
        "conditions": [condition("Succeeded", at=END)],
        "results": [{"name": "digest", "value": "abc"}],
    },
)

TASK_RUN = (
    {"podName": "", "startTime": START, "conditions": [condition("Succeeded", "Unknown")]},
    {
        "podName": "check-pod",
        "startTime": START,
        "conditions": [condition("Succeeded", "Unknown")],
        "steps": [{"name": "one", "running": {"startedAt": LATER}}],
    },
    {
        "podName": "check-pod",
        "startTime": START,
        "completionTime": END,
        "conditions": [condition("Succeeded", "False", END)],
        "steps": [{"name": "one", "terminated": {"exitCode": 1, "finishedAt": END}}],
    },
)


def _kubeflow(replica: str, end: str) -> tuple[Obj, ...]:
    created = condition("Created", lastUpdateTime=START)
    running = condition("Running", lastUpdateTime=LATER)
    stopped = condition("Running", "False", lastUpdateTime=END)
    return (
        {"conditions": [created], "startTime": START, "lastReconcileTime": START},
        {
            "conditions": [created, running],
            "startTime": START,
            "lastReconcileTime": LATER,
            "replicaStatuses": {replica: {"active": 1, "selector": "a=b"}},
        },
        {
            "conditions": [created, stopped, condition(end, at=END, lastUpdateTime=END)],
            "startTime": START,
            "completionTime": END,
            "replicaStatuses": {replica: {"succeeded": 1}},
        },
    )


def _pod(phase: str, scheduled: str = "True", **state: Any) -> Obj:
    status: Obj = {"phase": phase, "qosClass": "Burstable"}
    status["conditions"] = [
        {"type": "PodScheduled", "status": scheduled, "lastTransitionTime": START}
    ]
    if state:
        status |= {
            "startTime": START,
            "podIP": "10.1.2.3",
            "podIPs": [{"ip": "10.1.2.3"}],
            "containerStatuses": [
                {
                    "name": "main",
                    "image": "busybox",
                    "imageID": "",
                    "ready": "running" in state,
                    "restartCount": 0,
                    "state": state,
                }
            ],
        }
    return status


POD = (
    _pod("Pending", "False"),
    _pod("Pending", waiting={"reason": "ContainerCreating"}),
    _pod("Running", running={"startedAt": LATER}),
    _pod("Succeeded", terminated={"exitCode": 0, "finishedAt": END, "startedAt": LATER}),
)

SIMULATION = (
    {"phase": "Starting", "conditions": []},
    {"phase": "Running", "runningCopies": 3, "conditions": []},
    {"phase": "Over", "runningCopies": 0, "conditions": [condition("Done", at=END)]},
)

LIVES: dict[str, tuple[Obj, ...]] = {
    "AppWrapper.workload.codeflare.dev": APP_WRAPPER,
    "JAXJob.kubeflow.org": _kubeflow("Worker", "Succeeded"),
    "JobSet.jobset.x-k8s.io": JOB_SET,
    "MPIJob.kubeflow.org": _kubeflow("Launcher", "Succeeded"),
    "PaddleJob.kubeflow.org": _kubeflow("Worker", "Failed"),
    "PipelineRun.tekton.dev": PIPELINE_RUN,
    "Pod": POD,
    "PyTorchJob.kubeflow.org": _kubeflow("Master", "Succeeded"),
    "RayCluster.ray.io": RAY_CLUSTER,
    "RayJob.ray.io": RAY_JOB,
    "Simulation.example.com": SIMULATION,
    "TFJob.kubeflow.org": _kubeflow("Chief", "Failed"),
    "TaskRun.tekton.dev": TASK_RUN,
    "TrainJob.trainer.kubeflow.org": TRAIN_JOB,
    "XGBoostJob.kubeflow.org": _kubeflow("Worker", "Succeeded"),
}
"""By kind; the last of each is its end, if it has one."""

ENDS: dict[str, str | None] = {
    **dict.fromkeys(LIVES, "Complete"),
    "AppWrapper.workload.codeflare.dev": "Failed",
    "PaddleJob.kubeflow.org": "Failed",
    "RayCluster.ray.io": None,
    "TFJob.kubeflow.org": "Failed",
    "TaskRun.tekton.dev": "Failed",
    "TrainJob.trainer.kubeflow.org": "Failed",
}
"""How each of them ends."""
