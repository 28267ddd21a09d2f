"""The only place that prints."""

import sys

from jobferry.cli.arguments import program
from jobferry.errors import Error


def text(content: str) -> None:
    """Print what was asked for, now: a pipe that is closed is found out here."""
    print(content, end="", flush=True)


def line(words: str) -> None:
    """Print one line of what was asked for."""
    text(f"{words}\n")


def note(words: str) -> None:
    """Say what is worth knowing, beside what was asked for."""
    print(_harmless(words), file=sys.stderr, flush=True)


def error(problem: Error) -> None:
    """Say in one line what went wrong, and in another what to do about it."""
    print(f"{program()}:", *_harmless(str(problem)).split(), file=sys.stderr)
    if problem.hint:
        print(f"hint: {_harmless(problem.hint)}", file=sys.stderr)


def _harmless(words: str) -> str:
    """Return text, part of which others may have written, without what would move the cursor or worse."""
    return "".join(each if each.isprintable() or each == "\n" else " " for each in words)
