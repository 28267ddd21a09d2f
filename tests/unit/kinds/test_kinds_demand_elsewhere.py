"""What workloads need whose pods are described elsewhere: in runtimes, Pipelines and Tasks."""

import copy
from typing import Any

import pytest

from jobferry.kinds import registry
from jobferry.kinds.adapter import Adapter, Context
from jobferry.kinds.references import Reference
from jobferry.objects import Obj
from tests.unit.kinds.test_kinds_demand import PIPELINE_RUN, TASK_RUN, TRAIN_JOB, needs, written
from tests.workloads.examples import ADAPTERS, CONTEXT, example

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
        heavy={"kind": "Task", "spec": task("3")},
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


# Wrapped


def wrapped(*templates: Obj) -> Obj:
    hub = example("AppWrapper.workload.codeflare.dev")
    hub["spec"]["components"] = [{"template": each} for each in templates]
    return hub


def test_what_is_wrapped_finds_what_it_refers_to_where_the_wrapper_is() -> None:
    looked_for = []

    def lookup(namespace: str, reference: Reference) -> Obj | None:
        looked_for.append((namespace, reference.name))
        return runtime([job("node", "1", "trainer")])

    adapters = registry.make(Context(CONTEXT.claims, CONTEXT.borrowed, lookup))
    wrapper = adapters["AppWrapper.workload.codeflare.dev"]
    inner = example(TRAIN_JOB)
    del inner["metadata"]

    assert needs(wrapper.name, wrapped(inner), wrapper)["cpu"] == "8"
    assert {*looked_for} == {("team", "torch-distributed")}
    assert wrapper.unknown_demand(wrapped(inner)) is None


def test_a_wrapper_says_that_it_does_not_know_what_is_wrapped_needs() -> None:
    wrapper = ADAPTERS["AppWrapper.workload.codeflare.dev"]

    said = wrapper.unknown_demand(wrapped(example(TRAIN_JOB)))

    assert said is not None
    assert said.startswith("spec.components[0], a TrainJob.trainer.kubeflow.org: its Cluster")
