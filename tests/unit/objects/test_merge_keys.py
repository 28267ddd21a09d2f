import pytest

from jobferry.objects import merge_keys
from jobferry.objects.patch_errors import Malformed


def test_the_lists_of_a_job_are_found_through_its_pod_template() -> None:
    spec = merge_keys.fields_of("batch/v1", "Job")["spec"].fields["template"].fields["spec"]
    containers = spec.fields["containers"]

    assert (containers.strategy, containers.key) == ("merge", "name")
    assert containers.fields["ports"].key == "containerPort"
    assert "args" not in containers.fields


def test_a_list_of_plain_values_has_no_key() -> None:
    finalizers = merge_keys.fields_of("v1", "ConfigMap")["metadata"].fields["finalizers"]

    assert (finalizers.strategy, finalizers.key) == ("merge", "")


def test_an_object_may_be_replaced_as_a_whole() -> None:
    budget = merge_keys.fields_of("policy/v1", "PodDisruptionBudget")

    assert budget["spec"].fields["selector"].strategy == "replace"


@pytest.mark.parametrize(("api_version", "kind"), [("example.com/v1", "Pod"), ("v1", "Podd")])
def test_only_built_in_kinds_have_a_strategic_merge_patch(api_version: str, kind: str) -> None:
    with pytest.raises(Malformed) as refused:
        merge_keys.fields_of(api_version, kind)

    assert refused.value.answer == "strategic merge patch format is not supported"
