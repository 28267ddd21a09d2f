"""How the fields of built-in kinds are owned and merged, as kube-apiserver reads it off their OpenAPI."""

import functools
from collections.abc import Mapping
from typing import Any

from jobferry.localkube.apiserver import shapes
from jobferry.localkube.apiserver.shapes import LEAF, Leaf, ListMap, SetOf, Shape, Struct
from jobferry.localkube.apiserver.types import tables
from jobferry.localkube.apiserver.types.tables import NO_DEFAULT, Type

_UNTYPED = Leaf("untyped")
_CUSTOM: Mapping[str, Shape] = {
    "api/resource.Quantity": _UNTYPED,
    "meta/v1.Time": _UNTYPED,
    "meta/v1.MicroTime": _UNTYPED,
    "util/intstr.IntOrString": _UNTYPED,
    "pkg/runtime.RawExtension": LEAF,
}
_SCALARS = {"string": Leaf("string"), "bool": Leaf("boolean")}
_NUMERIC = Leaf("numeric")


@functools.cache
def shape_of(api_version: str, kind: str) -> Struct:
    """Return how the fields of a built-in kind are owned and merged."""
    struct = tables.type_of(api_version, kind)
    if struct is None:
        raise LookupError(f"{kind} of {api_version} is not in the tables")
    return _granular(struct.name)


_STRUCTS: dict[str, Struct] = {}


def _granular(name: str) -> Struct:
    """Return the shape of a struct whose fields are owned one by one."""
    if name not in _STRUCTS:
        fields: dict[str, Shape] = {}
        _STRUCTS[name] = Struct(fields)  # known before its fields are: it may contain itself
        for member in tables.members(name):
            fields[member.field.name] = _shape(member.field.type, member.field.marks)
    return _STRUCTS[name]


def _shape(type: Type, marks: Mapping[str, Any]) -> Shape:
    match type.kind:
        case "pointer":
            return _shape(type.element, marks)
        case "struct":
            return _struct(type.name, marks)
        case "map":
            mapped = Struct({}, _shape(type.element, {}))
            return Leaf(inner=mapped) if marks.get("map") == "atomic" else mapped
        case "slice":
            return _SCALARS["string"] if type.is_bytes else _list(type.element, marks)
        case kind:
            return _SCALARS.get(kind, _NUMERIC)


def _struct(name: str, marks: Mapping[str, Any]) -> Shape:
    struct = tables.structure(name)
    if struct.custom:
        return _CUSTOM.get(name, shapes.ANYTHING)
    relation = marks.get("map") or struct.marks.get("map")
    return Leaf(inner=_granular(name)) if relation == "atomic" else _granular(name)


def _list(item: Type, marks: Mapping[str, Any]) -> Shape:
    kind, keys = marks.get("list"), marks.get("keys", ())
    if kind is None and marks.get("patch", "").startswith("merge"):
        keys = (marks["merge"],) if "merge" in marks else ()
        kind = "map" if keys else "set"
    if kind == "set":
        return SetOf(_shape(item, {}))
    if kind == "map":
        return ListMap(tuple(keys), _shape(item, {}), _defaults(item.name, keys))
    return Leaf(inner=ListMap((), _shape(item, {})))


def _defaults(name: str, keys: tuple[str, ...]) -> dict[str, Any]:
    return {
        member.field.name: member.field.default
        for member in tables.members(name)
        if member.field.name in keys and member.field.default is not NO_DEFAULT
    }
