from pathlib import Path

import pytest

from jobferry.cli import completion, down
from jobferry.cli.arguments import parser_of
from jobferry.cli.completing import Given, candidates
from jobferry.cli.main import COMMANDS, main

THERE = {"jobs": ["hello", "help-me"], "workers": ["east", "west"], "contexts": ["hub"]}


class Names:
    def __init__(self) -> None:
        self.asked: list[Given] = []

    def __call__(self, what: str, given: Given) -> list[str]:
        self.asked.append(given)
        return THERE.get(what, [])


def found(*line: str) -> list[str]:
    return [each.word for each in candidates(line, Names())]


def test_commands_come_first() -> None:
    assert set(COMMANDS) < set(found(""))
    assert found("wo") == ["workers"]
    assert found("--v") == ["--version"]
    assert found("nosuch", "") == []


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_completes_its_options(command: str) -> None:
    assert "--help" in found(command, "-")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (("why", ""), ["hello", "help-me"]),
        (("why", "hello", ""), []),
        (("why", "-o", "json", "hell"), ["hello"]),
        (("wait", "hello", ""), ["help-me"]),
        (("jobs", "-o", "j"), ["json"]),
        (("jobs", "--output=j"), ["json"]),
        (("jobs", "--output", "=", "j"), ["json"]),
        (("jobs", "--output", "="), ["table", "wide", "json", "yaml", "name"]),
        (("jobs", "--context", ""), ["hub"]),
        (("jobs", "--wat"), ["--watch"]),
        (("jobs", "-w", "help"), ["help-me"]),
        (("manifests", "c"), ["crds"]),
        (("completion", ""), ["bash", "zsh", "fish"]),
        (("workers", "d"), ["drain"]),
        (("workers", "drain", ""), ["east", "west"]),
        (("workers", "drain", "--m"), ["--move-away"]),
        (("workers", "list", "w"), ["west"]),
        (("workers", "e"), ["east"]),
        (("top", ""), []),
    ],
)
def test_what_stands_there_is_completed(line: tuple[str, ...], expected: list[str]) -> None:
    assert found(*line) == expected


def test_names_are_those_of_the_hub_that_is_meant() -> None:
    names = Names()

    candidates(["jobs", "--context=east", "-n", "ml", "--kubeconfig", "/k", ""], names)

    assert names.asked == [Given(Path("/k"), "east", "ml")]


def test_files_are_completed_where_files_are_meant(tmp_path: Path) -> None:
    (tmp_path / "config").touch()
    (tmp_path / "confs").mkdir()
    start = f"{tmp_path}/conf"

    expected = [f"{start}ig", f"{start}s/"]
    assert found("jobs", "--kubeconfig", start) == expected
    assert found("submit", "--name", "x", "--", start) == expected


def test_a_parser_is_handed_over_before_anything_is_done() -> None:
    parser = parser_of(down.main)

    assert parser.prog == "jobferry down"
    with pytest.raises(TypeError):
        parser_of(lambda _: None)


@pytest.mark.parametrize("shell", completion.SCRIPTS)
def test_scripts_are_printed(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0

    assert "jobferry complete -- " in capsys.readouterr().out
