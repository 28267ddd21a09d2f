import os
import shutil
import subprocess
from pathlib import Path

import pytest

from jobferry.objects import merge_keys
from jobferry.objects.patch_errors import Malformed

ROOT = Path(__file__).parents[3]


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


@pytest.mark.kube
@pytest.mark.timeout(600)
def test_the_table_is_what_the_tool_makes(tmp_path: Path) -> None:
    go, tool = shutil.which("go"), ROOT / "tools" / "tables"
    if go is None or subprocess.run([go, "mod", "download"], cwd=tool, check=False).returncode:
        pytest.skip("needs Go and the modules that tools/tables names")
    # The flags with which `make kube` builds, so that what it has compiled is used.
    subprocess.run(
        [go, "run", "-trimpath", ".", tmp_path],
        cwd=tool,
        env={**os.environ, "CGO_ENABLED": "0"},
        check=True,
    )

    made = (tmp_path / "merge_keys.json").read_bytes()
    assert made == Path(merge_keys.__file__).with_suffix(".json").read_bytes()
