import subprocess
import sys
from pathlib import Path

import pytest

from jobferry import __version__
from jobferry.cli.main import COMMANDS, main
from tests.unit.cli.conftest import Jobferry

FAILING = "def run(*_, **__): raise "


def test_help_names_each_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["--help"])

    assert end.value.code == 0
    shown = capsys.readouterr().out
    for command, summary in COMMANDS.items():
        assert f"  {command:<16}{summary}\n" in shown


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_explains_itself(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main([command, "--help"])

    assert end.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: jobferry {command} ")


def test_options_before_the_command_are_told_to_come_after(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--context", "hub", "jobs"]) == 2

    said, hint = capsys.readouterr().err.splitlines()
    assert said == "jobferry: options come after the command: --context comes before jobs"
    assert hint == "hint: As in `jobferry jobs --context ...`."


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["--version"])

    assert end.value.code == 0
    assert capsys.readouterr().out == f"jobferry {__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        ([], "jobferry"),
        (["--"], "jobferry"),
        (["--fast"], "jobferry"),
        (["sail"], "jobferry"),
        (["manifests"], "jobferry manifests"),
        (["manifests", "everything"], "jobferry manifests"),
        (["run", "--fast"], "jobferry run"),
        (["run", "--kubeconf", "x"], "jobferry run"),
        (["run", "now"], "jobferry run"),
    ],
)
def test_wrong_arguments_are_one_line_and_a_hint(
    arguments: list[str], command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2

    shown = capsys.readouterr()
    problem, hint = shown.err.splitlines()
    assert problem.startswith("jobferry: ")
    assert hint == f"hint: `{command} --help` says what there is."
    assert shown.out == ""


@pytest.mark.parametrize(
    ("error", "code", "shown"),
    [
        ("errors.BadInput('no', hint='Try.')", 2, "jobferry: no\nhint: Try.\n"),
        ("errors.Transient('not now')", 1, "jobferry: not now\n"),
        ("errors.Error('a\\n  b')", 1, "jobferry: a b\n"),
        ("OSError(28, 'No space')", 1, "jobferry: [Errno 28] No space\n"),
        ("KeyboardInterrupt", 130, ""),
    ],
)
def test_what_goes_wrong_is_told_without_a_traceback(
    jobferry: Jobferry, error: str, code: int, shown: str
) -> None:
    ended = jobferry("run", app=f"from jobferry import errors\n{FAILING}{error}")

    assert (ended.returncode, ended.stderr, ended.stdout) == (code, shown, "")


def test_a_bug_is_one_line_too_and_its_place_is_in_the_debug_log(jobferry: Jobferry) -> None:
    app = f"{FAILING}KeyError('spec')"

    brief = jobferry("run", app=app)
    long = jobferry("run", "--log-level", "debug", app=app)

    assert brief.returncode == long.returncode == 1
    assert brief.stderr.startswith(
        "jobferry: unexpected KeyError: 'spec'\nhint: This is a bug."
    )
    assert brief.stderr.count("\n") == 2
    assert "Traceback (most recent call last)" in long.stderr


def test_a_reader_that_has_seen_enough_is_no_error() -> None:
    command = f"{sys.executable} -m jobferry manifests crds | head -n 1"

    ended = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)

    assert (ended.stdout, ended.stderr) == ("apiVersion: apiextensions.k8s.io/v1\n", "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")
def test_output_that_cannot_be_written_is_told() -> None:
    command = f"{sys.executable} -m jobferry manifests crds > /dev/full"

    ended = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)

    assert ended.returncode == 1
    assert ended.stderr == "jobferry: [Errno 28] No space left on device\n"


def test_help_loads_nothing_that_takes_long() -> None:
    code = "import sys; from jobferry.cli.main import main\ntry: main(['--help'])\n"
    code += "except SystemExit: print(*sys.modules, sep='\\n')"

    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)

    loaded = set(ended.stdout.decode().split())
    heavy = {"asyncio", "dataclasses", "logging", "msgspec", "orjson", "uvloop", "yaml"}
    assert heavy & loaded == set()
