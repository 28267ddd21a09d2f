"""What workloads of every kind need, as far as it can be known."""

from typing import Any

import pytest

from jobferry.kinds.adapter import Adapter
from jobferry.objects import Obj
from jobferry.objects.demand import MOST
from jobferry.objects.quantities import parse
from tests.workloads.examples import ADAPTERS, NAMES, example

TRAIN_JOB = "TrainJob.trainer.kubeflow.org"
PIPELINE_RUN = "PipelineRun.tekton.dev"
TASK_RUN = "TaskRun.tekton.dev"
APP_WRAPPER = "AppWrapper.workload.codeflare.dev"
RAY_JOB = "RayJob.ray.io"
RAY_CLUSTER = "RayCluster.ray.io"


def needs(name: str, hub: Obj, adapter: Adapter | None = None) -> dict[str, str]:
    """Return the demand of a workload, as people write it."""
    found = (adapter or ADAPTERS[name]).demand(hub)
    return {each: str(amount) for each, amount in found.items()}


def written(**amounts: str) -> dict[str, str]:
    return {name: str(parse(amount)) for name, amount in amounts.items()}


def pod(cpu: str, **more: Any) -> Obj:
    return {
        "spec": {
            "containers": [{"name": "main", "resources": {"requests": {"cpu": cpu}}}],
            **more,
        }
    }


@pytest.mark.parametrize(
    ("name", "amounts"),
    [
        ("JobSet.jobset.x-k8s.io", {"cpu": "800m", "memory": "512Mi"}),
        (TRAIN_JOB, {"cpu": "8", "memory": "16Gi"}),
        # The head, two workers, and the pod that submits.
        (RAY_JOB, {"cpu": "5500m", "memory": "10440Mi"}),
        (RAY_CLUSTER, {"cpu": "5", "memory": "10Gi"}),
        (APP_WRAPPER, {"cpu": "200m"}),
        # What runs after `compile` is the widest.
        (PIPELINE_RUN, {"cpu": "2500m", "memory": "256Mi"}),
        (TASK_RUN, {"cpu": "500m", "memory": "128Mi"}),
        ("MPIJob.kubeflow.org", {"cpu": "2100m"}),
        ("PyTorchJob.kubeflow.org", {"cpu": "7"}),
        ("TFJob.kubeflow.org", {"cpu": "2"}),
        ("XGBoostJob.kubeflow.org", {"cpu": "3"}),
        ("PaddleJob.kubeflow.org", {"cpu": "2"}),
        ("JAXJob.kubeflow.org", {"cpu": "2"}),
        ("Pod", {"cpu": "100m"}),
        ("Simulation.example.com", {"cpu": "3"}),
    ],
)
def test_the_demand_of_an_example(name: str, amounts: dict[str, str]) -> None:
    hub = example(name)

    assert needs(name, hub) == written(**amounts)
    unknown = ADAPTERS[name].unknown_demand(hub)
    assert (unknown is None) == (name != TRAIN_JOB)


@pytest.mark.parametrize("name", NAMES)
def test_an_annotation_says_it_for_any_kind(name: str) -> None:
    hub = example(name, annotations={"jobferry.io/demand": '{"cpu": "3", "nvidia.com/gpu": 2}'})

    assert needs(name, hub) == {"cpu": "3", "nvidia.com/gpu": "2"}
    assert ADAPTERS[name].unknown_demand(hub) is None


@pytest.mark.parametrize("text", ["", "3", "[]", "{", '{"cpu": "much"}', '{"cpu": []}'])
def test_an_annotation_that_makes_no_sense_is_said_and_does_not_count(text: str) -> None:
    hub = example("Pod", annotations={"jobferry.io/demand": text})

    assert needs("Pod", hub) == written(cpu="100m")
    assert "jobferry.io/demand" in str(ADAPTERS["Pod"].unknown_demand(hub))


def test_a_replicated_job_runs_no_more_pods_side_by_side_than_it_completes() -> None:
    hub = example("JobSet.jobset.x-k8s.io")
    hub["spec"]["replicatedJobs"] = [
        {
            "name": "a",
            "replicas": 3,
            "template": {"spec": {"template": pod("1"), "parallelism": 5, "completions": 2}},
        },
        {"name": "b", "template": {"spec": {"template": pod("10")}}},
    ]

    assert needs("JobSet.jobset.x-k8s.io", hub) == {"cpu": "16"}


@pytest.mark.parametrize(
    "nonsense", [None, "x", [], 7, {"containers": "x"}, {"containers": [1]}]
)
def test_pods_that_make_no_sense_need_more_than_any_cluster_has(nonsense: Any) -> None:
    hub = example("MPIJob.kubeflow.org")
    hub["spec"]["mpiReplicaSpecs"] = {
        "Launcher": {"template": {"spec": nonsense}},
        "Worker": nonsense,
    }

    found = ADAPTERS["MPIJob.kubeflow.org"].demand(hub)

    assert found in ({}, {"cpu": MOST})
    assert ADAPTERS["MPIJob.kubeflow.org"].references(hub) == []
    assert ADAPTERS["MPIJob.kubeflow.org"].priority_class(hub) == ""


