"""When two parts of an object are the same, and what most fields have to be."""

from collections.abc import Sequence
from typing import Any

from jobferry.localkube.apiserver import problems
from jobferry.localkube.apiserver.problems import Problem
from jobferry.localkube.apiserver.validation import names
from jobferry.objects import quantities

IMMUTABLE = "field is immutable"
NEGATIVE = "must be greater than or equal to 0"
NOT_POSITIVE = "must be greater than zero"

_QUANTITIES = frozenset({"limits", "requests", "overhead"})
_QUANTITY = frozenset({"sizeLimit", "divisor"})


def same(one: Any, other: Any, field: str = "") -> bool:
    """Tell whether an API server takes two values for equal: no list is an empty list, 1000m is 1."""
    if one == other:
        return True
    if isinstance(one, dict) and isinstance(other, dict):
        return _same_members(one, other, amounts=field in _QUANTITIES)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, str) and isinstance(other, str):
        return field in _QUANTITY and quantities.parse(one) == quantities.parse(other)
    return one in (None, []) and other in (None, [])


def _same_members(one: dict[str, Any], other: dict[str, Any], *, amounts: bool) -> bool:
    if amounts:
        return one.keys() == other.keys() and all(
            quantities.parse(one[name]) == quantities.parse(other[name]) for name in one
        )
    return all(same(one.get(key), other.get(key), key) for key in one.keys() | other.keys())


# These are asked of nearly every field, which nearly always is as it should be: so they are no generators.


def immutable(field: str, new: Any, old: Any) -> Sequence[Problem]:
    """Complain about a value that was changed."""
    return () if same(new, old) else (problems.invalid(field, new, IMMUTABLE),)


def not_negative(field: str, number: int | None) -> Sequence[Problem]:
    """Complain about a number below zero; none at all is fine."""
    if number is None or number >= 0:
        return ()
    return (problems.invalid(field, number, NEGATIVE),)


def positive(field: str, number: int) -> Sequence[Problem]:
    """Complain about a number that is not above zero."""
    return () if number > 0 else (problems.invalid(field, number, NOT_POSITIVE),)


def one_of(field: str, value: str | None, supported: Sequence[str]) -> Sequence[Problem]:
    """Complain about a value that is missing, or none of those supported."""
    if not value:
        return (problems.required(field),)
    return () if value in supported else (problems.not_in_enum(field, value, supported),)


def each(field: str, value: Any, complaints: Sequence[str]) -> Sequence[Problem]:
    """Make a problem of each complaint about one value."""
    if not complaints:
        return ()
    return [problems.invalid(field, value, complaint) for complaint in complaints]


def dns_label(field: str, value: str) -> Sequence[Problem]:
    """Complain about a value that is no DNS label."""
    return each(field, value, names.label_problems(value))


def subdomain(field: str, value: str) -> Sequence[Problem]:
    """Complain about a value that is no DNS subdomain."""
    return each(field, value, names.subdomain_problems(value))


def qualified(field: str, value: str) -> Sequence[Problem]:
    """Complain about a value that is no qualified name."""
    return each(field, value, names.qualified_problems(value))
