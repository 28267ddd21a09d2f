"""What an applier let go of: it goes from the object, unless somebody else owns it."""

from collections.abc import Callable, Iterable
from typing import Any

from jobferry.localkube.apiserver import shapes
from jobferry.localkube.apiserver.managed import path_steps, sets
from jobferry.localkube.apiserver.managed.footprints import footprint, with_parents
from jobferry.localkube.apiserver.managed.sets import FieldSet
from jobferry.localkube.apiserver.shapes import Leaf, ListMap, SetOf, Shape, Struct
from jobferry.objects import Obj


def prune(shape: Shape, merged: Obj, last: FieldSet, owned: Iterable[FieldSet]) -> Obj:
    """Return `merged` without what was applied `last` and is not in any of the sets `owned` now."""
    kept: FieldSet = {}
    for fields in owned:
        kept = sets.union(kept, fields)
    if not sets.difference(last, kept):
        return merged

    def parented(fields: FieldSet) -> FieldSet:
        return with_parents(shape, fields)

    everything = parented(footprint(shape, merged))
    without_last = _removed(shape, merged, parented(last))
    kept = sets.union(parented(footprint(shape, without_last)), parented(kept))
    with_owned = _removed(shape, merged, sets.difference(everything, kept))
    # Things that nobody owns went with the item they were in; they stay unless they were applied.
    lost = sets.difference(everything, parented(footprint(shape, with_owned)))
    return _removed(shape, merged, sets.intersection(lost, parented(last)))


def _removed(shape: Shape, value: Obj, items: FieldSet) -> Obj:
    return (_without(shape, value, items) or {}) if items else value


def _without(shape: Shape, value: Any, items: FieldSet) -> Any:
    """Return a value without some of its members and items; null, if nothing is left."""
    match shape:
        case Leaf():
            return None if isinstance(value, dict | list) else value
        case Struct():
            if not isinstance(value, dict):
                return None if isinstance(value, list) else value
            return _without_members(shape, value, items) or None
        case ListMap():
            return _without_items(path_steps.maker(shape), shape.item, value, items)
        case SetOf():
            return _without_items(path_steps.of_set_item, shapes.LEAF, value, items)


def _without_members(shape: Struct, value: Obj, items: FieldSet) -> Obj:
    result = {}
    for name, member in value.items():
        node = items.get(f"f:{name}")
        if node is None:
            result[name] = member
        elif not sets.is_member(node):
            sub = shape.fields.get(name) or shape.others or shapes.LEAF
            result[name] = _without(sub, member, node)
    return result


def _without_items(
    step: Callable[[Any], str], item: Shape, value: Any, items: FieldSet
) -> list[Any] | None:
    result = []
    for one in value if isinstance(value, list) else ():
        node = items.get(step(one))
        if node is None:
            result.append(one)
        elif not sets.is_member(node):
            result.append(_without(item, one, node))
    return result or None
