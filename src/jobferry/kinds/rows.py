"""The rows of the kinds that come with Jobferry and need no code, or little; docs/kinds.md has an example of each."""

from dataclasses import replace

from jobferry.kinds.job.delegated import JOB_NAME
from jobferry.kinds.paths import Path, path
from jobferry.kinds.table import NEVER, Labelled, PodSet, Row, Says
from jobferry.objects.resource import Resource


def _paths(*texts: str) -> tuple[Path, ...]:
    return tuple(path(text) for text in texts)


JOB_SET_PODS = (Labelled("jobset.sigs.k8s.io/jobset-name"),)
"""Those of a TrainJob, too: it becomes a JobSet of the same name."""

_TEMPLATE = "spec.replicatedJobs.name=*.template.spec.template"
_COUNTS = ("ready", "succeeded", "failed")

JOB_SET = Row(
    resource=Resource("jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet"),
    own_controller="jobset.sigs.k8s.io/jobset-controller",
    pods=(
        PodSet(
            at=path("spec.replicatedJobs.*"),
            template=path("template.spec.template"),
            counts=_paths("replicas", "template.spec.parallelism"),
            at_most=path("template.spec.completions"),
        ),
    ),
    own_pods=JOB_SET_PODS,
    strips=_paths("spec.ttlSecondsAfterFinished"),
    nested=_paths("spec.replicatedJobs.*.template.spec.managedBy"),
    forwards_stopped=_paths(
        f"{_TEMPLATE}.metadata.labels",
        f"{_TEMPLATE}.metadata.annotations",
        f"{_TEMPLATE}.spec.nodeSelector",
        f"{_TEMPLATE}.spec.tolerations",
        f"{_TEMPLATE}.spec.schedulingGates",
    ),
    success=Says("Completed"),
    ended=(),
    ready=_paths(
        "status.restarts", *(f"status.replicatedJobsStatus.*.{each}" for each in _COUNTS)
    ),
    # Not those that are ready: for that it is enough that pods have succeeded.
    busy=_paths("status.replicatedJobsStatus.*.active"),
    ttl=path("spec.ttlSecondsAfterFinished"),
    fails_also={"terminalState": "Failed"},
)

APP_WRAPPER = Row(
    resource=Resource("workload.codeflare.dev", "v1beta2", "appwrappers", "AppWrapper"),
    own_controller="workload.codeflare.dev/appwrapper-controller",
    own_pods=(Labelled("workload.codeflare.dev/appwrapper"),),
    strips=_paths("spec.components.*.podSetInfos"),
    strips_labels=frozenset({"workload.codeflare.dev/user", "workload.codeflare.dev/userid"}),
    success=Says(member=path("status.phase"), values=("Succeeded",)),
    failure=Says(member=path("status.phase"), values=("Failed",)),
    suspended=Says(member=path("status.phase"), values=("Suspended",)),
    ended=(),
    ready=_paths("status.resettingCount"),
    ran=(Says("PodsReady"),),
    running="ResourcesDeployed",
)

RAY_OPERATOR = "ray.io/kuberay-operator"
_RAY_CLUSTER = "ray.io/cluster"

RAY_JOB = Row(
    resource=Resource("ray.io", "v1", "rayjobs", "RayJob"),
    own_controller=RAY_OPERATOR,
    is_closed=True,
    # The Job that submits it has its name; its cluster has one of its own.
    own_pods=(
        Labelled(JOB_NAME),
        Labelled(_RAY_CLUSTER, path("status.rayClusterName")),
    ),
    nested=_paths("spec.rayClusterSpec.managedBy"),
    forwards=_paths("spec.jobId"),
    suspended=Says(member=path("status.jobDeploymentStatus"), values=("Suspended",)),
    failure=Says(member=path("status.jobDeploymentStatus"), values=("Failed",)),
    success=Says(member=path("status.jobDeploymentStatus"), values=("Complete",)),
    ended=path("status.endTime"),
    ready=_paths("status.jobStatus", "status.rayClusterStatus.readyWorkerReplicas"),
)

_GROUP = "spec.workerGroupSpecs.groupName=*"

