"""Fields that a JSON text has twice, in the words of strict decoding."""

import json
from collections.abc import Iterator
from typing import Any

import orjson

from jobferry.localkube.apiserver.types import tables
from jobferry.localkube.apiserver.types.tables import Type
from jobferry.objects import gotext

_LIMIT = 100


def find(body: bytes, parsed: Any = None, api_version: str = "", kind: str = "") -> list[str]:
    """Return what is there twice: `duplicate field "spec.x"`, in the order of the text.

    `parsed` is the same as JSON values, if that is known already. With a built-in kind, what its type
    does not know, or does not look into, is left out, as API servers do.
    """
    if not may_be_in(body, parsed):
        return []
    found = strict(body, api_version, kind)
    return [each for each in found if each.startswith("duplicate")]


def merged(body: bytes) -> Any:
    """Return a JSON text in which what an object has twice is put together, as Go reads it into structs."""
    return json.loads(body, object_pairs_hook=_merge)


def _merge(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        found[key] = _onto(found.get(key), value)
    return found


def _onto(before: Any, value: Any) -> Any:
    """Return what Go has after it reads a value into where another one is: it does not clear that first."""
    if isinstance(before, dict) and isinstance(value, dict):
        return _merge([*before.items(), *value.items()])
    if isinstance(before, list) and isinstance(value, list):
        read = map(_onto, before, value)
        return [*read, *value[len(before) :]]
    return value


def strict(body: bytes, api_version: str = "", kind: str = "") -> list[str]:
    """Return duplicate and unknown fields in the order of the text; unknown ones only of built-in kinds."""
    try:
        pairs = json.loads(body, object_pairs_hook=_Pairs)
    except (ValueError, RecursionError):
        return []
    struct = tables.type_of(api_version, kind)
    type = tables.resolve(struct.name) if struct else None
    return list(dict.fromkeys(_walk(pairs, type, "")))[:_LIMIT]


def may_be_in(body: bytes, parsed: Any) -> bool:
    """Tell for sure that nothing is there twice, at little cost.

    Every pair has a colon. What is there twice is lost when parsed, and its colon with it; nothing else
    is: the colons within text are the same on both sides, unless they are written as escapes.
    """
    if b"\\u003" in body:
        return True
    try:
        again = orjson.dumps(orjson.loads(body) if parsed is None else parsed)
    except (ValueError, TypeError):
        return True
    return body.count(b":") != again.count(b":")


class _Pairs(list[Any]):
    """The members of an object, with those that are there twice."""


def _walk(value: Any, type: Type | None, path: str) -> Iterator[str]:
    if type is not None and type.kind == "pointer":
        type = type.element
    if isinstance(value, _Pairs):
        if type is None or type.kind == "map":
            yield from _walk_map(value, type.element if type else None, path)
        elif type.kind == "struct" and not tables.structure(type.name).custom:
            yield from _walk_struct(value, type.name, path)
    elif isinstance(value, list) and (type is None or type.kind == "slice"):
        element = type.element if type else None
        for index, item in enumerate(value):
            yield from _walk(item, element, f"{path}[{index}]")


def _walk_map(pairs: _Pairs, element: Type | None, path: str) -> Iterator[str]:
    seen = set()
    for key, item in pairs:
        here = f"{path}.{key}" if path else key
        if key in seen:
            yield f"duplicate field {gotext.quote(here)}"
        seen.add(key)
        yield from _walk(item, element, here)


def _walk_struct(pairs: _Pairs, name: str, path: str) -> Iterator[str]:
    known = {member.field.name: member.field.type for member in tables.members(name)}
    seen = set()
    for key, item in pairs:
        here = f"{path}.{key}" if path else key
        if key not in known:
            yield f"unknown field {gotext.quote(here)}"
            continue
        if key in seen:
            yield f"duplicate field {gotext.quote(here)}"
        seen.add(key)
        yield from _walk(item, known[key], here)
