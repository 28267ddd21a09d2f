"""Arguments, read so that a wrong one is an error like any other."""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any, NoReturn

from jobferry.errors import BadInput

NAME = "jobferry"
PLUGIN = "kubectl-ferry"
"""The name under which kubectl finds us, as `kubectl ferry`."""


def program() -> str:
    """Return what the person who started us typed: `jobferry`, or `kubectl ferry`."""
    return PLUGIN.replace("-", " ") if os.path.basename(sys.argv[0]) == PLUGIN else NAME


class _Paragraphs(argparse.HelpFormatter):
    """Fits paragraphs to the width of the terminal, but leaves alone those with indented lines."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        fill = super()._fill_text
        return "\n\n".join(
            paragraph if "\n " in f"\n{paragraph}" else fill(paragraph, width, indent)
            for paragraph in text.split("\n\n")
        )


class Parser(argparse.ArgumentParser):
    """A parser that raises `BadInput` where argparse would print its usage and exit.

    `command` begins with `jobferry`, under whatever name we were started.
    """

    def __init__(
        self, command: str, synopsis: str, description: str, *, epilog: str | None = None
    ) -> None:
        called = command.replace(NAME, program(), 1)
        super().__init__(
            prog=called,
            usage=f"{called} {synopsis}",
            description=description,
            epilog=epilog,
            allow_abbrev=False,  # an option that is added later must not change what a script means
            formatter_class=_Paragraphs,
        )

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Read arguments; or hand over this parser itself, to who only wants to know what it reads."""
        if _ONLY_ASKED.get():
            raise HandedOver(self)
        return super().parse_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """Refuse the arguments."""
        raise BadInput(message, hint=f"`{self.prog} --help` says what there is.")


class HandedOver(Exception):
    """Carries the parser of a command out of it, before it has done anything."""

    def __init__(self, parser: Parser) -> None:
        super().__init__(parser.prog)
        self.parser = parser


_ONLY_ASKED: ContextVar[bool] = ContextVar("jobferry.arguments.asked", default=False)


def parser_of(main: Callable[[Sequence[str]], None]) -> Parser:
    """Return what a command reads its arguments with."""
    token = _ONLY_ASKED.set(True)
    try:
        main([])
    except HandedOver as handed:
        return handed.parser
    finally:
        _ONLY_ASKED.reset(token)
    raise TypeError(f"{main.__module__} reads no arguments")


def completes(action: argparse.Action, what: str) -> None:
    """Note what an argument names, so that a shell can complete it: see `completing`."""
    action.completes = what  # type: ignore[attr-defined] # argparse has no place for it


def words(given: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split a command line at its first `--`: what is before, and the program that comes after."""
    listed = list(given)
    if "--" not in listed:
        return listed, []
    at = listed.index("--")
    return listed[:at], listed[at + 1 :]
