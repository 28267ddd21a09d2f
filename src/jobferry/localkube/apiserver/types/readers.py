"""The readers of structs, lists and maps, compiled from the tables when they are first needed."""

import functools
import operator
from collections.abc import Callable
from typing import Any, NamedTuple

from jobferry.localkube.apiserver.types import leaves, schema_values, tables
from jobferry.localkube.apiserver.types.leaves import Notes, Path, Reader
from jobferry.localkube.apiserver.types.tables import Field, Type

Zero = Callable[[], Any]

_CUSTOM: dict[str, Reader] = {
    "api/resource.Quantity": leaves.quantity,
    "meta/v1.Time": leaves.time,
    "meta/v1.MicroTime": leaves.micro_time,
    "util/intstr.IntOrString": leaves.int_or_string,
    "meta/v1.FieldsV1": leaves.raw,
    "pkg/runtime.RawExtension": leaves.raw,
    "apiextensions/v1.JSON": leaves.raw,
}
_CUSTOM_ZEROS: dict[str, Any] = {
    "api/resource.Quantity": "0",
    "util/intstr.IntOrString": 0,
    "apiextensions/v1.JSONSchemaPropsOrBool": False,
}
_PLAIN_ZEROS: dict[str, Any] = {"string": "", "bool": False}

KEPT, GONE_IF_NULL, GONE_IF_EMPTY = range(3)
"""When a field is left out."""

_MOST_ROUTES = 256
_STRINGS = frozenset({str})


class _Entry(NamedTuple):
    """What is to be done with a field."""

    place: int
    """Its place in Go's order."""
    plain: type | None
    """Values of this type need no reading."""
    leave_out: int
    read: Reader
    mark: leaves.Mark


@functools.cache
def of_struct(name: str) -> Reader:
    """Return the reader of a struct, by its name in the tables."""
    if tables.structure(name).custom:
        return _custom(name)
    go = name.rpartition("/")[2]
    routes: dict[tuple[str, ...], _Route] = {}

    def read(value: Any, path: Path, notes: Notes) -> Any:
        if type(value) is not dict:
            if value is not None:
                notes.wrong(value, path, go)
            return zero_struct(name)
        if notes.in_order:
            return _read_in_order(value, path, notes, _plan(name))
        keys = tuple(value)
        route = routes.get(keys)
        if route is None:
            route = _route(_plan(name), keys)
            if len(routes) < _MOST_ROUTES and not route.unknown:
                routes[keys] = route
        if route.ordered:
            return _read_ordered(value, path, notes, route.steps)
        return _read_by_route(value, path, notes, route)

    return read


def _custom(name: str) -> Reader:
    if name in _CUSTOM:
        return _CUSTOM[name]
    return schema_values.reader(name, of_struct, _of_schemas)


def _of_schemas() -> Reader:
    return of_type(tables.resolve("[]apiextensions/v1.JSONSchemaProps"))


class _Plan(NamedTuple):
    """What is to be done with a struct."""

    entries: dict[str, _Entry]
    always: tuple[tuple[str, Zero], ...]
    """What is printed even if it was not given."""


@functools.cache
def _plan(name: str) -> _Plan:
    members = tables.members(name)
    owner = tables.structure(name).go
    entries = {
        member.field.name: _entry(index, member, owner) for index, member in enumerate(members)
    }
    always = tuple(
        (member.field.name, zero_of(member.field.type))
        for member in members
        if _leave_out(member.field) == KEPT
    )
    return _Plan(entries, always)


def _read_in_order(value: dict[str, Any], path: Path, notes: Notes, plan: _Plan) -> Any:
    """Read fields as they come, which is how Go finds what is wrong."""
    entries, always = plan
    out: dict[str, Any] = {}
    for key, item in value.items():
        entry = entries.get(key)
        if entry is None:
            notes.unknown(path, key)
            continue
        _, _, leave_out, read, mark = entry
        new = read(item, (path, key, mark), notes)
        if new or _stays(new, leave_out):
            out[key] = new
    for key, zero in always:
        if key not in out:
            out[key] = zero()
    return {key: out[key] for key in sorted(out, key=lambda key: entries[key].place)}


_Steps = tuple[tuple[str, type | None, int, Reader, leaves.Mark], ...]


class _Route(NamedTuple):
    """How a struct with certain keys is read: the keys of most objects are the same again and again."""

    steps: _Steps
    """In Go's order; also those for what is printed although it was not given."""
    ordered: bool
    unknown: tuple[str, ...]


def _route(plan: _Plan, keys: tuple[str, ...]) -> _Route:
    known = [(key, plan.entries[key]) for key in keys if key in plan.entries]
    missing = [
        (key, plan.entries[key]._replace(plain=None, read=_given(zero)))
        for key, zero in plan.always
        if key not in keys
    ]
    inner = sorted(known + missing, key=lambda each: each[1].place)
    steps = tuple((key, *entry[1:]) for key, entry in inner)
    unknown = tuple(key for key in keys if key not in plan.entries)
    return _Route(steps, known == inner and not unknown, unknown)


def _given(zero: Zero) -> Reader:
    return lambda _value, _path, _notes: zero()


