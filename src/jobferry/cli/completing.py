"""What can stand where the cursor is in a command line; names of objects come from whoever asks."""

import argparse
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from glob import escape, glob
from importlib import import_module
from pathlib import Path

from jobferry.cli.arguments import Parser, parser_of, words
from jobferry.cli.main import COMMANDS

Names = Callable[[str, "Given"], list[str]]
"""Returns the names of a sort of objects, on the hub that a command line means."""


@dataclass(frozen=True, slots=True)
class Given:
    """What a command line says already about the hub that it means."""

    kubeconfig: Path | None = None
    context: str | None = None
    namespace: str | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    """One word that can stand there."""

    word: str
    help: str = ""


def candidates(line: Sequence[str], names: Names) -> list[Candidate]:
    """Return what the last word of a line, after the program's name, can become."""
    *before, current = line or [""]
    before, current = _joined(before, current)
    if not before:
        found = [Candidate(name, summary) for name, summary in COMMANDS.items()]
        found += [Candidate("--help"), Candidate("--version")]
        return _beginning(found, current)
    if before[0] not in COMMANDS:
        return []
    if words(before)[1] or before[-1] == "--":
        return _files(current)  # the words of a program that is to be run
    return _beginning(_of_command(before, current, names), current)


def _joined(before: list[str], current: str) -> tuple[list[str], str]:
    """Take together what bash takes apart: --option=value comes as three words."""
    if current == "=" and before:
        return before, ""
    if len(before) > 1 and before[-1] == "=":
        return before[:-1], current
    name, equals, value = current.partition("=")
    if equals and name.startswith("--"):
        return [*before, name], value
    return before, current


def _of_command(before: list[str], current: str, names: Names) -> list[Candidate]:
    command, *given = before
    module, found = command.replace("-", "_"), []
    if command == "workers":
        from jobferry.cli.workers import SUBCOMMANDS  # noqa: PLC0415 (only for this command)

        if not given:
            found = [Candidate(name, summary) for name, summary in SUBCOMMANDS.items()]
        elif given[0] in SUBCOMMANDS:
            subcommand, *given = given
            module = "workers" if subcommand == "list" else f"worker_{subcommand}"
    parser = parser_of(import_module(f"jobferry.cli.{module}").main)
    return found + _of_parser(parser, given, current, names)


def _of_parser(
    parser: Parser, given: Sequence[str], current: str, names: Names
) -> list[Candidate]:
    by_option = {name: action for action in parser._actions for name in action.option_strings}  # noqa: SLF001
    last = by_option.get(given[-1]) if given else None
    about = _given(given)
    if last is not None and last.nargs != 0:
        return _values(last, current, about, names)
    if current.startswith("-"):
        return [Candidate(name, _help(action)) for name, action in by_option.items()]
    place = _place(given, by_option)
    positional = [action for action in parser._actions if not action.option_strings]  # noqa: SLF001
    if not positional:
        return []
    action = positional[min(place, len(positional) - 1)]
    if place >= len(positional) and action.nargs not in ("*", "+"):
        return []
    taken = {*given} if action.nargs in ("*", "+") else set()
    return [each for each in _values(action, current, about, names) if each.word not in taken]


def _place(given: Sequence[str], by_option: dict[str, argparse.Action]) -> int:
    """Count the words that are neither options nor their values."""
    count, is_value = 0, False
    for word in given:
        action = by_option.get(word)
        if action is None and not is_value and not word.startswith("-"):
            count += 1
        is_value = action is not None and action.nargs != 0
    return count


def _values(
    action: argparse.Action, current: str, about: Given, names: Names
) -> list[Candidate]:
    if action.choices is not None:
        return [Candidate(str(choice)) for choice in action.choices]
    if what := getattr(action, "completes", None):
        return [Candidate(name) for name in names(what, about)]
    return _files(current) if action.type is Path else []


def _given(line: Sequence[str]) -> Given:
    said: dict[str, str] = {}
    flags = {"--kubeconfig": "kubeconfig", "--context": "context"}
    flags |= {"-n": "namespace", "--namespace": "namespace"}
    for at, word in enumerate(line):
        name, equals, value = word.partition("=")
        if name in flags:
            following = line[at + 1] if at + 1 < len(line) else ""
            said[flags[name]] = value if equals else following
    file = said.get("kubeconfig")
    return Given(Path(file) if file else None, said.get("context"), said.get("namespace"))


def _files(current: str) -> list[Candidate]:
    found = sorted(glob(escape(os.path.expanduser(current)) + "*"))
    return [Candidate(f"{each}/" if os.path.isdir(each) else each) for each in found]


def _beginning(found: Sequence[Candidate], start: str) -> list[Candidate]:
    return [each for each in found if each.word.startswith(os.path.expanduser(start))]


def _help(action: argparse.Action) -> str:
    return (action.help or "").split(".")[0].replace("%%", "%")
