"""Members of objects by their path, of which nobody knows whether they are there, or what they are.

A step `*` stands for every item of a list and every member of an object. What is not as a path expects it is not
there: workloads of some kinds may hold anything.
"""

from collections.abc import Callable, Iterator
from typing import Any

Path = tuple[str, ...]
"""Where a member is, step by step."""

EACH = "*"


def path(text: str) -> Path:
    """Read a path as it is written, as in spec.workers.*.template."""
    return tuple(text.split(".")) if text else ()


def text(path: Path) -> str:
    """Write a path as it is read."""
    return ".".join(path)


def every(value: Any, path: Path) -> Iterator[Any]:
    """Yield what is found at a path, which is more than one thing if it has a `*`."""
    if not path:
        if value is not None:
            yield value
        return
    step, *rest = path
    for member in _members(value, step):
        yield from every(member, tuple(rest))


def first(value: Any, path: Path) -> Any:
    """Return what is found first at a path; None if nothing is."""
    return next(every(value, path), None)


def found(value: Any, path: Path) -> Any:
    """Return what is at a path without `*`; None if nothing is."""
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    return value


def word(value: Any, path: Path) -> str:
    """Return the text at a path; empty if there is none."""
    member = found(value, path)
    return member if isinstance(member, str) else ""


def number(value: Any, path: Path, default: int = 0) -> int:
    """Return the whole number at a path, at least zero."""
    member = found(value, path)
    return max(0, member) if isinstance(member, int) else default


def items(value: Any, path: Path) -> list[dict[str, Any]]:
    """Return the objects in the list at a path."""
    member = found(value, path)
    return (
        [each for each in member if isinstance(each, dict)] if isinstance(member, list) else []
    )


def without(value: Any, path: Path, drops: Callable[[Any], bool] = lambda _: True) -> Any:
    """Return a value without the members at a path, all or those of which that is said; the rest is shared."""
    return changed(value, path, lambda member: None if drops(member) else member)


def changed(value: Any, path: Path, change: Callable[[Any], Any]) -> Any:
    """Return a value with the members at a path changed, dropped where they become None; the rest is shared.

    What is not there stays so.
    """
    if not path:
        return change(value)
    step, rest = path[0], path[1:]
    if isinstance(value, list) and step == EACH:
        made = (changed(each, rest, change) for each in value)
        return [each for each in made if each is not None]
    if not isinstance(value, dict):
        return value
    steps = list(value) if step == EACH else [step]
    members = {each: changed(value[each], rest, change) for each in steps if each in value}
    return {
        key: kept
        for key, kept in (value | members).items()
        if kept is not None or key not in members
    }


def _members(value: Any, step: str) -> list[Any]:
    if step != EACH:
        return [value[step]] if isinstance(value, dict) and step in value else []
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []
