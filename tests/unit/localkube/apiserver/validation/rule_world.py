"""What tests of rules share."""

from collections.abc import Iterable

from jobferry.localkube.apiserver.problems import Problem

Found = list[tuple[str, str]]
"""Fields, and what is wrong with them."""


def found(problems: Iterable[Problem]) -> Found:
    return [(each.field, each.reason.removeprefix("FieldValue")) for each in problems]
