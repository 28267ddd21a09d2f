"""The wire format of protobuf: numbered fields, whatever they mean."""

from collections.abc import Callable, Iterator
from typing import Any

VARINT, FIXED64, BYTES, GROUP, END_GROUP, FIXED32 = range(6)

_MAX_LENGTH = 2**63


class Malformed(ValueError):
    """What was sent is no such message, in the words of Go's protobuf."""

    def __init__(self, message: str, api_version: str = "", kind: str = "") -> None:
        super().__init__(message)
        self.api_version = api_version
        self.kind = kind


def fields(
    data: bytes, message: str, check: Callable[[int, int], None] | None = None
) -> Iterator[tuple[int, int, Any]]:
    """Return number, wire type and value of all fields; groups are skipped.

    `check` gets number and wire type before the value is read.
    """
    at, end = 0, len(data)
    while at < end:
        tag, at = varint(data, at)
        number, wire = split(tag, message)
        if check is not None:
            check(number, wire)
        found, at = content(data, at, wire)
        yield number, wire, found


def split(tag: int, message: str) -> tuple[int, int]:
    """Return the number and the wire type that a tag stands for."""
    number, wire = (tag >> 3) & 0xFFFFFFFF, tag & 7
    if wire == END_GROUP:
        raise Malformed(f"proto: {message}: wiretype end group for non-group")
    if not 0 < number < 2**31:
        signed = number - 2**32 if number >= 2**31 else number
        raise Malformed(f"proto: {message}: illegal tag {signed} (wire type {tag})")
    return number, wire


def packed(data: bytes, wire: int) -> Iterator[Any]:
    """Return numbers that were sent as one field."""
    at = 0
    while at < len(data):
        found, at = content(data, at, wire)
        yield found


def content(data: bytes, at: int, wire: int) -> tuple[Any, int]:
    """Read the value of a field, and return where the next one begins."""
    if wire == VARINT:
        return varint(data, at)
    if wire == BYTES:
        length, at = varint(data, at)
        if length >= _MAX_LENGTH:
            raise Malformed("proto: negative length found during unmarshaling")
        return _slice(data, at, length)
    if wire in (FIXED64, FIXED32):
        return _slice(data, at, 8 if wire == FIXED64 else 4)
    if wire == GROUP:
        return None, _skip_group(data, at)
    raise Malformed(f"proto: illegal wireType {wire}")


def _slice(data: bytes, at: int, length: int) -> tuple[bytes, int]:
    end = at + length
    if end > len(data):
        raise Malformed("unexpected EOF")
    return data[at:end], end


def _skip_group(data: bytes, at: int) -> int:
    depth = 1
    while depth:
        tag, at = varint(data, at)
        wire = tag & 7
        if wire == GROUP:
            depth += 1
        elif wire == END_GROUP:
            depth -= 1
        else:
            _, at = content(data, at, wire)
    return at


def varint(data: bytes, at: int) -> tuple[int, int]:
    """Read a number, and return where what follows begins."""
    result = shift = 0
    while True:
        if shift >= 64:
            raise Malformed("proto: integer overflow")
        if at >= len(data):
            raise Malformed("unexpected EOF")
        byte = data[at]
        at += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result & 0xFFFFFFFFFFFFFFFF, at
        shift += 7


def need(found: int, wanted: int, field: str) -> None:
    """Refuse a field that is sent in another way than it must be."""
    if found != wanted:
        raise Malformed(f"proto: wrong wireType = {found} for field {field}")