def _read_ordered(value: dict[str, Any], path: Path, notes: Notes, steps: _Steps) -> Any:
    """Read the fields of a struct that is written as Go writes it: most often nothing changes."""
    out = None
    for key, plain, leave_out, read, mark in steps:
        item = value[key]
        if type(item) is plain:
            if item or leave_out != GONE_IF_EMPTY:
                continue
            new = item
        else:
            new = read(item, (path, key, mark), notes)
            if new is item and (new or _stays(new, leave_out)):
                continue
        if out is None:
            out = dict(value)
        if new or _stays(new, leave_out):
            out[key] = new
        else:
            del out[key]
    return value if out is None else out


def _stays(empty: Any, leave_out: int) -> bool:
    """Tell whether an empty value is printed."""
    return not leave_out or (leave_out == GONE_IF_NULL and empty is not None)


def _read_by_route(value: dict[str, Any], path: Path, notes: Notes, route: _Route) -> Any:
    """Read fields the quick way; if anything is wrong, all is read again in order."""
    out: dict[str, Any] = {}
    for key, plain, leave_out, read, mark in route.steps:
        item = value.get(key)
        new = item if type(item) is plain else read(item, (path, key, mark), notes)
        if new or _stays(new, leave_out):
            out[key] = new
    for key in route.unknown:
        notes.unknown(path, key)
    return out


def _entry(index: int, member: tables.Member, owner: str) -> _Entry:
    field = member.field
    plain = {"string": str, "bool": bool}.get(_pointed(field.type).kind)
    read = of_type(field.type)
    if _prints_null(field):
        read = _null_if_empty(read)
    return _Entry(index, plain, _leave_out(field), read, (owner, member.go_path))


def _leave_out(field: Field) -> int:
    kind = field.type.kind
    if field.omitzero and kind == "struct":
        return GONE_IF_NULL
    # Go's omitempty never leaves out a struct.
    if not field.omitempty or kind == "struct":
        return KEPT
    return GONE_IF_NULL if kind == "pointer" else GONE_IF_EMPTY


def _pointed(type: Type) -> Type:
    return type.element if type.kind == "pointer" else type


def _prints_null(field: Field) -> bool:
    """Tell whether an empty list comes back as null: protobuf, in storage, does not tell them apart."""
    is_collection = field.type.kind in ("slice", "map") and not field.type.is_bytes
    return is_collection and not field.omitempty


def _null_if_empty(read: Reader) -> Reader:
    def read_or_null(value: Any, path: Path, notes: Notes) -> Any:
        return read(value, path, notes) or None

    return read_or_null


@functools.cache
def of_type(type: Type) -> Reader:
    """Return the reader of a type."""
    match type.kind:
        case "pointer":
            return _pointer(of_type(type.element))
        case "slice" if type.is_bytes:
            return leaves.octets
        case "slice":
            return _slice(
                type.go, of_type(type.element), _pointed(type.element).kind == "string"
            )
        case "map":
            return _map(type.go, of_type(type.element), _pointed(type.element).kind == "string")
        case "struct":
            return of_struct(type.name)
        case "string":
            return leaves.string(type.go)
        case "bool":
            return leaves.boolean(type.go)
        case "float64":
            return leaves.number
        case "int32":
            return leaves.integer(type.go, -(2**31), 2**31 - 1)
        case _:
            return leaves.integer(type.go, -(2**63), 2**63 - 1)


def _pointer(inner: Reader) -> Reader:
    def read(value: Any, path: Path, notes: Notes) -> Any:
        return None if value is None else inner(value, path, notes)

    return read


def _slice(go: str, inner: Reader, of_strings: bool) -> Reader:
    def read(value: Any, path: Path, notes: Notes) -> Any:
        if type(value) is not list:
            if value is not None:
                notes.wrong(value, path, go)
            return None
        if of_strings and _STRINGS.issuperset(map(type, value)):
            return value
        found = [inner(item, (path, index), notes) for index, item in enumerate(value)]
        return found if any(map(operator.is_not, found, value)) else value

    return read


def _map(go: str, inner: Reader, of_strings: bool) -> Reader:
    def read(value: Any, path: Path, notes: Notes) -> Any:
        if type(value) is not dict:
            if value is not None:
                notes.wrong(value, path, go)
            return None
        if not (of_strings and _STRINGS.issuperset(map(type, value.values()))):
            found = {key: inner(item, (path, key), notes) for key, item in value.items()}
            if any(map(operator.is_not, found.values(), value.values())):
                value = found
        if len(value) < 2:
            return value
        keys = sorted(value)
        return value if keys == list(value) else {key: value[key] for key in keys}

    return read


@functools.cache
def zero_of(type: Type) -> Zero:
    """Return what makes the value of a field that nobody gave."""
    if type.kind != "struct":
        zero = (
            None if type.kind in ("pointer", "slice", "map") else _PLAIN_ZEROS.get(type.kind, 0)
        )
        return lambda: zero
    if tables.structure(type.name).custom:
        custom = _CUSTOM_ZEROS.get(type.name)
        return lambda: custom
    return lambda: zero_struct(type.name)


def zero_struct(name: str) -> dict[str, Any]:
    """Return a new struct in which nothing was given."""
    return {key: zero() for key, zero in _plan(name).always}
