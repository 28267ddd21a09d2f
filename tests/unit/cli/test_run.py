import json
from pathlib import Path

import pytest

from jobferry import settings
from jobferry.cli.run import plan
from jobferry.errors import BadInput
from jobferry.settings import DEFAULTS
from tests.unit.cli.conftest import Jobferry


def test_without_options_everything_is_as_usual() -> None:
    found = plan([], {})

    assert found.settings == DEFAULTS
    assert (found.kubeconfig, found.context, found.install_crds) == (None, None, False)
    assert found.workers == {}


def test_options_say_which_hub_and_which_workers() -> None:
    workers = ["--worker", "east=kind-east", "--worker=west.eu=arn:aws:eks/a=b"]

    found = plan(["--kubeconfig", "k", "--context=hub", "--install-crds", *workers], {})

    assert (found.kubeconfig, found.context, found.install_crds) == (Path("k"), "hub", True)
    assert found.workers == {"east": "kind-east", "west.eu": "arn:aws:eks/a=b"}


@pytest.mark.parametrize(
    ("workers", "message"),
    [
        (["east"], "--worker: expected NAME=CONTEXT, found 'east'"),
        (["=east"], "--worker: expected NAME=CONTEXT, found '=east'"),
        (["east="], "--worker: expected NAME=CONTEXT, found 'east='"),
        (["East=x"], "--worker: expected NAME=CONTEXT, found 'East=x'"),
        (["a=x", "a=y"], "--worker: a is there twice"),
    ],
)
def test_a_worker_is_a_name_and_a_context(workers: list[str], message: str) -> None:
    with pytest.raises(BadInput) as caught:
        plan([f"--worker={worker}" for worker in workers], {})

    assert str(caught.value) == message


def test_each_setting_is_an_option() -> None:
    words = [f"{each.flag}={each.shown_default}" for each in settings.every()]

    assert plan(words, {}).settings == DEFAULTS


def test_settings_come_from_options_environment_and_file(tmp_path: Path) -> None:
    file = tmp_path / "jobferry.yaml"
    file.write_text("passes: 1\nrequestsInFlight: 1\nlease: {duration: 60}\n")

    found = plan(
        [f"--config={file}", "--passes=3"],
        {"JOBFERRY_PASSES": "2", "JOBFERRY_REQUESTS_IN_FLIGHT": "2"},
    ).settings

    assert (found.passes, found.requests_in_flight, found.lease.duration) == (3, 2, 60)


def test_the_application_gets_what_was_asked_for(jobferry: Jobferry) -> None:
    app = "def run(settings, **asked): print(settings.passes, sorted(asked.items()))"

    ended = jobferry("run", "--worker=a=b", "--passes=3", app=app)

    asked = [("context", None), ("install_crds", False), ("kubeconfig", None)]
    assert ended.stdout == f"3 {[*asked, ('workers', {'a': 'b'})]}\n"
    assert (ended.returncode, ended.stderr) == (0, "")


def test_the_log_is_written_as_the_settings_say(jobferry: Jobferry) -> None:
    app = "from jobferry import log\ndef run(*_, **__): log.get('x').debug('Hello', worker='east')"

    quiet = jobferry("run", app=app)
    talkative = jobferry("run", "--log-level=debug", "--log-format=json", app=app)

    assert quiet.stderr == ""
    assert json.loads(talkative.stderr)["worker"] == "east"
