"""What is wrong with paths inside volumes."""

from collections.abc import Iterator

from jobferry.localkube.apiserver import problems
from jobferry.localkube.apiserver.problems import Problem

FILE_MODE = "must be a number between 0 and 0777 (octal), both inclusive"


def backsteps(field: str, path: str) -> Iterator[Problem]:
    """Complain about a path with `..` as one of its parts."""
    if ".." in path and ".." in path.split("/"):
        yield problems.invalid(field, path, "must not contain '..'")


def descending(field: str, path: str) -> Iterator[Problem]:
    """Complain about a path that is not relative, or leads out of where it starts."""
    if path.startswith("/"):
        yield problems.invalid(field, path, "must be a relative path")
    yield from backsteps(field, path)


def not_reserved(field: str, path: str) -> Iterator[Problem]:
    """Complain about a path that leads out, or that a volume keeps for itself."""
    yield from descending(field, path)
    if path.startswith("..") and not path.startswith("../"):
        yield problems.invalid(field, path, "must not start with '..'")


def mode(field: str, number: int | None) -> Iterator[Problem]:
    """Complain about what is no mode of a file."""
    if number is not None and not 0 <= number <= 0o777:
        yield problems.invalid(field, number, FILE_MODE)
