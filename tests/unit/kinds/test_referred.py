import pytest

from jobferry.errors import BadInput
from jobferry.kinds import references, referred
from jobferry.kinds.references import Reference
from tests.workloads.examples import ADAPTERS


def kinds(text: str, *names: str) -> list[str]:
    found = referred.find(text, [ADAPTERS[name].resource for name in names])
    return [each.kind for each in found]


def test_what_pods_refer_to_is_where_every_cluster_has_it() -> None:
    found = referred.resource(references.priority_class("urgent"))

    assert found is not None
    assert (str(found), found.namespaced) == ("priorityclasses.scheduling.k8s.io", False)


def test_what_is_in_a_namespace_by_its_reference_is_there_too() -> None:
    named = [
        references.config_map("a"),
        references.secret("a"),
        references.service_account("a"),
        references.claim("a"),
        references.storage_class("a"),
        references.priority_class("a"),
        Reference("node.k8s.io", "RuntimeClass", "a", is_namespaced=False),
        Reference("trainer.kubeflow.org", "ClusterTrainingRuntime", "a", is_namespaced=False),
        Reference("trainer.kubeflow.org", "TrainingRuntime", "a"),
    ]
    for each in named:
        found = referred.resource(each)
        assert found is not None
        assert found.namespaced is each.is_namespaced


def test_what_others_may_call_anything_is_not_looked_for() -> None:
    assert referred.resource(Reference("../../api", "Secret", "a")) is None


def test_most_are_all_but_secrets() -> None:
    every, most = kinds("all"), kinds("most")

    assert {*every} - {*most} == {"Secret"}
    assert most[0] == "ConfigMap"


def test_runtimes_and_pipelines_are_for_those_who_have_the_kinds_that_refer_to_them() -> None:
    assert "Pipeline" not in kinds("all")
    assert {*kinds("all", "TrainJob.trainer.kubeflow.org")} - {*kinds("all")} == {
        "TrainingRuntime",
        "ClusterTrainingRuntime",
    }
    assert {"Pipeline", "Task", "StepAction"} < {*kinds("most", "TaskRun.tekton.dev")}


def test_kinds_are_named_as_people_name_them() -> None:
    assert kinds("configmaps,Secret,pipelines.tekton.dev") == [
        "ConfigMap",
        "Secret",
        "Pipeline",
    ]
    with pytest.raises(BadInput, match="there is no kind 'Boat'"):
        kinds("Boat")


def test_an_app_wrapper_looks_up_what_any_of_those_does_that_it_may_wrap() -> None:
    wrapper = ADAPTERS["AppWrapper.workload.codeflare.dev"]

    assert {each.kind for each in wrapper.looks_up} == {
        "TrainingRuntime",
        "ClusterTrainingRuntime",
        "Pipeline",
        "Task",
    }
    assert ADAPTERS["JobSet.jobset.x-k8s.io"].looks_up == ()
