"""All kinds, how they are delegated, and what the shell is told of each."""

import pytest

from jobferry.kinds import registry
from jobferry.kinds.adapter import MULTIKUEUE, Context
from tests.workloads.examples import ADAPTERS, NAMES, NOW, PAGE, example

OURS = frozenset({"jobferry.io/dispatcher", "example.com/second"})
CLOSED = {
    "JAXJob.kubeflow.org",
    "PaddleJob.kubeflow.org",
    "PyTorchJob.kubeflow.org",
    "RayCluster.ray.io",
    "RayJob.ray.io",
    "TFJob.kubeflow.org",
    "TrainJob.trainer.kubeflow.org",
    "XGBoostJob.kubeflow.org",
}


def test_kinds_with_a_closed_list_are_claimed_by_a_borrowed_name_only_where_that_is_switched_on() -> (
    None
):
    alone = registry.make(Context(OURS))
    borrowing = registry.make(Context(OURS, frozenset({MULTIKUEUE})))

    assert {name for name, each in alone.items() if each.accepts is not None} == CLOSED
    for name in CLOSED:
        assert MULTIKUEUE not in alone[name].claims
        assert MULTIKUEUE in borrowing[name].claims
        assert alone[name].accepts == frozenset({alone[name].own_controller, MULTIKUEUE})
    for name in set(alone) - CLOSED:
        assert alone[name].claims == borrowing[name].claims == OURS


@pytest.mark.parametrize("name", NAMES)
def test_a_kind_says_where_it_names_who_runs_it(name: str) -> None:
    adapter, hub = ADAPTERS[name], example(name)
    value = hub
    for step in adapter.managed_by_path:
        value = value[step]

    assert adapter.managed_by(hub) in str(value)
    assert adapter.name == name
    nobody = {**hub, "spec": {}}
    assert adapter.managed_by(nobody) == ""


@pytest.mark.parametrize("name", NAMES)
def test_the_members_that_tell_an_end_are_enough_to_tell_it(name: str) -> None:
    adapter = ADAPTERS[name]
    hub = example(name)
    report = adapter.fail(hub, "NoWorker", "None", NOW)
    assert report is not None
    status = report.patch["status"]

    kept = {path[1]: status[path[1]] for path in adapter.end_members if path[1] in status}

    assert all(path[0] == "status" and len(path) == 2 for path in adapter.end_members)
    assert adapter.finish({**hub, "status": kept}) == "Failed"


def test_a_gate_of_somebody_else_holds_a_pod() -> None:
    pod = example("Pod")
    pod["spec"]["schedulingGates"].insert(0, {"name": "kueue.x-k8s.io/admission"})

    assert ADAPTERS["Pod"].managed_by(pod) == "jobferry.io/dispatcher"
    assert ADAPTERS["Pod"].is_suspended(pod)
    pod["spec"]["schedulingGates"] = [{"name": "kueue.x-k8s.io/admission"}]
    assert ADAPTERS["Pod"].managed_by(pod) == "kueue.x-k8s.io/admission"


def test_a_ttl_is_ours_where_nobody_else_would_apply_it() -> None:
    owing = {name for name in NAMES if ADAPTERS[name].owes_ttl}

    assert owing == CLOSED - {
        "RayCluster.ray.io",
        "RayJob.ray.io",
        "TrainJob.trainer.kubeflow.org",
    } | {
        "JobSet.jobset.x-k8s.io",
        "Simulation.example.com",
    }
    assert ADAPTERS["JobSet.jobset.x-k8s.io"].ttl(example("JobSet.jobset.x-k8s.io")) == 3600
    assert ADAPTERS["RayJob.ray.io"].ttl(example("RayJob.ray.io")) is None
    assert ADAPTERS["TFJob.kubeflow.org"].ttl(example("TFJob.kubeflow.org")) is None
    nonsense = example("JobSet.jobset.x-k8s.io")
    nonsense["spec"]["ttlSecondsAfterFinished"] = -1
    assert ADAPTERS["JobSet.jobset.x-k8s.io"].ttl(nonsense) is None


def test_kinds_whose_operator_would_run_them_as_well_have_a_caution() -> None:
    cautions = {name: ADAPTERS[name].caution for name in NAMES if ADAPTERS[name].caution}

    assert cautions.keys() == {"JAXJob.kubeflow.org", "TrainJob.trainer.kubeflow.org"}
    assert "2.3.0" in cautions["TrainJob.trainer.kubeflow.org"]
    assert "1.9" in cautions["JAXJob.kubeflow.org"]


def test_a_ray_job_that_selects_a_cluster_is_refused() -> None:
    hub = example("RayJob.ray.io")
    assert ADAPTERS["RayJob.ray.io"].refusal(hub) is None

    hub["spec"]["clusterSelector"] = {"ray.io/cluster": "there"}

    assert "clusterSelector" in str(ADAPTERS["RayJob.ray.io"].refusal(hub))
    assert ADAPTERS["RayJob.ray.io"].stop(hub) is None
    assert all(ADAPTERS[name].refusal(example(name)) is None for name in NAMES)


def test_services_are_refused_and_the_page_says_so() -> None:
    text = PAGE.read_text()

    for name in registry.REFUSED:
        assert name not in ADAPTERS
        assert name.partition(".")[0] in text


def test_the_page_names_every_kind_with_its_version() -> None:
    text = PAGE.read_text()

    for name, adapter in ADAPTERS.items():
        if "example" not in name:
            assert f"[{adapter.resource.kind}](#{adapter.resource.kind.lower()})" in text
            assert f"apiVersion: {adapter.resource.api_version}\n" in text


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("PyTorchJob.kubeflow.org", "schedulingPolicy"),
        ("MPIJob.kubeflow.org", "schedulingPolicy"),
    ],
)
def test_the_priority_class_of_a_policy_counts_more_than_those_of_pods(
    name: str, path: str
) -> None:
    hub = example(name)
    replicas = next(value for key, value in hub["spec"].items() if key.endswith("ReplicaSpecs"))
    replicas["Worker"]["template"]["spec"]["priorityClassName"] = "low"
    assert ADAPTERS[name].priority_class(hub) == "low"

    hub["spec"]["runPolicy"][path] = {"priorityClass": "high"}

    assert ADAPTERS[name].priority_class(hub) == "high"
    assert [str(each) for each in ADAPTERS[name].references(hub)] == [
        "PriorityClass.scheduling.k8s.io low",
        "PriorityClass.scheduling.k8s.io high",
    ]
