import pytest
import yaml

from jobferry.cli import up
from jobferry.errors import BadInput


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("1", ["worker-1"]),
        ("3", ["worker-1", "worker-2", "worker-3"]),
        ("east", ["east"]),
        ("east,west-2", ["east", "west-2"]),
    ],
)
def test_workers_are_given_by_number_or_by_name(text: str, names: list[str]) -> None:
    assert up.workers(text) == names


@pytest.mark.parametrize(
    "text", ["", "0", "51", "hub", "a,a", "A", "-a", "a,", "a b", "../a", "x" * 64]
)
def test_what_cannot_be_workers_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="--workers"):
        up.workers(text)


def test_the_example_that_is_left_for_users_is_a_delegated_job() -> None:
    job = yaml.safe_load(up.EXAMPLE)

    assert job["kind"] == "Job"
    assert job["spec"]["managedBy"] == "jobferry.io/dispatcher"
