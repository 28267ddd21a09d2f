"""Lists that are sets or maps: no item, or no key, may be there twice."""

from collections.abc import Callable, Hashable
from typing import Any

import orjson

from jobferry.localkube.apiserver import problems
from jobferry.localkube.apiserver.crds import pruning
from jobferry.localkube.apiserver.problems import Problem
from jobferry.objects import Obj


def has_unique_lists(schema: Obj | None) -> bool:
    """Tell whether there is any set or map below a schema."""
    if schema is None:
        return False
    return (
        schema.get("x-kubernetes-list-type") in ("set", "map")
        or has_unique_lists(schema.get("items"))
        or has_unique_lists(pruning.additional_of(schema)[1])
        or any(map(has_unique_lists, (schema.get("properties") or {}).values()))
    )


def thinned(schema: Obj | None) -> Obj | None:
    """Return a schema without what has no set or map below."""
    if schema is None or not has_unique_lists(schema):
        return None
    thin: Obj = {
        name: schema[name]
        for name in ("x-kubernetes-list-type", "x-kubernetes-list-map-keys")
        if name in schema
    }
    if items := thinned(schema.get("items")):
        thin["items"] = items
    if others := thinned(pruning.additional_of(schema)[1]):
        thin["additionalProperties"] = others
    properties = {
        name: inner
        for name, each in (schema.get("properties") or {}).items()
        if (inner := thinned(each))
    }
    if properties:
        thin["properties"] = properties
    return thin


Suspicion = Callable[[Any], bool]


def suspicion(schema: Obj) -> Suspicion:
    """Return a fast function that tells whether something may be there twice: `duplicates` knows for sure."""
    members = [
        (name, suspicion(each)) for name, each in (schema.get("properties") or {}).items()
    ]
    _, additional = pruning.additional_of(schema)
    others = suspicion(additional) if additional is not None else None
    item = schema.get("items")
    items = suspicion(item) if item is not None else None
    here = _suspicion_here(schema)

    def suspect(value: Any) -> bool:
        if value.__class__ is dict:
            for name, inner in members:
                if name in value and inner(value[name]):
                    return True
            return others is not None and any(map(others, value.values()))
        if value.__class__ is list:
            return here(value) or (items is not None and any(map(items, value)))
        return False

    return suspect


def _suspicion_here(schema: Obj) -> Suspicion:
    match schema.get("x-kubernetes-list-type"):
        case "set":
            return lambda values: len(values) > 1 and _may_repeat(values)
        case "map":
            names = tuple(schema.get("x-kubernetes-list-map-keys") or ())
            return lambda values: _keys_may_repeat(names, values)
    return lambda _values: False


def _may_repeat(values: list[Any]) -> bool:
    try:
        return len(set(values)) != len(values)
    except TypeError:
        return True


def _keys_may_repeat(names: tuple[str, ...], values: list[Any]) -> bool:
    try:
        if len(names) == 1:
            only = names[0]
            return _may_repeat([each.get(only) for each in values])
        return _may_repeat([tuple(map(each.get, names)) for each in values])
    except AttributeError:
        return True


def duplicates(schema: Obj | None, value: Any, path: str = "") -> list[Problem]:
    """Find what is there twice."""
    found: list[Problem] = []
    if schema is not None:
        _walk(schema, value, path, found)
    return found


def _walk(schema: Obj, value: Any, path: str, found: list[Problem]) -> None:
    if isinstance(value, dict):
        _, others = pruning.additional_of(schema)
        if others is not None:
            for name, each in value.items():
                _walk(others, each, f"{path}[{name}]", found)
        for name, inner in (schema.get("properties") or {}).items():
            if name in value:
                _walk(inner, value[name], f"{path}.{name}" if path else name, found)
    elif isinstance(value, list):
        found += _here(schema, value, path)
        if (item := schema.get("items")) is not None:
            for index, each in enumerate(value):
                _walk(item, each, f"{path}[{index}]", found)


def _here(schema: Obj, value: list[Any], path: str) -> list[Problem]:
    match schema.get("x-kubernetes-list-type"):
        case "set":
            return [
                problems.duplicate(f"{path}[{index}]", value[index])
                for index in _repeated(value)
            ]
        case "map":
            return _repeated_keys(schema, value, path)
    return []


def _marker(value: Any) -> Hashable:
    if isinstance(value, dict | list):
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    return (value.__class__, value)


def _repeated(values: list[Any]) -> list[int]:
    """Return where something is there for the second time."""
    seen: dict[Hashable, int] = {}
    found: list[int] = []
    for index, value in enumerate(values):
        marker = _marker(value)
        seen[marker] = seen.get(marker, 0) + 1
        if seen[marker] == 2:
            found.append(index)
    return found


def _repeated_keys(schema: Obj, items: list[Any], path: str) -> list[Problem]:
    for index, item in enumerate(items):
        if item is not None and not isinstance(item, dict):
            words = "must be an object for an array of list-type map"
            return [problems.invalid(f"{path}[{index}]", item, words)]
    names = schema.get("x-kubernetes-list-map-keys") or ()
    keys = [
        {name: item[name] for name in names if name in item} if item else {} for item in items
    ]
    return [problems.duplicate(f"{path}[{index}]", keys[index]) for index in _repeated(keys)]
