"""Protobuf messages, read by the field numbers in the tables."""

import base64
import functools
import struct as packing
from collections.abc import Callable
from typing import Any, NamedTuple

import orjson

from jobferry.localkube.apiserver.types import gotime, leaves, tables, wire
from jobferry.localkube.apiserver.types.tables import Field, Type
from jobferry.localkube.apiserver.types.wire import (
    BYTES,
    FIXED64,
    VARINT,
    Malformed,
    fields,
    varint,
)
from jobferry.objects import Obj, quantities

__all__ = ["Envelope", "Malformed", "read", "read_envelope"]

_DEEPEST = 120
"""How many messages may be within each other. Only JSON schemas contain themselves."""


class Envelope(NamedTuple):
    """What is around every object (runtime.Unknown)."""

    api_version: str
    kind: str
    raw: bytes


def read_envelope(data: bytes) -> Envelope:
    """Read what is around an object."""
    parts = {1: b"", 2: b""}
    for number, _, value in fields(data, "Unknown", _bytes_for("TypeMeta", "Raw")):
        if number in parts:
            parts[number] = value
    names = {1: "", 2: ""}
    for number, _, value in fields(parts[1], "TypeMeta", _bytes_for("APIVersion", "Kind")):
        if number in names:
            names[number] = _text(value, 0)
    return Envelope(names[1], names[2], parts[2])


def _bytes_for(*names: str) -> Callable[[int, int], None]:
    """Return a check that the fields of these names, the first of a message, are sent as bytes."""

    def check(number: int, found: int) -> None:
        if number <= len(names):
            wire.need(found, BYTES, names[number - 1])

    return check


Convert = Callable[[Any, int], Any]
"""Makes a JSON value of what was sent, at a depth."""


SINGLE, REPEATED, MAP, INLINE = range(4)


class _Plan(NamedTuple):
    """What is to be done with a field."""

    name: str
    shape: int
    convert: Convert
    wire: int
    go: str


def read(name: str, data: bytes, depth: int = 0) -> Obj:
    """Read a message as a struct of the tables."""
    if depth > _DEEPEST:
        raise Malformed("proto: messages are nested too deeply")
    plans = _plans(name)
    out: Obj = {}
    at, end = 0, len(data)
    while at < end:
        tag, at = (data[at], at + 1) if data[at] < 0x80 else varint(data, at)
        plan = plans.get(tag)
        if plan is None:
            at = _read_other(out, name, data, at, tag, depth)
            continue
        if plan.wire == BYTES and at < end and at + data[at] < end and data[at] < 0x80:
            length, at = data[at], at + 1
            value, at = data[at : at + length], at + length
        else:
            value, at = wire.content(data, at, plan.wire)
        if plan.shape == SINGLE:
            out[plan.name] = plan.convert(value, depth)
        else:
            _put(out, plan, plan.convert(value, depth))
    return out


def _put(out: Obj, plan: _Plan, value: Any) -> None:
    if plan.shape == REPEATED:
        out.setdefault(plan.name, []).append(value)
    elif plan.shape == MAP:
        out.setdefault(plan.name, {}).update(value)
    else:
        out.update(value)


def _read_other(out: Obj, name: str, data: bytes, at: int, tag: int, depth: int) -> int:
    """Read what is not sent as expected: fields of later versions are skipped, numbers may be packed."""
    number, found = wire.split(tag, name.rpartition(".")[2])
    plan = _by_number(name).get(number)
    if plan is not None and not (plan.shape == REPEATED and found == BYTES):
        wire.need(found, plan.wire, plan.go)
    value, at = wire.content(data, at, found)
    if plan is not None:
        numbers = out.setdefault(plan.name, [])
        numbers.extend(plan.convert(each, depth) for each in wire.packed(value, plan.wire))
    return at


@functools.cache
def _by_number(name: str) -> dict[int, _Plan]:
    struct = tables.structure(name)
    return {each.number: _plan(each) for each in struct.fields if each.number}


@functools.cache
def _plans(name: str) -> dict[int, _Plan]:
    """Return what is to be done, by the tag (number and wire type) that fields are sent with."""
    return {number << 3 | plan.wire: plan for number, plan in _by_number(name).items()}


# Go's names are not in the tables: they matter in messages only.
_GO_NAMES = {"metadata": "ObjectMeta"}


def _plan(field: Field) -> _Plan:
    type = field.type.element if field.type.kind == "pointer" else field.type
    go = _GO_NAMES.get(field.name) or field.name[:1].upper() + field.name[1:]
    shape, sent = SINGLE, type
    if field.inline:
        shape = INLINE
    elif type.kind == "map":
        return _Plan(field.name, MAP, _entry(type.element), BYTES, go)
    elif type.kind == "slice" and not type.is_bytes and not tables.is_wrapped(type):
        shape, sent = REPEATED, type.element
    return _Plan(field.name, shape, _converter(sent), _wire(sent), go)


def _wire(type: Type) -> int:
    if type.kind in ("bool", "int32", "int64"):
        return VARINT
    return FIXED64 if type.kind == "float64" else BYTES


def _converter(type: Type) -> Convert:
    if type.kind == "struct":
        return _MESSAGES.get(type.name) or _message(type.name)
    if tables.is_wrapped(type):
        return _strings
    return _PLAIN["bytes" if type.is_bytes else type.kind]