def test_nobody_makes_room_for_others_by_asking_for_less_than_nothing() -> None:
    hub = example("JAXJob.kubeflow.org")
    workers = hub["spec"]["jaxReplicaSpecs"]
    workers["Other"] = {"template": pod("-7")}

    assert needs("JAXJob.kubeflow.org", hub) == {"cpu": "2"}
    stated = example("Pod", annotations={"jobferry.io/demand": '{"cpu": "-1"}'})
    assert needs("Pod", stated) == written(cpu="100m")


@pytest.mark.parametrize("replicas", ["many", None, -3, 2.5])
def test_numbers_that_make_no_sense_count_as_one_or_none(replicas: Any) -> None:
    hub = example("Simulation.example.com")
    hub["spec"]["parts"]["sea"]["copies"] = replicas

    assert needs("Simulation.example.com", hub) == {"cpu": "0" if replicas == -3 else "1"}


# Ray


def test_an_autoscaler_runs_beside_the_head() -> None:
    hub = example(RAY_CLUSTER)
    hub["spec"]["enableInTreeAutoscaling"] = True

    assert needs(RAY_CLUSTER, hub) == written(cpu="5500m", memory="10752Mi")

    hub["spec"]["autoscalerOptions"] = {"resources": {"requests": {"cpu": "1"}}}
    assert needs(RAY_CLUSTER, hub) == written(cpu="6", memory="10Gi")


def test_a_group_has_so_many_hosts_for_each_replica() -> None:
    hub = example(RAY_CLUSTER)
    hub["spec"]["workerGroupSpecs"][0] |= {"numOfHosts": 3}

    assert needs(RAY_CLUSTER, hub)["cpu"] == "13"


def test_what_clears_redis_runs_after_the_head() -> None:
    hub = example(RAY_CLUSTER)
    hub["spec"]["workerGroupSpecs"] = []
    hub["spec"]["gcsFaultToleranceOptions"] = {"redisAddress": "redis:6379"}
    assert needs(RAY_CLUSTER, hub) == written(cpu="1", memory="2Gi")

    hub["spec"]["headGroupSpec"]["template"] = pod("100m")
    assert needs(RAY_CLUSTER, hub) == written(cpu="200m", memory="256Mi")


@pytest.mark.parametrize(
    ("mode", "cpu"),
    [
        ("K8sJobMode", "5500m"),
        ("SidecarMode", "5500m"),
        ("HTTPMode", "5"),
        ("InteractiveMode", "5"),
    ],
)
def test_who_submits_a_ray_job_depends_on_its_mode(mode: str, cpu: str) -> None:
    hub = example(RAY_JOB)
    hub["spec"]["submissionMode"] = mode

    assert needs(RAY_JOB, hub)["cpu"] == str(parse(cpu))


def test_who_submits_a_ray_job_may_be_given() -> None:
    hub = example(RAY_JOB)
    hub["spec"]["submitterPodTemplate"] = pod("2")

    assert needs(RAY_JOB, hub)["cpu"] == "7"


# AppWrappers


def test_what_is_wrapped_is_counted_by_its_kind_or_as_it_is_declared() -> None:
    hub = example(APP_WRAPPER)
    job_set = example("JobSet.jobset.x-k8s.io")
    odd = {
        "apiVersion": "example.com/v7",
        "kind": "Odd",
        "spec": {"parts": [{"pods": pod("3")}]},
    }
    hub["spec"]["components"] = [
        {"template": job_set},
        {"template": {"apiVersion": "v1", "kind": "Pod", **pod("1")}},
        {
            "template": {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "spec": {"replicas": 2, "template": pod("1")},
            }
        },
        {"template": odd, "podSets": [{"replicas": 2, "path": "template.spec.parts[0].pods"}]},
    ]

    assert needs(APP_WRAPPER, hub)["cpu"] == str(parse("9800m"))
    assert ADAPTERS[APP_WRAPPER].unknown_demand(hub) is None


def test_what_is_wrapped_and_not_known_is_named() -> None:
    hub = example(APP_WRAPPER)
    hub["spec"]["components"].append(
        {"template": {"apiVersion": "example.com/v1", "kind": "Odd"}}
    )

    assert ADAPTERS[APP_WRAPPER].unknown_demand(hub) == (
        "spec.components[2], a Odd.example.com, declares no podSets"
    )


@pytest.mark.parametrize(
    "path", ["", "template", "template.spec[0]", "a..b", "template.spec.parts[9].pods", "[1]"]
)
def test_a_pod_set_that_is_nowhere_counts_nothing(path: str) -> None:
    hub = example(APP_WRAPPER)
    hub["spec"]["components"] = [{"template": {"kind": "Odd"}, "podSets": [{"path": path}]}]

    assert ADAPTERS[APP_WRAPPER].demand(hub) == {}
