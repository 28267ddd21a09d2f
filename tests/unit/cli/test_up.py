from pathlib import Path

import pytest
import yaml

from jobferry.cli import up
from jobferry.errors import BadInput
from jobferry.local.layout import AlreadyRunning, Layout


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


@pytest.mark.parametrize("images", [[], ["host", "python:*=venv:/srv/py"], ["python:*=engine"]])
def test_what_to_try_fits_a_terminal_and_runs(images: list[str]) -> None:
    said = up.ready(Layout(Path("/home/me/.local/state/jobferry")), ["east", "west"], images)

    assert all(len(line) <= 85 for line in said.splitlines())
    tries = said[said.index("Try, in another terminal") :]
    assert "export KUBECONFIG=/home/me/.local/state/jobferry/kubeconfig\n" in tries
    assert all(f"jobferry {each} " in tries for each in ("jobs", "why", "logs"))
    assert ("hello.yaml" in tries) == up.runs_any(images)


def test_a_fleet_that_runs_is_told_of_before_another_is_said_to_start(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Layout(tmp_path).owned(), pytest.raises(AlreadyRunning):
        up.main(["--data", str(tmp_path)])

    assert capsys.readouterr().out == ""
