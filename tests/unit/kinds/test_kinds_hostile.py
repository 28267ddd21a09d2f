"""Workloads of tenants who mean ill: whatever is in them, there is an answer, and at once."""

import copy
from typing import Any

import pytest

from jobferry.kinds import declared, registry
from jobferry.kinds.adapter import Context
from jobferry.kinds.references import Reference
from jobferry.objects import Obj
from jobferry.objects.demand import MOST
from tests.unit.kinds.test_kinds_demand import (
    APP_WRAPPER,
    PIPELINE_RUN,
    RAY_CLUSTER,
    TRAIN_JOB,
    needs,
)
from tests.workloads.examples import ADAPTERS, CONTEXT, DECLARED, example, marks_of

SIMULATION = "Simulation.example.com"

MANY = 8_000
"""As many tasks as a PipelineRun has room for, and more than may be compared with one another while others wait."""


def steps(cpu: str) -> Obj:
    return {"steps": [{"name": "one", "computeResources": {"requests": {"cpu": cpu}}}]}


def pipeline_run(tasks: list[Obj], **spec: Any) -> Obj:
    hub = example(PIPELINE_RUN)
    hub["spec"] = {**spec, "pipelineSpec": {"tasks": tasks}}
    return hub


@pytest.mark.timeout(20)
def test_a_row_of_many_tasks_takes_no_longer_than_reading_it() -> None:
    row = [
        {"name": str(number), "taskSpec": steps("1"), "runAfter": [str(number - 1)]}
        for number in range(MANY)
    ]
    special = [
        {"pipelineTaskName": str(number), "computeResources": {"requests": {"cpu": "2"}}}
        for number in range(MANY)
    ]

    assert needs(PIPELINE_RUN, pipeline_run(row, taskRunSpecs=special)) == {"cpu": "2"}
    row[0]["runAfter"] = [str(MANY - 1)]
    assert needs(PIPELINE_RUN, pipeline_run(row)) == {"cpu": str(MANY // 1000) + "k"}


def test_a_matrix_of_more_than_there_are_numbers_asks_for_more_than_there_is() -> None:
    params = [{"name": str(number), "value": ["a"] * 10} for number in range(5_000)]
    hub = pipeline_run(
        [{"name": "a", "taskSpec": steps("1"), "matrix": {"params": params}}],
    )

    assert ADAPTERS[PIPELINE_RUN].demand(hub)["cpu"] >= MOST


WRAPPED: list[tuple[str, Any]] = [
    ("v1/Pod", {}),
    ("v1/Pod", {"spec": []}),
    ("tekton.dev/v1/TaskRun", {}),
    ("tekton.dev/v1/TaskRun", {"metadata": [], "spec": "nonsense"}),
    ("tekton.dev/v1/PipelineRun", {"metadata": None}),
    ("trainer.kubeflow.org/v1alpha1/TrainJob", {}),
    ("trainer.kubeflow.org/v1alpha1/TrainJob", {"spec": {"trainer": {"resourcesPerNode": 7}}}),
    ("ray.io/v1/RayCluster", {"spec": [{"headGroupSpec": 1}]}),
    (
        "ray.io/v1/RayJob",
        {"spec": {"rayClusterSpec": "x", "submitterPodTemplate": {"spec": 7}}},
    ),
    ("jobset.x-k8s.io/v1alpha2/JobSet", {"spec": {"replicatedJobs": {"a": 1}}}),
    ("batch/v1/Job", {"spec": {"parallelism": "many", "template": []}}),
    ("kubeflow.org/v1/PyTorchJob", {"spec": {"pytorchReplicaSpecs": [[1], {"template": 3}]}}),
]


def wrapper(*components: Obj) -> Obj:
    hub = example(APP_WRAPPER)
    hub["spec"]["components"] = list(components)
    return hub


@pytest.mark.parametrize(("kind", "members"), WRAPPED)
def test_whatever_is_wrapped_there_is_an_answer(kind: str, members: Obj) -> None:
    version, _, name = kind.rpartition("/")
    hub = wrapper({"template": {"apiVersion": version, "kind": name, **members}})
    adapter = ADAPTERS[APP_WRAPPER]

    adapter.demand(hub)
    adapter.unknown_demand(hub)
    adapter.references(hub)
    assert adapter.priority_class(hub) == ""
    assert adapter.mirror(hub, marks_of(hub), "")["spec"] == {
        key: value for key, value in hub["spec"].items() if key != "managedBy"
    }


def test_what_is_wrapped_and_makes_no_sense_fits_nowhere() -> None:
    run = {"apiVersion": "tekton.dev/v1", "kind": "TaskRun"}

    assert ADAPTERS[APP_WRAPPER].demand(wrapper({"template": run})) == {"cpu": MOST}


def test_an_entry_of_a_number_that_nobody_can_read_is_not_there() -> None:
    path = f"template.a[{'9' * 5000}]"
    entry = {"template": {"kind": "Odd", "a": [{}]}, "podSets": [{"path": path}]}

    assert ADAPTERS[APP_WRAPPER].demand(wrapper(entry)) == {}


def test_what_is_wrapped_is_looked_for_in_the_namespace_of_what_wraps_it() -> None:
    asked: list[str] = []

    def lookup(namespace: str, reference: Reference) -> Obj | None:
        asked.append(namespace)
        return None

    adapter = registry.make(Context(CONTEXT.claims, CONTEXT.borrowed, lookup))[APP_WRAPPER]
    inner = copy.deepcopy(example(TRAIN_JOB, namespace="of-others"))
    run = {"apiVersion": "tekton.dev/v1", "kind": "PipelineRun"}
    spec = {"spec": {"pipelineRef": {"name": "secret"}}, "metadata": {"namespace": "of-others"}}

    hub = wrapper({"template": inner}, {"template": {**run, **spec}})
    adapter.demand(hub)
    adapter.references(hub)

    assert asked
    assert {*asked} == {hub["metadata"]["namespace"]}


@pytest.mark.parametrize("nonsense", [["a"], {"a": 1}, 7])
def test_a_nested_managed_by_may_be_anything(nonsense: Any) -> None:
    [simulation] = DECLARED
    rows = declared.rows([{**simulation, "nestedManagedBy": ["spec.stages.*.managedBy"]}])
    adapter = registry.make(CONTEXT, rows)[SIMULATION]
    hub = example(SIMULATION)
    ours = {"managedBy": "jobferry.io/dispatcher"}
    hub["spec"]["stages"] = [{"managedBy": nonsense}, ours]

    mirror = adapter.mirror(hub, marks_of(hub), "")

    assert mirror["spec"]["stages"] == [{"managedBy": nonsense}, {}]


@pytest.mark.timeout(20)
def test_a_cluster_of_many_groups_is_mirrored_and_edited_in_one_go() -> None:
    groups = [
        {"groupName": str(number), "minReplicas": 1, "maxReplicas": 2, "numOfHosts": 1}
        for number in range(MANY)
    ]
    hub, adapter = example(RAY_CLUSTER), ADAPTERS[RAY_CLUSTER]
    hub["spec"]["workerGroupSpecs"] = groups

    mirror = adapter.mirror(hub, marks_of(hub), "")
    assert mirror["spec"]["workerGroupSpecs"] == groups

    mirror["metadata"] |= {"generation": 1, "resourceVersion": "1"}
    hub["metadata"]["generation"] = 2
    wanted = [{**each, "maxReplicas": 3} for each in groups]
    hub["spec"]["workerGroupSpecs"] = wanted
    patch = adapter.edits(hub, mirror, "").patch
    assert patch is not None
    assert patch["spec"]["workerGroupSpecs"] == wanted


def test_entries_within_entries_are_forwarded_by_their_names() -> None:
    [simulation] = DECLARED
    forward = ["spec.rooms.name=*.doors.name=*.open", "spec.whole.id=*"]
    rows = declared.rows([{**simulation, "forward": forward}])
    adapter = registry.make(CONTEXT, rows)[SIMULATION]
    hub = example(SIMULATION)
    hub["spec"]["rooms"] = [
        {"name": "a", "doors": [{"name": "x", "open": True}, {"name": "y"}, 7]},
        {"name": "b", "doors": None},
    ]
    hub["spec"]["whole"] = [{"id": "1", "a": 1}, {"id": "2"}]
    mirror = adapter.mirror(hub, marks_of(hub), "")
    mirror["metadata"] |= {"generation": 1, "resourceVersion": "1"}
    now = copy.deepcopy(hub)
    now["metadata"]["generation"] = 2
    now["spec"]["rooms"][0]["doors"][0]["open"] = False
    now["spec"]["whole"][0]["a"] = 2

    edits = adapter.edits(now, mirror, "")

    assert edits.refusals == ()
    assert edits.patch is not None
    assert edits.patch["spec"] == {
        "rooms": now["spec"]["rooms"],
        "whole": now["spec"]["whole"],
    }


def test_what_is_nested_too_deep_to_be_sent_is_refused_with_that_reason() -> None:
    deep: Obj = {}
    for _ in range(300):
        deep = {"in": deep}
    hub = wrapper({"template": {"kind": "Odd", "spec": deep}})

    assert "nested deeper" in (ADAPTERS[APP_WRAPPER].refusal(hub) or "")
    assert ADAPTERS[APP_WRAPPER].refusal(wrapper()) is None
