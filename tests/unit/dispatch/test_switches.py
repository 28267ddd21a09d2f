import re

import pytest

from jobferry.dispatch import switches
from jobferry.errors import BadInput
from jobferry.kinds import registry
from jobferry.settings import Settings, every, load
from tests.workloads.examples import DECLARED

CLOSED = {"RayJob.ray.io", "TrainJob.trainer.kubeflow.org", "PyTorchJob.kubeflow.org"}
OPEN = {"Job.batch", "JobSet.jobset.x-k8s.io", "PipelineRun.tekton.dev"}


def names(settings: Settings) -> set[str]:
    return {each.name for each in switches.switched_on(settings)}


def test_jobs_and_all_that_take_our_name_are_on() -> None:
    found = names(Settings())

    assert found >= OPEN
    assert not found & CLOSED
    assert "Pod" not in found  # that would be a watch of all pods of the hub
    assert next(iter(switches.known(Settings()))) == "Job.batch"


def test_with_the_name_of_multikueue_the_others_are_on_too() -> None:
    assert names(Settings(claim_multikueue=True)) >= OPEN | CLOSED
    both = ("jobferry.io/dispatcher", "kueue.x-k8s.io/multikueue")
    assert names(Settings(managed_by=both)) >= OPEN | CLOSED


def test_those_that_are_named_are_on_and_no_others() -> None:
    wanted = ("jobsets", "JobSet", "pipelinerun.TEKTON.dev", "Pod", "rayjobs.ray.io")

    assert names(Settings(kinds=wanted)) == {
        "JobSet.jobset.x-k8s.io",
        "PipelineRun.tekton.dev",
        "Pod",
        "RayJob.ray.io",
    }


def test_declared_kinds_are_on_as_others_are() -> None:
    declared = Settings(custom_kinds=tuple(DECLARED))

    assert "Simulation.example.com" in names(declared)
    assert "Simulation.example.com" not in names(Settings())


def test_the_form_that_is_shown_for_the_environment_declares_a_kind() -> None:
    (doc,) = (each.doc for each in every() if each.key == "customKinds")
    shown = re.search(r"`(JOBFERRY_CUSTOM_KINDS)='(.*)'`", doc)
    assert shown is not None

    found = load(environ={shown[1]: shown[2]})

    assert "Simulation.example.com" in names(found)


@pytest.mark.parametrize(
    ("kinds", "complaint", "hint"),
    [
        (("JobSett",), "there is no kind JobSett", "Is JobSet meant?"),
        (("Nonsense",), "there is no kind Nonsense", "`jobferry kinds` lists those"),
        (("Nonsense",), "there is no kind Nonsense", "JOBFERRY_CUSTOM_KINDS"),
        (("Deployment",), "Deployment.apps is not dispatched: it serves", ""),
    ],
)
def test_what_cannot_be_switched_on_is_told(
    kinds: tuple[str, ...], complaint: str, hint: str
) -> None:
    with pytest.raises(BadInput, match=complaint) as caught:
        switches.switched_on(Settings(kinds=kinds))

    assert hint in (caught.value.hint or "")


@pytest.mark.parametrize("kind", registry.REFUSED)
def test_services_are_refused(kind: str) -> None:
    with pytest.raises(BadInput, match="is not dispatched"):
        switches.switched_on(Settings(kinds=(kind,)))


def test_a_name_that_two_kinds_have_is_told() -> None:
    says = {"success": {"condition": "Done"}, "failure": {"condition": "Broken"}}
    twin = {"apiVersion": "example.com/v1", "kind": "JobSet", **says}

    with pytest.raises(BadInput, match="JobSet may be any of"):
        switches.switched_on(Settings(kinds=("JobSet",), custom_kinds=(twin,)))