RAY_CLUSTER = Row(
    resource=Resource("ray.io", "v1", "rayclusters", "RayCluster"),
    own_controller=RAY_OPERATOR,
    is_closed=True,
    own_pods=(Labelled(_RAY_CLUSTER),),
    forwards=_paths(f"{_GROUP}.minReplicas", f"{_GROUP}.maxReplicas", f"{_GROUP}.numOfHosts"),
    elastic=path("spec.enableInTreeAutoscaling"),
    grows=_paths(f"{_GROUP}.replicas"),
    success=NEVER,
    failure=Says("jobferry.io/GivenUp"),
    suspended=Says(member=path("status.state"), values=("suspended",)),
    ended=(),
    ready=_paths("status.readyWorkerReplicas"),
    ran=(Says("HeadPodReady"), Says(member=path("status.state"), values=("ready",))),
    busy=_paths("status.readyWorkerReplicas", "status.availableWorkerReplicas"),
    fails_also={"state": "failed"},
)


_REPLICAS = "status.replicaStatuses.*"

_KUBEFLOW = Row(
    resource=Resource("kubeflow.org", "v1", "", ""),
    managed_by=path("spec.runPolicy.managedBy"),
    own_controller="kubeflow.org/training-operator",
    is_closed=True,
    priority=path("spec.runPolicy.schedulingPolicy.priorityClass"),
    strips=_paths("spec.runPolicy.ttlSecondsAfterFinished"),
    suspend=path("spec.runPolicy.suspend"),
    success=Says("Succeeded"),
    ready=_paths(f"{_REPLICAS}.active", f"{_REPLICAS}.succeeded", f"{_REPLICAS}.failed"),
    busy=_paths(f"{_REPLICAS}.active"),
    ttl=path("spec.runPolicy.ttlSecondsAfterFinished"),
    noise=frozenset({"lastReconcileTime"}),
    running="Running",
    stamp="lastUpdateTime",
)


def _kubeflow(kind: str, replicas: str) -> Row:
    """Return the row of a kind of Kubeflow's v1, which has its pods in a map of replicas."""
    resource = Resource("kubeflow.org", "v1", f"{kind.lower()}s", kind)
    pods = (PodSet(at=path(f"spec.{replicas}.*")),)
    own_pods = _labelled(f"{kind.lower()}-controller")
    return replace(_KUBEFLOW, resource=resource, pods=pods, own_pods=own_pods)


def _labelled(operator: str) -> tuple[Labelled, ...]:
    """Return how Kubeflow's operators label pods: workloads of several kinds may have the same name."""
    also = f"training.kubeflow.org/operator-name={operator}"
    return (Labelled("training.kubeflow.org/job-name", also=also),)


def _scaled(row: Row, replicas: str) -> Row:
    """Return the row of a kind whose workers can be made more or fewer while it runs."""
    grows = _paths(f"spec.{replicas}.Worker.replicas")
    return replace(row, grows=grows, elastic=path("spec.elasticPolicy"))


PYTORCH_JOB = _scaled(_kubeflow("PyTorchJob", "pytorchReplicaSpecs"), "pytorchReplicaSpecs")
TF_JOB = _kubeflow("TFJob", "tfReplicaSpecs")
XGBOOST_JOB = _kubeflow("XGBoostJob", "xgbReplicaSpecs")
PADDLE_JOB = _scaled(_kubeflow("PaddleJob", "paddleReplicaSpecs"), "paddleReplicaSpecs")
JAX_JOB = replace(
    _scaled(_kubeflow("JAXJob", "jaxReplicaSpecs"), "jaxReplicaSpecs"),
    caution="training-operator 1.9 does not look at the managedBy of JAXJobs: one that runs on the hub would run"
    " them as well. Start it there with --enable-scheme for each of the other kinds.",
)

MPI_JOB = replace(
    _scaled(_kubeflow("MPIJob", "mpiReplicaSpecs"), "mpiReplicaSpecs"),
    resource=Resource("kubeflow.org", "v2beta1", "mpijobs", "MPIJob"),
    own_controller="kubeflow.org/mpi-operator",
    own_pods=_labelled("mpi-operator"),
    is_closed=False,
    ttl=(),  # it is the launcher's, whose Job is never on the hub
)

ROWS = (
    JOB_SET,
    MPI_JOB,
    PYTORCH_JOB,
    TF_JOB,
    XGBOOST_JOB,
    PADDLE_JOB,
    JAX_JOB,
)
"""The kinds that need no code."""
