"""Strategic merge patch: a merge patch that knows which lists are sets of things with names.

A patch may also hold directives: `$patch` (replace or delete the object it is in, replace the list or
delete the item), `$retainKeys` (drop the other members), `$deleteFromPrimitiveList/<field>`,
`$setElementOrder/<field>`. Where Kubernetes leaves directives in what it takes over as a whole, so do we.
"""

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from jobferry.objects import Obj, govalues
from jobferry.objects.merge_keys import PLAIN, Field, Fields
from jobferry.objects.patch_errors import CannotMerge, DoesNotApply, Malformed, depth_limited

_PATCH = "$patch"
_RETAIN_KEYS = "$retainKeys"
_DELETE_FROM = "$deleteFromPrimitiveList"
_SET_ORDER = "$setElementOrder"

Items = list[Any]
Identify = Callable[[Any], tuple[type, Any]]


@depth_limited()
def apply(target: Obj, patch: Any, fields: Fields) -> Obj:
    """Return `target` as `patch` changes it; what is not changed is shared with it.

    `fields` are those of the object's kind, from `merge_keys.fields_of`.
    """
    if patch is None:
        return target
    if not isinstance(patch, dict):
        raise Malformed(
            f"json: cannot unmarshal {govalues.json_kind(patch)}"
            " into Go value of type map[string]interface {}"
        )
    return _merge(target, patch, fields)


def _merge(target: Obj, patch: Obj, fields: Fields) -> Obj:
    if _PATCH in patch:
        return _replacement(patch)
    merged = _retained(target, patch)
    orders = [key for key in patch if key.startswith(_SET_ORDER)]
    done = {_RETAIN_KEYS, *orders}
    for key in orders:
        done.add(_merge_ordered(merged, patch, key, fields))
    for key, value in patch.items():
        if key in done:
            continue
        if key.startswith(_DELETE_FROM):
            _delete_from_list(merged, key, value)
        else:
            _merge_member(merged, key, value, fields.get(key, PLAIN))
    return merged


def _replacement(patch: Obj) -> Obj:
    match patch[_PATCH]:
        case "replace":
            return {key: value for key, value in patch.items() if key != _PATCH}
        case "delete":
            return {}
    raise _unknown_directive(patch)


def _retained(target: Obj, patch: Obj) -> Obj:
    """Return a copy of `target` with only the members that `patch` wants to keep."""
    if _RETAIN_KEYS not in patch:
        return target.copy()
    wanted = patch[_RETAIN_KEYS]
    if not isinstance(wanted, list):
        raise Malformed("invalid patch format of retainKeys")
    keys = {key for key in wanted if isinstance(key, str)}
    for key, value in patch.items():
        is_directive = key == _RETAIN_KEYS or key.startswith((_DELETE_FROM, _SET_ORDER))
        if value is not None and not is_directive and key not in keys:
            raise Malformed("invalid patch format of retainKeys")
    return {key: value for key, value in target.items() if key in keys}


def _list_name(key: str, directive: str) -> str:
    prefix, slash, name = key.partition("/")
    if prefix != directive or not slash:
        kind = "primitive" if directive == _DELETE_FROM else "setElementOrder"
        raise Malformed(f"invalid patch format of {kind} list")
    return name


def _merge_member(merged: Obj, name: str, value: Any, field: Field) -> None:
    present = merged.get(name)
    if value is None:
        merged.pop(name, None)
    elif isinstance(present, dict) and isinstance(value, dict):
        replace = field.strategy == "replace"
        merged[name] = value if replace else _merge(present, value, field.fields)
    elif isinstance(present, list) and isinstance(value, list):
        merged[name] = _merge_lists(present, value, field)
    elif _is_directive(value):
        merged.pop(name, None)
    else:
        merged[name] = _plain(value)


def _is_directive(value: Any) -> bool:
    return isinstance(value, dict) and _PATCH in value


def _plain(value: Any, *, nulls: bool = False) -> Any:
    """Return what there was nothing to merge with, without directives and (unless told so) nulls."""
    if isinstance(value, dict):
        return {
            key: _plain(member, nulls=nulls)
            for key, member in value.items()
            if (nulls or member is not None) and not _is_directive(member)
        }
    if isinstance(value, list):
        return [_plain(item, nulls=nulls) for item in value if not _is_directive(item)]
    return value


def _delete_from_list(merged: Obj, key: str, value: Any) -> None:
    name = _list_name(key, _DELETE_FROM)
    present = merged.get(name)
    if value is None:
        merged.pop(name, None)
    elif isinstance(present, list) and isinstance(value, list) and (present or value):
        _check_items(present, value)
        gone = set(map(_identity, value))
        merged[name] = [item for item in present if _identity(item) not in gone]


def _merge_ordered(merged: Obj, patch: Obj, key: str, fields: Fields) -> str:
    """Merge a list, bring it into the order that the patch asks for, and return its name."""
    order = _list_in(patch, key) or []
    name = _list_name(key, _SET_ORDER)
    if name not in merged and name not in patch:
        return name
    present, wanted = _list_in(merged, name) or [], _list_in(patch, name) or []
    field = fields.get(name, PLAIN)
    identify = _identify_by(field.key)
    _check_order(wanted, order, identify)
    if name not in patch:
        items = present
    elif name not in merged:
        items = _plain(wanted, nulls=True)  # Kubernetes forgets them here
    else:
        items = _merge_lists(present, wanted, field)
    _check_items(present, wanted)
    before = _order_before(present, items, identify)
    merged[name] = _arranged(items, order, before, identify)
    return name


