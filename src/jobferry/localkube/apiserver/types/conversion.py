"""What Go's converter from maps to structs says of a value of the wrong type.

It reads the result of a strategic merge patch, and words its errors in its own way.
"""

from typing import Any

from jobferry.localkube.apiserver.types import tables
from jobferry.localkube.apiserver.types.tables import Type

_KINDS = {
    str: "string",
    bool: "bool",
    int: "int64",
    float: "float64",
    dict: "map",
    list: "slice",
}
_NUMBERS = frozenset({"int32", "int64", "uint8", "float64"})


def misfit(api_version: str, kind: str, obj: Any) -> str | None:
    """Return what is said of the first value that does not fit; None: all fit, as far as can be told."""
    struct = tables.type_of(api_version, kind)
    return None if struct is None else _in_struct(struct.name, obj)


def _find(type: Type, value: Any) -> str | None:
    if value is None:
        return None
    match type.kind:
        case "pointer":
            return _find(type.element, value)
        case "struct":
            return _in_struct(type.name, value)
        case "map" | "slice":
            return _in_many(type, value)
        case _:
            return _plain(type, value)


def _in_struct(name: str, value: Any) -> str | None:
    if tables.structure(name).custom:
        return None  # it reads its own JSON, and has its own words
    if not isinstance(value, dict):
        return f"cannot restore struct from: {_KINDS[type(value)]}"
    found = (
        _find(each.field.type, value[each.field.name])
        for each in tables.members(name)
        if each.field.name in value
    )
    return next((each for each in found if each), None)


def _in_many(type: Type, value: Any) -> str | None:
    if type.is_bytes and isinstance(value, str):
        return None
    if not isinstance(value, dict if type.kind == "map" else list):
        return f"cannot restore {type.kind} from {_KINDS[value.__class__]}"
    each = value.values() if isinstance(value, dict) else value
    return next(filter(None, (_find(type.element, one) for one in each)), None)


def _plain(type: Type, value: Any) -> str | None:
    given, wanted = _KINDS[value.__class__], type.kind
    if given == wanted or (given == "int64" and wanted in _NUMBERS):
        return None
    if given == "float64" and wanted in _NUMBERS:
        return None if value.is_integer() else f"cannot convert float64 to {type.go}"
    if given == "int64" and wanted == "string":
        return f"cannot convert int64 to {type.go}"
    return f"unrecognized type: {wanted}"
