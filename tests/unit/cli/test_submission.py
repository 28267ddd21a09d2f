from typing import Any

import pytest

from jobferry.cli import submission, submit, waiting
from jobferry.cli.submission import Submission
from jobferry.errors import BadInput
from jobferry.objects import Obj
from tests.unit.cli.hub_objects import job as hub_job
from tests.unit.cli.hub_objects import placed


def wanted(*options: str, program: tuple[str, ...] = ("python", "work.py")) -> Obj:
    return submission.job(submit.wanted(submit.parser().parse_args(options), program))


def test_a_program_alone_is_a_delegated_job() -> None:
    made = wanted()

    assert made == {
        "metadata": {"generateName": "python-"},
        "spec": {
            "managedBy": "jobferry.io/dispatcher",
            "template": {
                "spec": {
                    "restartPolicy": "Never",
                    "containers": [
                        {"name": "main", "image": "python:3", "command": ["python", "work.py"]}
                    ],
                }
            },
        },
    }


def test_every_option_finds_its_place() -> None:
    numbers = ("--completions=10", "--parallelism=3", "--backoff-limit=0", "--indexed")
    pod = ("--image=i:1", "--cpu=500m", "--memory=1Gi", "--env=A=b=c", "--env=D=")

    made = wanted("--name=sweep", "--queue=gpu", *numbers, *pod)

    assert made["metadata"] == {"name": "sweep", "labels": {"jobferry.io/queue": "gpu"}}
    spec = made["spec"]
    assert (spec["completions"], spec["parallelism"], spec["backoffLimit"]) == (10, 3, 0)
    assert spec["completionMode"] == "Indexed"
    (container,) = spec["template"]["spec"]["containers"]
    assert container["image"] == "i:1"
    assert container["resources"] == {"requests": {"cpu": "500m", "memory": "1Gi"}}
    assert container["env"] == [{"name": "A", "value": "b=c"}, {"name": "D", "value": ""}]


def test_a_variable_without_a_value_is_what_it_is_here() -> None:
    assert submission.variables(["HOME"], {"HOME": "/h"}) == {"HOME": "/h"}


@pytest.mark.parametrize(
    ("program", "start"),
    [("/usr/bin/Python3.11", "python3-11-"), ("./..", "job-"), ("x" * 80, "x" * 57 + "-")],
)
def test_a_name_is_made_from_the_programs(program: str, start: str) -> None:
    assert wanted(program=(program,))["metadata"]["generateName"] == start


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--name=Sweep"], "--name: 'Sweep' cannot be the name of a Job"),
        (["--name=" + "x" * 64], "cannot be the name of a Job"),
        (["--cpu=much"], "--cpu: cannot parse 'much'"),
        (["--memory=-1Gi"], "--memory: expected more than nothing"),
        (["--cpu=0"], "--cpu: expected more than nothing"),
        (["--env=1A=x"], "--env: expected NAME=VALUE, found '1A=x'"),
        (["--env=NOT_SET_HERE_AT_ALL"], "--env: NOT_SET_HERE_AT_ALL is not set here"),
        (["--indexed"], "--indexed needs --completions"),
        (["--completions=0"], "expected 1 or more, found 0"),
        (["--parallelism=two"], "expected a whole number, found 'two'"),
        (["--queue=a b"], "--queue: 'a b' cannot be the name of a Queue"),
    ],
)
def test_what_makes_no_sense_is_refused(options: list[str], message: str) -> None:
    with pytest.raises(BadInput) as caught:
        wanted(*options)

    assert message in str(caught.value)


def test_a_program_is_asked_for() -> None:
    with pytest.raises(BadInput, match="no program to run") as caught:
        submission.job(Submission(program=(), manager="m", image="i"))

    assert "-- python work.py" in (caught.value.hint or "")


@pytest.mark.parametrize(("text", "seconds"), [("90", 90), ("1m30s", 90), ("500ms", 0.5)])
def test_a_limit_is_seconds_or_what_go_writes(text: str, seconds: float) -> None:
    assert waiting.limit(text) == seconds
    assert waiting.limit(None) is None


@pytest.mark.parametrize("text", ["soon", "0", "-1s", "1", ""])
def test_what_is_no_limit_is_refused(text: str) -> None:
    if text == "1":
        assert waiting.limit(text) == 1
        return
    with pytest.raises(BadInput, match="--timeout"):
        waiting.limit(text)


@pytest.mark.parametrize(
    ("status", "words"),
    [
        ({"active": 1}, "train runs on east"),
        ({}, "train is placed on east"),
        ({"succeeded": 1, "end": "Complete"}, "train is complete on east: 1/1"),
        ({"end": "Failed"}, "train has failed on east: no reason given"),
    ],
)
def test_it_is_told_how_far_a_job_got(status: Any, words: str) -> None:
    seen = placed(hub_job(), "east")
    if type := status.pop("end", None):
        seen["status"]["conditions"].append({"type": type, "status": "True"})
    seen["status"] |= status

    assert waiting.sentence(seen) == words


def test_what_has_ended_waits_for_nothing_more() -> None:
    failed = hub_job(status={"conditions": [{"type": "Failed", "status": "True"}]})

    assert all(goal.holds(failed) for goal in waiting.GOALS.values())
    assert not any(goal.holds(hub_job()) for goal in waiting.GOALS.values())
