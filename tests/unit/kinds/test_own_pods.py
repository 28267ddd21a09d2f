"""Which pods belong to a mirror, by the labels that operators give them."""

import pytest

from jobferry.kinds.adapter import Context, Selection
from jobferry.kinds.declared import rows
from jobferry.kinds.job.delegated import DelegatedJob
from jobferry.kinds.registry import make
from jobferry.objects import Obj
from tests.workloads.examples import ADAPTERS, CONTEXT, DECLARED, NAMES, example

KUBEFLOW = "training.kubeflow.org/job-name=thing,training.kubeflow.org/operator-name"
OWN_PODS = {
    "AppWrapper.workload.codeflare.dev": "workload.codeflare.dev/appwrapper=thing",
    "JAXJob.kubeflow.org": f"{KUBEFLOW}=jaxjob-controller",
    "JobSet.jobset.x-k8s.io": "jobset.sigs.k8s.io/jobset-name=thing",
    "MPIJob.kubeflow.org": f"{KUBEFLOW}=mpi-operator",
    "PaddleJob.kubeflow.org": f"{KUBEFLOW}=paddlejob-controller",
    "PipelineRun.tekton.dev": "tekton.dev/pipelineRun=thing",
    "PyTorchJob.kubeflow.org": f"{KUBEFLOW}=pytorchjob-controller",
    "RayCluster.ray.io": "ray.io/cluster=thing",
    "RayJob.ray.io": "batch.kubernetes.io/job-name=thing",
    "Simulation.example.com": "example.com/simulation=thing",
    "TFJob.kubeflow.org": f"{KUBEFLOW}=tfjob-controller",
    "TaskRun.tekton.dev": "tekton.dev/taskRun=thing",
    "TrainJob.trainer.kubeflow.org": "jobset.sigs.k8s.io/jobset-name=thing",
    "XGBoostJob.kubeflow.org": f"{KUBEFLOW}=xgboostjob-controller",
}
"""Each as its operator's source has it, in the version that docs/kinds.md says was tried."""


def thing(kind: str) -> Obj:
    found = example(kind)
    return {**found, "metadata": {**found["metadata"], "name": "thing"}}


@pytest.mark.parametrize("name", [name for name in NAMES if name != "Pod"])
def test_an_operator_labels_the_pods_of_a_mirror(name: str) -> None:
    mirror = thing(name)

    assert ADAPTERS[name].own_pods(mirror) == (Selection(labels=OWN_PODS[name]),)


def test_a_ray_job_has_pods_of_a_cluster_too_once_it_says_which() -> None:
    mirror = {**thing("RayJob.ray.io"), "status": {"rayClusterName": "thing-x7"}}

    assert [each.labels for each in ADAPTERS["RayJob.ray.io"].own_pods(mirror)] == [
        "batch.kubernetes.io/job-name=thing",
        "ray.io/cluster=thing-x7",
    ]


def test_a_pod_is_its_own_and_a_job_is_named_by_its_pods() -> None:
    obj = thing("Pod")

    assert ADAPTERS["Pod"].own_pods(obj) == (Selection(fields="metadata.name=thing"),)
    assert DelegatedJob(Context(frozenset())).own_pods(obj) == (
        Selection(labels="batch.kubernetes.io/job-name=thing"),
    )


def test_of_a_declared_kind_without_a_label_nobody_knows() -> None:
    without = {key: value for key, value in DECLARED[0].items() if key != "podLabel"}
    adapter = make(CONTEXT, rows([without]))["Simulation.example.com"]

    assert adapter.own_pods(example("Simulation.example.com")) == ()
