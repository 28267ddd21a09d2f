"""What workloads of every kind need, as far as it can be known."""

import copy
from typing import Any

import pytest

from jobferry.kinds import registry
from jobferry.kinds.adapter import Adapter, Context
from jobferry.kinds.references import Reference
from jobferry.objects import Obj
from jobferry.objects.demand import MOST
from jobferry.objects.quantities import parse
from tests.workloads.examples import ADAPTERS, CONTEXT, NAMES, example

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


# TrainJobs


def runtime(jobs: list[Obj], **policy: Any) -> Obj:
    return {"spec": {"mlPolicy": policy, "template": {"spec": {"replicatedJobs": jobs}}}}


def job(name: str, cpu: str, step: str = "", **spec: Any) -> Obj:
    labels = {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": step}} if step else {}
    template = {
        "spec": {
            "containers": [
                {"name": "node", "resources": {"requests": {"cpu": cpu, "memory": "1Gi"}}}
            ]
        }
    }
    return {
        "name": name,
        "template": {"metadata": labels, "spec": {"template": template, **spec}},
    }


def with_runtime(found: Obj) -> Adapter:
    """Return the adapter of TrainJobs on a hub that has one runtime."""
    wanted = Reference(
        "trainer.kubeflow.org", "ClusterTrainingRuntime", "torch-distributed", False
    )

    def lookup(namespace: str, reference: Reference) -> Obj | None:
        return found if (namespace, reference) == ("team", wanted) else None

    return registry.make(Context(CONTEXT.claims, CONTEXT.borrowed, lookup))[TRAIN_JOB]


def test_a_train_job_has_the_nodes_it_asks_for_with_the_resources_it_asks_for() -> None:
    adapter = with_runtime(runtime([job("node", "1", "trainer")], numNodes=7, torch={}))
    hub = example(TRAIN_JOB)
    del hub["spec"]["trainer"]["resourcesPerNode"]["requests"]["memory"]

    assert needs(TRAIN_JOB, hub, adapter) == written(cpu="8", memory="2Gi")
    assert adapter.unknown_demand(hub) is None

    del hub["spec"]["trainer"]
    assert needs(TRAIN_JOB, hub, adapter) == written(cpu="7", memory="7Gi")


def test_initializers_run_once_and_others_as_often_as_the_runtime_says() -> None:
    jobs = [
        job("data", "1", "dataset-initializer", parallelism=1) | {"replicas": 9},
        job("node", "1", "trainer"),
        job("other", "1", parallelism=3) | {"replicas": 2},
    ]
    adapter = with_runtime(runtime(jobs, torch={}))

    assert needs(TRAIN_JOB, example(TRAIN_JOB), adapter)["cpu"] == "15"  # 1 + 2 * 4 + 6


@pytest.mark.parametrize(("launcher_is_node", "cpu"), [(False, "7"), (True, "8")])
def test_mpi_counts_its_launcher_as_a_node_or_not(launcher_is_node: bool, cpu: str) -> None:
    jobs = [job("node", "1"), job("launcher", "2", "trainer")]
    policy = {"runLauncherAsNode": launcher_is_node}
    adapter = with_runtime(runtime(jobs, numNodes=3, mpi=policy))
    hub = example(TRAIN_JOB)
    hub["spec"]["trainer"]["numNodes"] = 3 if not launcher_is_node else 2

    # Three nodes of 1 and a launcher of 4; or one node of 4 and a launcher of 4.
    assert needs(TRAIN_JOB, hub, adapter)["cpu"] == cpu


def test_patches_of_a_runtime_count_for_what_it_refers_to() -> None:
    adapter = with_runtime(runtime([job("node", "1", "trainer")]))
    hub = example(TRAIN_JOB)
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": "images"}}
    patched = {
        "name": "node",
        "template": {"spec": {"template": {"spec": {"volumes": [volume]}}}},
    }
    other = {
        "name": "other",
        "template": {"spec": {"template": {"spec": {"serviceAccountName": "x"}}}},
    }
    patch = {
        "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [patched, other]}}}
    }
    hub["spec"]["runtimePatches"] = [{"manager": "me", **patch}]
    hub["spec"]["initializer"] = {"model": {"secretRef": {"name": "token"}}}

    assert [str(each) for each in adapter.references(hub)] == [
        "ClusterTrainingRuntime.trainer.kubeflow.org torch-distributed",
        "Secret token",
        "PersistentVolumeClaim images",
    ]


def test_without_its_runtime_only_what_a_train_job_asks_for_itself_is_known() -> None:
    hub = example(TRAIN_JOB)

    assert needs(TRAIN_JOB, hub) == written(cpu="8", memory="16Gi")
    assert ADAPTERS[TRAIN_JOB].unknown_demand(hub) == (
        "its ClusterTrainingRuntime.trainer.kubeflow.org torch-distributed is not on the hub, or may not be read there"
    )


# Tekton


def with_tekton(**objects: Obj) -> dict[str, Adapter]:
    """Return adapters on a hub that has some Tasks and Pipelines, by their names."""

    def lookup(namespace: str, reference: Reference) -> Obj | None:
        found = objects.get(reference.name)
        return found if found and found["kind"] == reference.kind else None

    return registry.make(Context(CONTEXT.claims, CONTEXT.borrowed, lookup))


def task(cpu: str) -> Obj:
    return {"steps": [{"name": "run", "computeResources": {"requests": {"cpu": cpu}}}]}


def test_a_pipeline_that_is_on_the_hub_is_known_with_its_tasks() -> None:
    tasks = [
        {"name": "a", "taskRef": {"name": "heavy"}},
        {
            "name": "b",
            "params": [{"name": "x", "value": "$(tasks.a.results.y)"}],
            "taskRef": {"name": "light"},
        },
        {
            "name": "c",
            "runAfter": ["b"],
            "matrix": {"params": [{"name": "os", "value": ["x", "y", "z"]}]},
            "taskRef": {"name": "light"},
        },
    ]
    last = [{"name": "z", "taskSpec": task("2500m")}]
    found = with_tekton(
        all={"kind": "Pipeline", "spec": {"tasks": tasks, "finally": last}},
        heavy={"kind": "Task", "spec": task("2")},
        light={"kind": "Task", "spec": task("1")},
    )
    hub = example(PIPELINE_RUN)
    hub["spec"] = {"pipelineRef": {"name": "all"}}
    adapter = found[PIPELINE_RUN]

    assert needs(PIPELINE_RUN, hub, adapter) == {"cpu": "3"}
    assert adapter.unknown_demand(hub) is None
    assert [str(each) for each in adapter.references(hub)] == [
        "Pipeline.tekton.dev all",
        "Task.tekton.dev heavy",
        "Task.tekton.dev light",
    ]


def test_a_pipeline_that_is_not_there_needs_nothing_that_is_known() -> None:
    hub = example(PIPELINE_RUN)
    hub["spec"] = {"pipelineRef": {"name": "all"}}
    by_resolver = copy.deepcopy(hub)
    by_resolver["spec"]["pipelineRef"] = {"resolver": "git"}

    assert ADAPTERS[PIPELINE_RUN].demand(hub) == {}
    assert ADAPTERS[PIPELINE_RUN].unknown_demand(hub) == (
        "what it runs is not on the hub, or may not be read there"
    )
    assert ADAPTERS[PIPELINE_RUN].unknown_demand(by_resolver) == (
        "what it runs is found on the worker, by the resolver git"
    )
    hub["spec"] = {"pipelineSpec": {"tasks": [{"name": "a", "taskRef": {"name": "gone"}}]}}
    assert ADAPTERS[PIPELINE_RUN].unknown_demand(hub) == "the steps of a are not on the hub"


def test_tasks_that_wait_in_a_circle_are_counted_all_the_same() -> None:
    hub = example(PIPELINE_RUN)
    tasks = [
        {"name": "a", "runAfter": ["b"], "taskSpec": task("1")},
        {"name": "b", "runAfter": ["a"], "taskSpec": task("2")},
    ]
    hub["spec"] = {"pipelineSpec": {"tasks": tasks}}

    assert needs(PIPELINE_RUN, hub) == {"cpu": "3"}


def test_a_run_may_say_what_its_tasks_and_steps_need() -> None:
    hub = example(TASK_RUN)
    hub["spec"]["stepSpecs"] = [{"name": "one", "computeResources": {"requests": {"cpu": "3"}}}]
    assert needs(TASK_RUN, hub) == written(cpu="3250m", memory="128Mi")

    hub["spec"]["computeResources"] = {"requests": {"cpu": "1"}}
    assert needs(TASK_RUN, hub) == {"cpu": "1"}

    run = example(PIPELINE_RUN)
    run["spec"]["taskRunSpecs"] = [
        {"pipelineTaskName": "compile", "computeResources": {"requests": {"cpu": "9"}}}
    ]
    assert needs(PIPELINE_RUN, run)["cpu"] == "9"
