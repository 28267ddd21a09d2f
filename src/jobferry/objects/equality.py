"""When two JSON values are the same."""

from typing import Any


def same(one: Any, other: Any) -> bool:
    """Tell whether two JSON values are equal; unlike for Python, 1, 1.0 and true are three values."""
    if one is other:
        return True
    if type(one) is not type(other):
        # A text may know more than it says.
        return isinstance(one, str) and isinstance(other, str) and one == other
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)