def _order_before(present: Items, items: Items, identify: Identify) -> Items:
    """Return the order that counts as the old one: new items have taken the places of deleted ones.

    Kubernetes owes that to deleting and appending in place, and everybody sees the order that results.
    """
    old, now = _places(present, identify), _places(items, identify)
    kept = [item for item in present if identify(item) in now]
    new = [item for item in items if identify(item) not in old]
    return (kept + new)[: len(present)]


def _list_in(parent: Obj, name: str) -> Items | None:
    if name not in parent:
        return None
    value = parent[name]
    if not isinstance(value, list):
        raise _unexpected([], value)
    return value


def _check_order(wanted: Items, order: Items, identify: Identify) -> None:
    """Refuse a list whose items are not all in `order`, or in another sequence."""
    if not order:
        return
    rest = deque(map(identify, order))
    for item in wanted:
        if _is_directive(item) and (rest or item[_PATCH] == "delete"):
            continue
        while rest and rest[0] != identify(item):
            rest.popleft()
        if not rest:  # where Kubernetes does not look at directives either
            raise CannotMerge(
                f"The order in patch list:\n{govalues.text(wanted)}\n"
                f" doesn't match {_SET_ORDER} list:\n{govalues.text(order)}\n"
            )
        rest.popleft()


def _merge_lists(present: Items, wanted: Items, field: Field) -> Items:
    if field.strategy != "merge":
        return wanted
    if not present and not wanted:
        return present
    _check_items(present, wanted)
    identify = _identify_by(field.key)
    if isinstance((present or wanted)[0], dict):
        present, wanted = _obey_items(present, wanted, identify)
        items = _merge_items(present, wanted, field.fields, identify)
    else:
        items = list({identify(item): item for item in present + wanted}.values())
    return _arranged(items, wanted, present, identify)


def _obey_items(present: Items, wanted: Items, identify: Identify) -> tuple[Items, Items]:
    """Carry out the directives among the items of a patch; return both lists without them."""
    plain = [item for item in wanted if not _is_directive(item)]
    gone = set()
    replace = False
    for item in filter(_is_directive, wanted):
        match item[_PATCH]:
            case "delete":
                gone.add(identify(item))
            case "replace":
                replace = True
            case "merge":
                raise CannotMerge("merging lists cannot yet be specified in the patch")
            case _:
                raise _unknown_directive(item)
    if replace:
        return plain, []
    return [item for item in present if identify(item) not in gone], plain


def _merge_items(present: Items, wanted: Items, fields: Fields, identify: Identify) -> Items:
    items = present.copy()
    places = _places(items, identify)
    for item in wanted:
        place = places.setdefault(identify(item), len(items))
        if place < len(items):
            items[place] = _merge(items[place], item, fields)
        else:
            items.append(item)
    return items


def _arranged(items: Items, order: Items, before: Items, identify: Identify) -> Items:
    """Put `items` that are in `order` in that order, and the others between them as they were `before`."""
    wanted, known = _places(order, identify), _places(before, identify)
    named = [item for item in items if identify(item) in wanted]
    others = [item for item in items if identify(item) not in wanted]
    named.sort(key=lambda item: wanted[identify(item)])
    others.sort(key=lambda item: known.get(identify(item), len(before)))

    arranged: Items = []
    waiting = deque(others)
    for item in named:
        place = known.get(identify(item), -1)
        while waiting and known.get(identify(waiting[0]), len(before)) < place:
            arranged.append(waiting.popleft())
        arranged.append(item)
    return [*arranged, *waiting]


def _places(items: Iterable[Any], identify: Identify) -> dict[tuple[type, Any], int]:
    """Return where each item is found first."""
    places: dict[tuple[type, Any], int] = {}
    for place, item in enumerate(items):
        places.setdefault(identify(item), place)
    return places


def _identify_by(key: str) -> Identify:
    """Return how the items of a list know each other: by their member `key`, or by themselves."""

    def identify(item: Any) -> tuple[type, Any]:
        if not isinstance(item, dict):
            raise _unexpected({}, item)
        if key not in item:
            raise CannotMerge(
                f"map: {govalues.text(item)} does not contain declared merge key: {key}"
            )
        return _identity(item[key])

    return identify if key else _identity


def _identity(value: Any) -> tuple[type, Any]:
    """Return something that equals only that of the same value; for Python, 1 and true are equal."""
    if isinstance(value, dict | list):  # on which Kubernetes drops the connection
        raise Malformed(f"{govalues.text(value)} stands where a plain value is needed")
    return type(value), value


def _check_items(*lists: Items) -> None:
    """Refuse lists that do not all hold values of one type, or that hold lists."""
    types = {type(item) for items in lists for item in items}
    if not types:
        raise CannotMerge("no elements in any of the given slices")
    if len(types) > 1:
        raise CannotMerge(f"list element types are not identical: {govalues.text(list(lists))}")
    if types <= {list, type(None)}:
        raise DoesNotApply("lists of lists are not supported")


def _unexpected(expected: Any, value: Any) -> CannotMerge:
    return CannotMerge(
        f"expected a {govalues.go_type(expected)}, but received a {govalues.go_type(value)}"
    )


def _unknown_directive(patch: Obj) -> CannotMerge:
    directive = govalues.text_as_string(patch[_PATCH])
    return CannotMerge(f"unknown patch type: {directive} in map: {govalues.text(patch)}")
