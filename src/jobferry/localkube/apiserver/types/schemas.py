"""The component schemas of OpenAPI v3, made from the tables; without descriptions."""

import functools
from collections.abc import Iterable, Mapping
from typing import Any

from jobferry.localkube.apiserver.types import tables
from jobferry.localkube.apiserver.types.tables import NO_DEFAULT, Field, Type
from jobferry.objects import Obj

_SCALARS: Mapping[str, Obj] = {
    "string": {"type": "string"},
    "bool": {"type": "boolean"},
    "int32": {"type": "integer", "format": "int32"},
    "int64": {"type": "integer", "format": "int64"},
    "float64": {"type": "number", "format": "double"},
}
_MARKS = {
    "list": "x-kubernetes-list-type",
    "keys": "x-kubernetes-list-map-keys",
    "map": "x-kubernetes-map-type",
    "merge": "x-kubernetes-patch-merge-key",
    "patch": "x-kubernetes-patch-strategy",
    "unions": "x-kubernetes-unions",
}
PREFIX = "#/components/schemas/"


def name_of(name: str) -> str:
    """Return the name of a type in OpenAPI, as in `io.k8s.api.batch.v1.Job`."""
    host, *path = tables.package_of(name).split("/")
    kind = name.rpartition(".")[2]
    return ".".join([*reversed(host.split(".")), *path, kind])


def collect(names: Iterable[str], versions: Iterable[tuple[str, str]]) -> dict[str, Obj]:
    """Return the schemas of types and of all that they refer to.

    `versions` are the groups and versions that are served: options and Status belong to each.
    """
    found: dict[str, Obj] = {}
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name_of(name) in found:
            continue
        schema = found[name_of(name)] = dict(schema_of(name))
        if kinds := _kinds(name, versions):
            schema["x-kubernetes-group-version-kind"] = kinds
        waiting.extend(_references(name))
    return dict(sorted(found.items()))


def _kinds(name: str, versions: Iterable[tuple[str, str]]) -> list[Obj]:
    found = []
    for api_version, kind, type in tables.kinds():
        if type != name or kind == "Patch":
            continue
        group, _, version = api_version.rpartition("/")
        own = versions if api_version == "meta" else [(group, version)]
        found += [{"group": group, "kind": kind, "version": version} for group, version in own]
    return found if not name.endswith("APIResourceList") else found[:1]


def _references(name: str) -> list[str]:
    struct = tables.structure(name)
    if struct.custom:
        return []
    return [
        found for member in tables.members(name) if (found := _struct_in(member.field.type))
    ]


def _struct_in(type: Type) -> str:
    while type.of is not None:
        type = type.of
    return type.name if type.kind == "struct" else ""


@functools.cache
def schema_of(name: str) -> Obj:
    """Return the schema of a type; it must not be changed."""
    struct = tables.structure(name)
    if struct.custom:
        schema: Obj = struct.marks["schema"]
        return schema
    members = tables.members(name)
    schema = {"type": "object"}
    if members:
        schema["properties"] = {
            member.field.name: _property(member.field)
            for member in sorted(members, key=lambda member: member.field.name)
        }
    if required := [member.field.name for member in members if member.field.required]:
        schema["required"] = required
    return {**schema, **_marked(struct.marks)}


def _property(field: Field) -> Obj:
    schema = _typed(field.type)
    if field.default is not NO_DEFAULT:
        schema = _with_default(schema, field.default)
    if enum := field.marks.get("enum"):
        inner = {"slice": "items", "map": "additionalProperties"}.get(field.type.kind)
        if inner:
            schema[inner] = {**schema[inner], "enum": enum}
        else:
            schema["enum"] = enum
    return {**schema, **_marked(field.marks)}


def _marked(marks: Mapping[str, Any]) -> Obj:
    return {_MARKS[key]: value for key, value in marks.items() if key in _MARKS}


def _with_default(schema: Obj, default: Any) -> Obj:
    """A reference may not have anything beside it, so it is put into a list of its own."""
    return {**schema, "default": default}


def _typed(type: Type) -> Obj:
    match type.kind:
        case "pointer":
            return _typed(type.element)
        case "struct":
            return {"allOf": [{"$ref": PREFIX + name_of(type.name)}]}
        case "slice" if type.is_bytes:
            return {"type": "string", "format": "byte"}
        case "slice":
            return {"type": "array", "items": _element(type.element)}
        case "map":
            return {"type": "object", "additionalProperties": _element(type.element)}
        case kind:
            return dict(_SCALARS[kind])


def _element(type: Type) -> Obj:
    schema = _typed(type)
    default = tables.usual_default(type)
    if default is not NO_DEFAULT:
        return _with_default(schema, default)
    if list(schema) == ["allOf"]:
        reference: Obj = schema["allOf"][0]
        return reference
    return schema
