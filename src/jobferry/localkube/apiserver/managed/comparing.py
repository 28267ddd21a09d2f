"""What a write changed: the fields that came (or became another value), and those that went.

Only what differs is looked into, so the time it takes goes with the size of the change.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from jobferry.localkube.apiserver import shapes
from jobferry.localkube.apiserver.managed import path_steps, sets
from jobferry.localkube.apiserver.managed.path_steps import MEMBER
from jobferry.localkube.apiserver.managed.sets import LEAF, FieldSet
from jobferry.localkube.apiserver.shapes import Leaf, ListMap, Shape, Struct
from jobferry.objects import Obj

Change = tuple[FieldSet | None, FieldSet | None]
"""What went, and what came; None: nothing did."""
Step = Callable[[Any], str]

_ABSENT = object()
_NOTHING: Change = (None, None)

_FEW = 64
"""Structs with more members than this are maps, and their keys are not the same again and again."""


def compare(shape: Shape, old: Obj, new: Obj) -> tuple[FieldSet, FieldSet]:
    """Return the fields that went and those that came or changed, or raise Misfit."""
    gone, come = _compared(shape, old, new)
    return gone or LEAF, come or LEAF


def whole(shape: Shape, value: Any) -> FieldSet:
    """Return the node of a value that came (or went) with all that is in it."""
    kind = type(shape)
    if kind is Leaf or not value:
        return LEAF
    if kind is Struct and type(value) is dict:
        return _whole_struct(shape, value)  # type: ignore[arg-type]
    if kind is not Struct and type(value) is list:
        return _whole_list(shape, value)
    return LEAF


def _whole_struct(shape: Struct, value: Obj) -> FieldSet:
    names = tuple(value)
    node, inner = (_known_members if len(names) <= _FEW else _members)(shape, names)
    if not inner:
        return node
    result = dict(node)
    for name, step, sub in inner:
        if below := value[name]:
            result[step] = whole(sub, below)
    return result


def _members(
    shape: Struct, names: tuple[str, ...]
) -> tuple[FieldSet, list[tuple[str, str, Shape]]]:
    """Return the node of a struct with these members, and which of them may have something below."""
    fields, others = shape.fields, shape.others or shapes.LEAF
    found = [(name, f"f:{name}", fields.get(name, others)) for name in sorted(names)]
    node: FieldSet = {MEMBER: LEAF, **{step: LEAF for _, step, _ in found}}
    return node, [each for each in found if type(each[2]) is not Leaf]


_known_members = lru_cache(maxsize=4096)(_members)


def _whole_list(shape: Shape, value: list[Any]) -> FieldSet:
    step, item = _stepping(shape)
    result: FieldSet = {MEMBER: LEAF}
    for one in value:
        name = step(one)
        # What is there twice is owned as a whole.
        result[name] = LEAF if name in result else whole(item, one)
    return sets.ordered(result)


def _stepping(shape: Shape) -> tuple[Step, Shape]:
    if isinstance(shape, ListMap):
        return path_steps.maker(shape), shape.item
    return path_steps.of_set_item, shapes.LEAF


def _compared(shape: Shape, old: Any, new: Any) -> Change:
    """Compare two values that are both there."""
    if old is new or old == new:
        return _NOTHING
    if isinstance(shape, Struct):
        return _compared_structs(shape, old, new)
    return (None, LEAF) if isinstance(shape, Leaf) else _compared_lists(shape, old, new)


def _compared_structs(shape: Struct, old: Any, new: Any) -> Change:
    was = old if type(old) is dict else {}
    now = new if type(new) is dict else {}
    if not was and not now:
        return None, LEAF
    gone, come = _compared_members(shape, was, now)
    if (was is old or old is None) and (now is new or new is None):
        return gone or None, come or None
    return gone or None, {
        MEMBER: LEAF,
        **come,
    } if come else LEAF  # it became another kind of value


def _compared_members(shape: Struct, old: Obj, new: Obj) -> tuple[FieldSet, FieldSet]:
    if not old:
        return LEAF, _within(_whole_struct(shape, new))
    fields, others = shape.fields, shape.others or shapes.LEAF
    gone: FieldSet = {}
    come: FieldSet = {}
    for name, value in new.items():
        was = old.get(name, _ABSENT)
        if was is value or was == value:
            continue
        sub = fields.get(name, others)
        if was is _ABSENT:
            come[f"f:{name}"] = whole(sub, value)
        else:
            _note(f"f:{name}", _compared(sub, was, value), gone, come)
    for name in old.keys() - new.keys():
        gone[f"f:{name}"] = whole(fields.get(name, others), old[name])
    return sets.ordered(gone), sets.ordered(come)


def _note(step: str, change: Change, gone: FieldSet, come: FieldSet) -> None:
    if change[0] is not None:
        gone[step] = change[0]
    if change[1] is not None:
        come[step] = change[1]


def _within(node: FieldSet) -> FieldSet:
    """Return what is below a node, without the node itself."""
    below = dict(node)
    del below[MEMBER]
    return below


def _compared_lists(shape: Shape, old: Any, new: Any) -> Change:
    was_list, is_list = (bool(each) and type(each) is list for each in (old, new))
    if not was_list:
        return None, _within(_whole_list(shape, new)) if is_list else LEAF
    step, item = _stepping(shape)
    was = _indexed(step, old)
    now = _indexed(step, new)
    gone: FieldSet = {}
    come: FieldSet = {}
    for name, values in now.items():
        _compare_items(name, item, was.get(name, ()), values, gone, come)
    for name in was.keys() - now.keys():
        gone[name] = whole(item, was[name][0]) if len(was[name]) == 1 else LEAF
    return sets.ordered(gone) or None, sets.ordered(come) or None


def _indexed(step: Step, value: Any) -> dict[str, list[Any]]:
    """Return the items of a list by their steps; a null has none."""
    result: dict[str, list[Any]] = {}
    for one in value if type(value) is list else ():
        result.setdefault(step(one), []).append(one)
    return result


def _compare_items(
    step: str, item: Shape, old: Any, new: list[Any], gone: FieldSet, come: FieldSet
) -> None:
    """Compare what two lists hold at one step: one item as usual, or several that are one value."""
    match len(old), len(new):
        case 0, 1:
            come[step] = whole(item, new[0])
        case 1, 1:
            _note(step, _compared(item, old[0], new[0]), gone, come)
        case 0, _:
            come[step] = LEAF
        case 1, _:
            gone[step], come[step] = whole(item, old[0]), LEAF
        case _, 1:
            gone[step], come[step] = LEAF, whole(item, new[0])
        case _:
            if old != new:
                come[step] = LEAF
