"""Wrong arguments to each command: one line, a hint, exit code 2, and nothing is asked of any cluster."""

import sys
from pathlib import Path

import pytest

from jobferry.cli.endings import JobFailed, TimeOver
from jobferry.cli.main import COMMANDS, code, main
from jobferry.errors import BadInput, Error

LISTS = ("jobs", "workers", "queues")
OF_A_JOB = ("why", "describe", "logs", "wait", "cancel")
ASK_A_HUB = (*LISTS, "top", "version")


@pytest.mark.parametrize(
    "arguments",
    [
        *([each, "--fast"] for each in COMMANDS),
        *([each] for each in OF_A_JOB),
        *([each, "-o", "xml"] for each in (*ASK_A_HUB, "why", "describe")),
        *([each, "--context"] for each in ASK_A_HUB),
        ["why", "a", "b"],
        ["jobs", "-n", "a", "-A"],
        ["jobs", "a", "-A"],
        ["jobs", "a", "-l", "x=y"],
        ["jobs", "-n", ""],
        ["workers", "-n", "a"],
        ["workers", "a", "-l", "x"],
        ["queues", "a", "-l", "x"],
        *([each, "-l", "a=b=c"] for each in LISTS),
        ["logs", "a", "--tail", "-1"],
        ["logs", "a", "--tail", "all"],
        ["wait", "a", "--timeout", "soon"],
        ["wait", "a", "--for", "godot"],
        ["submit"],
        ["submit", "--"],
        ["submit", "python", "work.py"],
        ["submit", "--timeout", "1s", "--", "x"],
        ["submit", "--name", "A", "--", "x"],
        ["workers", "add"],
        ["workers", "add", "east"],
        ["workers", "add", "East", "--from-context", "x"],
        ["workers", "remove"],
        ["workers", "drain"],
        ["workers", "drain", "a", "b"],
        ["workers", "undrain"],
        ["workers", "test"],
        ["completion"],
        ["completion", "tcsh"],
    ],
    ids=" ".join,
)
def test_it_is_one_line_with_a_hint(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2

    shown = capsys.readouterr()
    lines = shown.err.splitlines()
    assert lines[0].startswith("jobferry: ")
    assert len(lines) <= 2
    assert shown.out == ""


@pytest.mark.parametrize(
    "arguments",
    [
        *([each] for each in (*LISTS, "top")),
        *([each, "x"] for each in OF_A_JOB),
        ["submit", "--", "x"],
        *(["workers", each, "x"] for each in ("remove", "drain", "undrain", "test")),
        ["workers", "add", "x", "--from-context", "y"],
    ],
    ids=" ".join,
)
def test_without_any_kubeconfig_each_says_so(
    arguments: list[str],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setattr("jobferry.log.configure", lambda **_: None)

    assert main(arguments) == 2

    problem, hint = capsys.readouterr().err.splitlines()
    assert problem == "jobferry: there is no kubeconfig, and no fleet of `jobferry up` runs"
    assert hint.startswith("hint: Name one with --kubeconfig")


def test_each_way_to_end_has_its_code() -> None:
    assert code(Error("x")) == 1
    assert code(BadInput("x")) == 2
    assert code(JobFailed("x")) == 3
    assert code(TimeOver("x")) == 4


def test_as_a_plugin_of_kubectl_it_is_called_so(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["/usr/local/bin/kubectl-ferry", "jobs"])

    with pytest.raises(SystemExit):
        main(["jobs", "--help"])
    assert main(["jobs", "--fast"]) == 2

    shown = capsys.readouterr()
    assert shown.out.startswith("usage: kubectl ferry jobs ")
    assert shown.err.startswith("kubectl ferry: ")
    assert "hint: `kubectl ferry jobs --help`" in shown.err


def test_help_fits_the_terminal_and_leaves_lists_as_they_are(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")

    for command in ("workers", "manifests"):
        with pytest.raises(SystemExit):
            main([command, "--help"])

    shown = capsys.readouterr().out
    assert max(map(len, shown.split("subcommands:")[0].splitlines())) <= 60
    assert "\n  crds     Worker, Queue and Placement, for the hub\n" in shown
    assert "\n  add       make a Worker from a context of your kubeconfig\n" in shown
