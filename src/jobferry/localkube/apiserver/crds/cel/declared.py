"""What a schema looks like to its rules: types, and how JSON becomes CEL's values."""

import re
from collections.abc import Callable
from typing import Any

from jobferry.localkube.apiserver.crds import correlation
from jobferry.localkube.apiserver.crds.cel import types, values
from jobferry.localkube.apiserver.crds.cel.syntax import RESERVED
from jobferry.localkube.apiserver.crds.cel.types import Field, Type
from jobferry.objects import Obj

Convert = Callable[[Any], Any] | None
Equality = Callable[[Any, Any], bool] | None

_TEXT: Obj = {"type": "string"}
_ESCAPES = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}


def escaped(name: str) -> str | None:
    """Return a field's name as rules write it; None: they cannot."""
    if not re.fullmatch(r"[A-Za-z_./-][A-Za-z0-9_./-]*", name):
        return None
    if name in RESERVED:
        return f"__{name}__"
    return re.sub(r"__|[-./]", lambda found: _ESCAPES[found[0]], name)


def declared(schema: Obj | None, *, root: bool = False) -> tuple[Type, Convert] | None:
    """Return the type of what a schema describes, and what makes a CEL value of it; None: rules do not see it."""
    if schema is None:
        return None
    if schema.get("x-kubernetes-int-or-string"):
        return types.DYN, None
    if root or schema.get("x-kubernetes-embedded-resource"):
        schema = _with_metadata(schema)
    match schema.get("type"):
        case "array":
            return _array(schema)
        case "object":
            return _object(schema)
        case "string":
            return _TEXTS.get(schema.get("format") or "", (types.STRING, None))
        case "boolean":
            return types.BOOL, None
        case "number":
            return types.DOUBLE, float
        case "integer":
            return types.INT, _integer
    return None


def _integer(value: Any) -> int:
    if value.__class__ is not int:
        raise values.CelError("invalid data, expected int, got float64")
    return value


_TEXTS: dict[str, tuple[Type, Convert]] = {
    "byte": (types.BYTES, values.from_byte),
    "duration": (types.DURATION, values.from_duration),
    "date": (types.TIMESTAMP, values.from_date),
    "date-time": (types.TIMESTAMP, values.from_date_time),
}


def _with_metadata(schema: Obj) -> Obj:
    """Every object has a type and a name, whether its schema says so or not; if it does, it may say more."""
    properties = schema.get("properties") or {}
    told = (properties.get("metadata") or {}).get("properties") or {}
    texts = (
        properties.get("kind"),
        properties.get("apiVersion"),
        told.get("name"),
        told.get("generateName"),
    )
    if all(each and each.get("type") == "string" for each in texts):
        return schema
    metadata = {"type": "object", "properties": {"name": _TEXT, "generateName": _TEXT}}
    own = {"kind": _TEXT, "apiVersion": _TEXT, "metadata": metadata}
    return {**schema, "properties": {**properties, **own}}


def _array(schema: Obj) -> tuple[Type, Convert] | None:
    inner = declared(schema.get("items"))
    if inner is None:
        return None
    item, convert = inner
    equality = _list_equality(schema, item)
    type_ = types.list_of(item, equality, _list_union(schema, item))
    if convert is None or convert is _integer:
        return type_, None
    return type_, lambda raw: [convert(each) for each in raw]


def _object(schema: Obj) -> tuple[Type, Convert] | None:
    additional = schema.get("additionalProperties")
    if isinstance(additional, dict):
        inner = declared(additional)
        if inner is None:
            return None
        value, convert = inner
        type_ = types.map_of(types.STRING, value, _map_equality(value))
        if convert is None or convert is _integer:
            return type_, None
        return type_, lambda raw: {key: convert(each) for key, each in raw.items()}
    fields: dict[str, Field] = {}
    for name, each in (schema.get("properties") or {}).items():
        found, alias = declared(each), escaped(name)
        if found is not None and alias is not None:
            fields[alias] = Field(name, *found)
    return Type("struct", "object", fields=fields, equality=_struct_equality(fields)), None


def _list_equality(schema: Obj, item: Type) -> Equality:
    kind = schema.get("x-kubernetes-list-type")
    inner = item.equality or values.equal
    if kind == "map":
        return lambda one, other: _same_entries(schema, inner, one, other)
    if kind == "set":
        return lambda one, other: (
            len(one) == len(other)
            and all(any(inner(each, member) for member in one) for each in other)
        )
    if item.equality is None:
        return None
    return lambda one, other: len(one) == len(other) and all(map(inner, one, other))


def _list_union(schema: Obj, item: Type) -> Callable[[Any, Any], Any] | None:
    kind = schema.get("x-kubernetes-list-type")
    if kind == "set":
        same = item.equality or values.equal
        return lambda one, other: (
            one + [each for each in other if not any(same(each, known) for known in one)]
        )
    if kind == "map":
        return lambda one, other: list(
            {**correlation.by_key(schema, one), **correlation.by_key(schema, other)}.values()
        )
    return None


def _same_entries(
    schema: Obj, inner: Callable[[Any, Any], bool], one: list[Any], other: list[Any]
) -> bool:
    known = correlation.by_key(schema, one)
    return len(one) == len(other) and all(
        (key := correlation.key_of(schema, each)) in known and inner(known[key], each)
        for each in other
    )


def _map_equality(value: Type) -> Equality:
    inner = value.equality
    if inner is None:
        return None
    return lambda one, other: (
        len(one) == len(other)
        and all(key in other and inner(each, other[key]) for key, each in one.items())
    )


def _struct_equality(fields: dict[str, Field]) -> Equality:
    """Compare members as their types ask for; None: comparing JSON does it."""
    special = {
        field.name: field
        for field in fields.values()
        if field.type.equality or field.convert not in (None, _integer)
    }
    if not special:
        return None

    def same(one: dict[str, Any], other: Any) -> bool:
        if other.__class__ is not dict or len(one) != len(other):
            return False
        for name, value in one.items():
            theirs = other.get(name)
            if value is None or theirs is None:
                if value is not theirs:
                    return False
            elif not _same_member(special.get(name), value, theirs):
                return False
        return True

    return same


def _same_member(field: Field | None, one: Any, other: Any) -> bool:
    if field is None:
        return values.equal(one, other)
    if field.convert:
        one, other = field.convert(one), field.convert(other)
    return (field.type.equality or values.equal)(one, other)


def loses_types(type_: Type, seen: frozenset[int] = frozenset()) -> bool:
    """Tell whether values mean something else once their type is forgotten."""
    if id(type_) in seen:
        return False
    below = seen | {id(type_)}
    return any(
        field.convert not in (None, _integer) or loses_types(field.type, below)
        for field in type_.fields.values()
    ) or any(loses_types(each, below) for each in type_.params)
