"""The fields that a value speaks of: what its applier comes to own."""

from typing import Any

from jobferry.localkube.apiserver import shapes
from jobferry.localkube.apiserver.managed import path_steps, sets
from jobferry.localkube.apiserver.managed.path_steps import MEMBER
from jobferry.localkube.apiserver.managed.sets import LEAF, FieldSet
from jobferry.localkube.apiserver.shapes import Leaf, ListMap, SetOf, Shape, Struct
from jobferry.objects import Obj


def footprint(shape: Shape, value: Obj) -> FieldSet:
    """Return the leaves of a value, the members of its maps and the items of its lists."""
    return _below(shape, value)


def _below(shape: Shape, value: Any) -> FieldSet:
    """Return what is below a value; nothing is below a leaf, a null, or what does not fit."""
    match shape:
        case Struct() if isinstance(value, dict):
            return _members(shape, value)
        case ListMap() if isinstance(value, list):
            step = path_steps.maker(shape)
            return _items([(step(item), item) for item in value], shape.item)
        case SetOf() if isinstance(value, list):
            return _items([(path_steps.of_set_item(item), item) for item in value], shapes.LEAF)
    return LEAF


def _members(shape: Struct, value: Obj) -> FieldSet:
    result: FieldSet = {}
    for name, member in value.items():
        declared = shape.fields.get(name)
        node = _node(declared or shape.others or shapes.LEAF, member, owned=declared is None)
        if node is not None:
            result[f"f:{name}"] = node
    return sets.ordered(result)


def _node(shape: Shape, value: Any, *, owned: bool) -> FieldSet | None:
    """Return the node of a member of an object; None, if it says nothing."""
    below = _below(shape, value)
    if below:
        return {MEMBER: LEAF, **below} if owned else below
    return LEAF if owned or _is_leaf(shape, value) else None


def _is_leaf(shape: Shape, value: Any) -> bool:
    """Tell whether a value is one thing: an empty list, or an object full of such, is nothing."""
    match shape:
        case Leaf():
            return True
        case Struct():
            return not isinstance(value, dict) or not value
    return not isinstance(value, list)


def _items(items: list[tuple[str, Any]], shape: Shape) -> FieldSet:
    result: FieldSet = {}
    for step, item in items:
        if step in result:
            result[step] = LEAF  # what is there twice is owned as a whole
        else:
            below = _below(shape, item)
            result[step] = {MEMBER: LEAF, **below} if below else LEAF
    return sets.ordered(result)


def with_parents(shape: Shape | None, fields: FieldSet) -> FieldSet:
    """Return a set to which the declared fields are added that it has something below of."""
    if shape is None or shape is shapes.ANYTHING:
        return fields
    result: FieldSet = {}
    for step, node in fields.items():
        if not node:
            result[step] = node
            continue
        declared = _declared(shape, step)
        below = with_parents(declared or _other(shape, step), node)
        add = declared is not None and MEMBER not in below
        result[step] = {MEMBER: LEAF, **below} if add else below
    return result


def _declared(shape: Shape, step: str) -> Shape | None:
    if isinstance(shape, Struct) and step.startswith("f:"):
        return shape.fields.get(step[2:])
    return None


def _other(shape: Shape, step: str) -> Shape | None:
    if isinstance(shape, Struct):
        return shape.others
    return shape.item if isinstance(shape, ListMap) and step.startswith("k:") else None


def realigned(shape: Shape, fields: FieldSet) -> FieldSet:
    """Return a set as it is for this shape: what is owned as a whole now is no longer owned in parts.

    That happens when the schema of a custom resource changes.
    """
    if shape is shapes.ANYTHING:
        return fields
    result = fields
    for step, node in fields.items():
        if not node:
            continue
        sub = _declared(shape, step) or _other(shape, step)
        fitting = node if sub is None else LEAF if type(sub) is Leaf else realigned(sub, node)
        if fitting is not node:
            result = dict(fields) if result is fields else result
            result[step] = fitting
    return result
