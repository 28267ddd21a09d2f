"""The only place that prints."""

import sys

from jobferry.errors import Error


def text(content: str) -> None:
    """Print what was asked for, now: a pipe that is closed is found out here."""
    print(content, end="", flush=True)


def error(problem: Error) -> None:
    """Say in one line what went wrong, and in another what to do about it."""
    print("jobferry:", *str(problem).split(), file=sys.stderr)
    if problem.hint:
        print(f"hint: {problem.hint}", file=sys.stderr)