def _message(name: str) -> Convert:
    return lambda value, depth: read(name, value, depth + 1)


def _entry(type: Type) -> Convert:
    convert, wanted = _converter(type), _wire(type)
    nothing: Any = b"" if wanted == BYTES else 0 if wanted == VARINT else bytes(8)

    def read_entry(data: bytes, depth: int) -> dict[str, Any]:
        key, value = "", nothing
        for number, found, content in fields(data, "entry"):
            if number == 1:
                wire.need(found, BYTES, "mapkey")
                key = _text(content, depth)
            elif number == 2:
                wire.need(found, wanted, "mapvalue")
                value = content
        return {key: convert(value, depth)}

    return read_entry


def _text(value: bytes, _depth: int) -> str:
    return value.decode(errors="replace")


def _strings(value: bytes, depth: int) -> list[str]:
    return [
        _text(each, depth) for number, _, each in fields(value, "ExtraValue") if number == 1
    ]


def _signed(bits: int) -> Convert:
    half, whole = 1 << (bits - 1), 1 << bits

    def convert(value: int, _depth: int) -> int:
        value %= whole
        return value - whole if value >= half else value

    return convert


_PLAIN: dict[str, Convert] = {
    "string": _text,
    "bool": lambda value, _depth: value != 0,
    "int32": _signed(32),
    "int64": _signed(64),
    "float64": lambda value, _depth: packing.unpack("<d", value)[0],
    "bytes": lambda value, _depth: base64.b64encode(value).decode(),
}


def _numbers(value: bytes, message: str) -> dict[int, Any]:
    """Return the last value of every field."""
    return {number: content for number, _, content in fields(value, message)}


def _quantity(value: bytes, depth: int) -> Any:
    found = _numbers(value, "Quantity").get(1)
    try:
        return (
            leaves.canonical_quantity(_text(found, depth)) if isinstance(found, bytes) else None
        )
    except quantities.BadQuantity as error:
        raise Malformed(error.reason) from error


def _time(*, micro: bool) -> Convert:
    def convert(value: bytes, depth: int) -> str | None:
        if not value:
            return None
        found = {
            number: content for number, kind, content in fields(value, "Timestamp") if not kind
        }
        seconds = _PLAIN["int64"](found.get(1, 0), depth)
        nanoseconds = _PLAIN["int32"](found.get(2, 0), depth)
        try:
            return gotime.from_seconds(seconds, nanoseconds, micro=micro)
        except gotime.BadTime as error:
            raise Malformed(str(error)) from error

    return convert


def _int_or_string(value: bytes, depth: int) -> Any:
    found = _numbers(value, "IntOrString")
    if found.get(1, 0):
        text = found.get(3, b"")
        return _text(text, depth) if isinstance(text, bytes) else ""
    number = found.get(2, 0)
    return _PLAIN["int32"](number, depth) if isinstance(number, int) else 0


def _fields_v1(value: bytes, depth: int) -> Any:
    """Read what nobody looks into before it is merged; if it makes no sense then, it is forgotten."""
    try:
        return _json(value, depth)
    except Malformed:
        return None


def _json(value: bytes, _depth: int) -> Any:
    raw = _numbers(value, "RawExtension").get(1)
    if not isinstance(raw, bytes) or not raw:
        return None
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise Malformed(f"invalid JSON within a protobuf message: {error}") from error


_SCHEMA = "apiextensions/v1.JSONSchemaProps"


def _schema_or(other: int, schema: int) -> Convert:
    def convert(value: bytes, depth: int) -> Any:
        found: list[tuple[int, int, Any]] = list(fields(value, "JSONSchemaPropsOr"))
        for number, kind, content in found:
            if number == schema and kind == BYTES:
                return read(_SCHEMA, content, depth + 1)
        others = [content for number, _, content in found if number == other]
        if schema == 2:
            return bool(others and others[-1])
        return [_schema_or_text(other, content, depth) for content in others]

    return convert


def _schema_or_text(_number: int, content: Any, depth: int) -> Any:
    return read(_SCHEMA, content, depth + 1) if isinstance(content, bytes) else None


def _schema_or_strings(value: bytes, depth: int) -> Any:
    found = list(fields(value, "JSONSchemaPropsOrStringArray"))
    for number, kind, content in found:
        if number == 1 and kind == BYTES:
            return read(_SCHEMA, content, depth + 1)
    return [
        _text(content, depth)
        for number, kind, content in found
        if number == 2 and kind == BYTES
    ]


_MESSAGES: dict[str, Convert] = {
    "api/resource.Quantity": _quantity,
    "meta/v1.Time": _time(micro=False),
    "meta/v1.MicroTime": _time(micro=True),
    "util/intstr.IntOrString": _int_or_string,
    "pkg/runtime.RawExtension": _json,
    "meta/v1.FieldsV1": _fields_v1,
    "apiextensions/v1.JSON": _json,
    "apiextensions/v1.JSONSchemaPropsOrArray": _schema_or(2, 1),
    "apiextensions/v1.JSONSchemaPropsOrBool": _schema_or(1, 2),
    "apiextensions/v1.JSONSchemaPropsOrStringArray": _schema_or_strings,
}
