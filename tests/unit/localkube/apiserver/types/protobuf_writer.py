"""Protobuf as a Go client writes it, for the tests: the reverse of what the server reads."""

import base64
import struct as packing
from datetime import UTC, datetime
from typing import Any

import orjson

from jobferry.localkube.apiserver.types import tables
from jobferry.localkube.apiserver.types.tables import Type
from jobferry.objects import Obj

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def body(api_version: str, kind: str, obj: Obj) -> bytes:
    """Return an object as the body of a request."""
    struct = tables.type_of(api_version, kind)
    assert struct is not None
    title = text(1, api_version) + text(2, kind)
    return b"k8s\x00" + chunk(1, title) + chunk(2, message(struct.name, obj)) + text(3, "")


def message(name: str, obj: Obj) -> bytes:
    written = b""
    for field in tables.structure(name).fields:
        if not field.number:
            continue
        if field.inline:
            written += chunk(field.number, message(field.type.name, obj))
        elif field.name in obj:
            written += value(field.number, field.type, obj[field.name])
    return written


def value(number: int, type: Type, given: Any) -> bytes:
    """Write a field; what is null is left out."""
    if type.kind == "pointer":
        return b"" if given is None else value(number, type.element, given)
    if given is None:
        return b""
    if type.kind == "map":
        entries = (text(1, key) + value(2, type.element, item) for key, item in given.items())
        return b"".join(chunk(number, entry) for entry in entries)
    if type.is_bytes:
        return chunk(number, base64.b64decode(given))
    if tables.is_wrapped(type):
        return chunk(number, b"".join(text(1, item) for item in given))
    if type.kind == "slice":
        return b"".join(value(number, type.element, item) for item in given)
    if type.kind == "struct":
        return chunk(number, custom(type.name, given))
    return scalar(number, type.kind, given)


def scalar(number: int, kind: str, given: Any) -> bytes:
    if kind == "string":
        return text(number, given)
    if kind == "float64":
        return varint(number << 3 | 1) + packing.pack("<d", given)
    return varint(number << 3) + varint(int(given))


def custom(name: str, given: Any) -> bytes:
    match name:
        case "api/resource.Quantity":
            return text(1, str(given))
        case "meta/v1.Time" | "meta/v1.MicroTime":
            passed = datetime.fromisoformat(given) - EPOCH
            seconds, nanos = divmod(
                passed.days * 86400 * 10**6 + passed.seconds * 10**6 + passed.microseconds,
                10**6,
            )
            return scalar(1, "int64", seconds) + scalar(2, "int32", nanos * 1000)
        case "util/intstr.IntOrString":
            is_text = isinstance(given, str)
            number = 0 if is_text else given
            return (
                scalar(1, "int64", is_text)
                + scalar(2, "int32", number)
                + text(3, given if is_text else "")
            )
        case "meta/v1.FieldsV1" | "pkg/runtime.RawExtension" | "apiextensions/v1.JSON":
            return chunk(1, orjson.dumps(given))
    return either(name, given) if tables.structure(name).custom else message(name, given)


def either(name: str, given: Any) -> bytes:
    """Write a schema, or what may be in its place."""
    schema = "apiextensions/v1.JSONSchemaProps"
    if name.endswith("OrBool"):
        inner = chunk(2, message(schema, given)) if isinstance(given, dict) else b""
        return scalar(1, "bool", given is not False) + inner
    if isinstance(given, dict):
        return chunk(1, message(schema, given))
    if name.endswith("OrStringArray"):
        return b"".join(text(2, item) for item in given)
    return b"".join(chunk(2, message(schema, item)) for item in given)


def text(number: int, given: str) -> bytes:
    return chunk(number, given.encode())


def chunk(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


def varint(number: int) -> bytes:
    number %= 2**64
    written = bytearray()
    while number >= 0x80:
        written.append(number & 0x7F | 0x80)
        number >>= 7
    written.append(number)
    return bytes(written)
