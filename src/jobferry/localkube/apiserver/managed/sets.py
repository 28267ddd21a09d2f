"""Sets of fields, as trees of steps: what a manager owns.

`{"f:spec": {"f:replicas": {}}}` has one member, `.spec.replicas`. A node without anything below it is a
member; one with something below it is a member only if `"."` is there too. So a set is the very JSON of
`fieldsV1`, and is never decoded. Sets are shared: nobody may change one. Steps are in upstream's order.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from jobferry.localkube.apiserver.managed import path_steps
from jobferry.localkube.apiserver.managed.path_steps import MEMBER

FieldSet = dict[str, Any]
"""Steps and what is below each."""

LEAF: FieldSet = {}
"""The node of a member with nothing below it (and, as a whole set, the empty set)."""


def of(names: Iterable[str]) -> FieldSet:
    """Return the set of these dotted paths (`metadata.labels`)."""
    result: FieldSet = LEAF
    for name in names:
        node: FieldSet = LEAF
        for part in reversed(name.split(".")):
            node = {f"f:{part}": node}
        result = union(result, node)
    return result


def is_member(node: Mapping[str, Any]) -> bool:
    """Tell whether a node stands for a member itself, besides what is below it."""
    return not node or MEMBER in node


def ordered(steps: FieldSet) -> FieldSet:
    """Return the same steps in order."""
    if len(steps) < 2:
        return steps
    names = sorted(steps)
    if names[-1] > "g":  # not only members of an object: the text does not tell the order
        names.sort(key=path_steps.rank)
    return {name: steps[name] for name in names}


def union(one: FieldSet, other: FieldSet) -> FieldSet:
    """Return what is in either."""
    if not one:
        return other
    return _joined(one, other) if other else one


def _joined(one: FieldSet, other: FieldSet) -> FieldSet:
    result = dict(one)
    grown = False
    for step, node in other.items():
        mine = result.get(step)
        if mine is None:
            result[step] = node
            grown = True
        elif mine is not node and mine != node:
            result[step] = _joined_nodes(mine, node)
    return ordered(result) if grown else result


def _joined_nodes(one: FieldSet, other: FieldSet) -> FieldSet:
    return _joined(one or {MEMBER: LEAF}, other or {MEMBER: LEAF})


def difference(one: FieldSet, other: FieldSet) -> FieldSet:
    """Return what is in `one` only (the same object, if that is all of it)."""
    result = None
    for step, node in other.items():
        mine = one.get(step)
        if mine is None or (left := _node_difference(mine, node)) is mine:
            continue
        if result is None:
            result = dict(one)
        if left is None:
            del result[step]
        else:
            result[step] = left
    return one if result is None else result


def _node_difference(mine: FieldSet, other: FieldSet) -> FieldSet | None:
    if not mine:
        return None if is_member(other) else mine
    left = difference(mine, other or {MEMBER: LEAF})
    return left if left is mine else _node(left)


def _node(steps: FieldSet) -> FieldSet | None:
    """Return what a node becomes that has only these left; None: nothing."""
    if not steps:
        return None
    return LEAF if len(steps) == 1 and MEMBER in steps else steps


def intersection(one: FieldSet, other: FieldSet) -> FieldSet:
    """Return what is in both."""
    result = {}
    for step, mine in one.items():
        node = other.get(step)
        if node is not None and (both := _node_intersection(mine, node)) is not None:
            result[step] = both
    return result


def _node_intersection(one: FieldSet, other: FieldSet) -> FieldSet | None:
    if not one:
        return LEAF if is_member(other) else None
    if not other:
        return LEAF if MEMBER in one else None
    return _node(intersection(one, other))


def without(one: FieldSet, other: FieldSet) -> FieldSet:
    """Return what is in `one`, less the members of `other` and all that is below them."""
    result = None
    for step, node in other.items():
        mine = one.get(step)
        if mine is None:
            continue
        left = None if is_member(node) else _node(without(mine, node)) if mine else mine
        if left is not mine:
            result = dict(one) if result is None else result
            if left is None:
                del result[step]
            else:
                result[step] = left
    return one if result is None else result


def has(fields: FieldSet, path: Iterable[str]) -> bool:
    """Tell whether a path is a member."""
    node: FieldSet | None = fields
    for step in path:
        node = node.get(step) if node else None
        if node is None:
            return False
    return node is not None and node is not fields and is_member(node)


def members(fields: FieldSet) -> Iterator[tuple[str, ...]]:
    """Return the paths of all members: first those right here, then those further down."""
    yield from _members(fields, ())


def _members(fields: FieldSet, prefix: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for step, node in fields.items():
        if step != MEMBER and is_member(node):
            yield (*prefix, step)
    for step, node in fields.items():
        if node:
            yield from _members(node, (*prefix, step))


def shown(path: Iterable[str]) -> str:
    """Return a path as messages show it."""
    return "".join(map(path_steps.shown, path))


def read(fields: Any) -> FieldSet:
    """Return a set that a client wrote, in our form, or raise BadStep."""
    if not isinstance(fields, Mapping):
        raise path_steps.BadStep("not an object")
    result: FieldSet = {}
    for step, node in fields.items():
        if step == MEMBER:
            continue
        try:
            known = path_steps.canonical(step)
        except path_steps.UnknownStep:
            continue  # a later version may know it; upstream drops it, too
        result[known] = _read_node(node)
    return ordered(result)


def _read_node(node: Any) -> FieldSet:
    below = read(node)
    return {MEMBER: LEAF, **below} if below and MEMBER in node else below
