from pathlib import Path

import pytest

from jobferry.cli.job_controller import Plan, plan
from jobferry.errors import BadInput


def test_a_name_is_enough() -> None:
    asked = plan(["--name", "example.com/mine"])

    assert asked == Plan(
        name="example.com/mine", kubeconfig=None, context=None, log_level="info"
    )


def test_the_cluster_can_be_named() -> None:
    asked = plan(["--name", "a.io/b/c", "--kubeconfig", "k", "--context", "east"])

    assert asked.kubeconfig == Path("k")
    assert asked.context == "east"


@pytest.mark.parametrize(
    "name", ["mine", "", "/x", "a.io/", "A.io/x", "-a/x", "a.io/x y", "a.io/" + "x" * 59]
)
def test_what_cannot_stand_in_a_job_is_refused(name: str) -> None:
    with pytest.raises(BadInput, match="cannot stand in managedBy") as refused:
        plan([f"--name={name}"])

    assert "example.com/mine" in str(refused.value.hint)


def test_the_name_of_the_clusters_own_controller_is_refused() -> None:
    with pytest.raises(BadInput, match="own Job controller"):
        plan(["--name", "kubernetes.io/job-controller"])


def test_a_name_is_asked_for() -> None:
    with pytest.raises(BadInput, match="--name"):
        plan([])
