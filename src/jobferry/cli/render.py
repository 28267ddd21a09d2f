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
    print(words, file=sys.stderr, flush=True)


def error(problem: Error) -> None:
    """Say in one line what went wrong, and in another what to do about it."""
    print(f"{program()}:", *str(problem).split(), file=sys.stderr)
    if problem.hint:
        print(f"hint: {problem.hint}", file=sys.stderr)
