"""What Go's converter from maps to structs makes of values that do not fit.

It reads the result of a strategic merge patch, and words its errors in its own way.
"""

from typing import Any

from jobferry.localkube.apiserver.types import leaves, readers, tables
from jobferry.localkube.apiserver.types.leaves import Broken, Notes, Reader
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
_BITS = {"int32": 32, "int64": 64, "uint8": 8}


def misfit(api_version: str, kind: str, obj: Any) -> str | None:
    """Return what is said of the first value that does not fit; None: all do, or can be made to (`cut`)."""
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
        return _own_words(readers.of_struct(name), value)
    if not isinstance(value, dict):
        return f"cannot restore struct from: {_kind(value)}"
    found = (
        _find(each.field.type, value[each.field.name])
        for each in tables.members(name)
        if each.field.name in value
    )
    return next((each for each in found if each), None)


def _own_words(read: Reader, value: Any) -> str | None:
    """Return what is said of a value by who reads its JSON."""
    notes = Notes()
    try:
        read(value, None, notes)
    except Broken as error:
        return str(error)
    return None if notes.mismatch is None else str(notes.mismatch)


def _in_many(type: Type, value: Any) -> str | None:
    if type.is_bytes and isinstance(value, str):
        problem = _own_words(leaves.octets, value)
        return problem and f"error decoding from json: {problem}"
    if not isinstance(value, dict if type.kind == "map" else list):
        return f"cannot restore {type.kind} from {_kind(value)}"
    each = value.values() if isinstance(value, dict) else value
    return next(filter(None, (_find(type.element, one) for one in each)), None)


def _plain(type: Type, value: Any) -> str | None:
    given, wanted = _kind(value), type.kind
    if given == wanted or (given == "int64" and wanted in _NUMBERS):
        return None
    if given == "float64" and wanted in _NUMBERS:
        is_whole = isinstance(value, int) or value.is_integer()
        return None if is_whole else f"cannot convert float64 to {type.go}"
    if given == "int64" and wanted == "string":
        return f"cannot convert int64 to {type.go}"
    return f"unrecognized type: {wanted}"


def _kind(value: Any) -> str:
    if type(value) is int and not -(2**63) <= value < 2**63:
        return "float64"
    return _KINDS[type(value)]


def cut(api_version: str, kind: str, obj: Any) -> Any:
    """Return an object without misfits with numbers as Go converts them: what is too large loses its upper bits."""
    struct = tables.type_of(api_version, kind)
    return obj if struct is None else _cut(tables.resolve(struct.name), obj)


def _cut(type: Type, value: Any) -> Any:
    match type.kind:
        case "pointer":
            return _cut(type.element, value)
        case "struct" if isinstance(value, dict) and not tables.structure(type.name).custom:
            known = {each.field.name: each.field.type for each in tables.members(type.name)}
            return {
                key: _cut(known[key], each) if key in known else each
                for key, each in value.items()
            }
        case "slice" if isinstance(value, list):
            return [_cut(type.element, each) for each in value]
        case "int32" | "int64" | "uint8" if isinstance(value, int | float):
            return _low_bits(value, _BITS[type.kind], signed=type.kind != "uint8")
        case _:
            return value


def _low_bits(value: float, bits: int, *, signed: bool) -> int:
    whole = int(value) if -(2**63) <= value < 2**63 else -(2**63)
    room = 1 << bits
    low = whole % room
    return low - room if signed and low >= room // 2 else low
