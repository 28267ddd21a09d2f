"""Whether an applied configuration fits its shape, in the words of an API server."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from jobferry.localkube.apiserver import shapes
from jobferry.localkube.apiserver.managed import path_steps
from jobferry.localkube.apiserver.managed.path_steps import Misfit
from jobferry.localkube.apiserver.shapes import Leaf, ListMap, SetOf, Shape, Struct
from jobferry.objects import Obj, govalues
from jobferry.objects.gotext import quote

_TWICE = "duplicate entries for key"


class Flaw(NamedTuple):
    """Something that does not fit."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


def check(shape: Shape, value: Obj, *, duplicates: bool = False) -> str:
    """Say what is wrong with a value; nothing, if it fits. Lists may be allowed to have things twice."""
    found = _flaws(shape, value, "")
    flaws = [
        str(flaw) for flaw in found if not (duplicates and flaw.message.startswith(_TWICE))
    ]
    if len(flaws) <= 1:
        return "".join(flaws)
    return "\n  ".join(["errors:", *flaws])


def _flaws(shape: Shape, value: Any, path: str) -> Iterator[Flaw]:
    if value is None or shape is shapes.ANYTHING:
        return
    match shape:
        case Leaf():
            yield from _flaws_of_leaf(shape, value, path)
        case Struct():
            yield from _flaws_of_struct(shape, value, path)
        case ListMap() | SetOf():
            if isinstance(value, list):
                yield from _flaws_of_list(shape, value, path)
            else:
                yield Flaw(path, f"expected list, got &{{{govalues.text(value)}}}")


def _flaws_of_leaf(shape: Leaf, value: Any, path: str) -> Iterator[Flaw]:
    if shape.inner is not None:
        yield from _flaws(shape.inner, value, path)
    elif shape.scalar and (problem := _problem(shape.scalar, value)):
        yield Flaw(path, problem)


def _problem(scalar: str, value: Any) -> str:
    """Say what is wrong with a scalar; the way Go shows it differs from one type to the next."""
    match scalar:
        case "numeric" if isinstance(value, bool) or not isinstance(value, int | float):
            return f"expected numeric (int or float), got {govalues.go_type(value)}"
        case "string" if not isinstance(value, str):
            return f"expected string, got &value.valueUnstructured{{Value:{_literal(value)}}}"
        case "boolean" if not isinstance(value, bool):
            return f"expected boolean, got &{{{govalues.text(value)}}}"
        case "untyped" if isinstance(value, dict | list):
            return f"expected any scalar, got &{{{govalues.text(value)}}}"
    return ""


def _literal(value: Any) -> str:
    """Return a value as Go's source would write it (%#v)."""
    match value:
        case str():
            return quote(value)
        case dict():
            members = (f"{quote(key)}:{_literal(value[key])}" for key in sorted(value))
            return f"map[string]interface {{}}{{{', '.join(members)}}}"
        case list():
            return f"[]interface {{}}{{{', '.join(map(_literal, value))}}}"
        case None:
            return "interface {}(nil)"
    return govalues.text(value)


def _flaws_of_struct(shape: Struct, value: Any, path: str) -> Iterator[Flaw]:
    if not isinstance(value, dict):
        yield Flaw(path, f"expected map, got &{{{govalues.text(value)}}}")
        return
    for name, member in value.items():
        sub = shape.fields.get(name) or shape.others
        if sub is None:
            yield Flaw(f"{path}.{name}", "field not declared in schema")
            return  # upstream looks no further in this object
        if member is not None:
            yield from _flaws(sub, member, f"{path}.{name}")


def _flaws_of_list(shape: ListMap | SetOf, value: list[Any], path: str) -> Iterator[Flaw]:
    seen = set()
    for position, item in enumerate(value):
        try:
            step = _step(shape, item, position)
        except Misfit as misfit:
            yield Flaw(path, f"element {position}: {misfit}")
            return
        shown = path_steps.shown(step)
        if step in seen:
            yield Flaw(path, f"{_TWICE} {shown}")
        seen.add(step)
        yield from _flaws(shape.item, item, path + shown)


def _step(shape: ListMap | SetOf, item: Any, position: int) -> str:
    if isinstance(shape, SetOf):
        return path_steps.of_set_item(item)
    return path_steps.of_item(shape, item) if shape.keys else f"i:{position}"
