"""CEL's standard functions and operators, and those on values that may be missing."""

import math
import operator
import re
from collections.abc import Callable  # noqa: TC003  # lambdas are checked with it
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from jobferry.localkube.apiserver.crds import formats, patterns
from jobferry.localkube.apiserver.crds.cel import types, values
from jobferry.localkube.apiserver.crds.cel.library import declare
from jobferry.localkube.apiserver.crds.cel.values import (
    CelError,
    Duration,
    Timestamp,
    UInt,
)
from jobferry.objects import gotext

_SECOND = 10**9
MOMENTS = ("google.protobuf.Timestamp", "google.protobuf.Duration")
COMPARABLE = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
_NUMERIC = ("int", "uint", "double")
_EARLIEST, _LATEST = -62135596800 * _SECOND, 253402300800 * _SECOND


def _int(number: int) -> int:
    if not -(2**63) <= number < 2**63:
        raise CelError("integer overflow")
    return number


def _uint(number: int) -> UInt:
    if not 0 <= number < 2**64:
        raise CelError("unsigned integer overflow")
    return UInt(number)


def _duration(number: int) -> Duration:
    if not -(2**63) <= number < 2**63:
        raise CelError("duration overflow")
    return Duration(number)


def _timestamp(number: int, ahead: int = 0) -> Timestamp:
    if not _EARLIEST <= number < _LATEST:
        raise CelError("timestamp overflow")
    return Timestamp(number, ahead)


def _quotient(one: int, other: int) -> int:
    if other == 0:
        raise CelError("division by zero")
    size = abs(one) // abs(other)
    return size if (one < 0) == (other < 0) else -size


def _remainder(one: int, other: int) -> int:
    if other == 0:
        raise CelError("modulus by zero")
    _int(_quotient(one, other) if other == -1 else 0)
    return one - other * _quotient(one, other)


def _divided(one: float, other: float) -> float:
    if other == 0:
        if one == 0 or math.isnan(one):
            return math.nan
        return math.copysign(math.inf, one) * math.copysign(1, other)
    return one / other


def _joined(one: Any, other: Any) -> Any:
    if len(one) + len(other) > values.LARGEST:
        raise values.OutOfBudget
    return one + other


def _arithmetic() -> None:
    number: Callable[[Any, Any], Any]
    for sign, number in (("+", operator.add), ("-", operator.sub), ("*", operator.mul)):
        name = f"_{sign}_"
        if sign == "+":
            declare(name, "bytes, bytes -> bytes", operator.add, plain=True)
        declare(name, "double, double -> double", number, plain=True)
        declare(name, "int, int -> int", lambda a, b, f=number: _int(f(a, b)))
        declare(name, "uint, uint -> uint", lambda a, b, f=number: _uint(f(a, b)))
    declare("_+_", "duration, duration -> duration", lambda a, b: _duration(a.ns + b.ns))
    declare(
        "_+_", "duration, timestamp -> timestamp", lambda a, b: _timestamp(a.ns + b.ns, b.ahead)
    )
    declare(
        "_+_", "timestamp, duration -> timestamp", lambda a, b: _timestamp(a.ns + b.ns, a.ahead)
    )
    declare("_+_", "list(A), list(A) -> list(A)", _joined)
    declare("_+_", "string, string -> string", _joined)
    declare("_-_", "duration, duration -> duration", lambda a, b: _duration(a.ns - b.ns))
    declare(
        "_-_", "timestamp, duration -> timestamp", lambda a, b: _timestamp(a.ns - b.ns, a.ahead)
    )
    declare("_-_", "timestamp, timestamp -> duration", lambda a, b: _duration(a.ns - b.ns))
    declare("_/_", "double, double -> double", _divided, plain=True)
    declare("_/_", "int, int -> int", lambda a, b: _int(_quotient(a, b)))
    declare("_/_", "uint, uint -> uint", lambda a, b: _uint(_quotient(a, b)))
    declare("_%_", "int, int -> int", _remainder, plain=True)
    declare("_%_", "uint, uint -> uint", lambda a, b: _uint(_remainder(a, b)))
    declare("-_", "double -> double", operator.neg, plain=True)
    declare("-_", "int -> int", lambda a: _int(-a))
    declare("!_", "bool -> bool", operator.not_, plain=True)


def _comparisons() -> None:
    signs: tuple[tuple[str, Callable[[Any, Any], Any]], ...] = (
        ("<", operator.lt),
        ("<=", operator.le),
        (">", operator.gt),
        (">=", operator.ge),
    )
    for sign, compare in signs:
        for kind in COMPARABLE:
            declare(f"_{sign}_", f"{kind}, {kind} -> bool", compare, plain=True)
        for one in _NUMERIC:
            for other in _NUMERIC:
                if one != other:
                    declare(f"_{sign}_", f"{one}, {other} -> bool", compare)


def item_at(items: list[Any], index: Any) -> Any:
    """Return an item of a list."""
    if index.__class__ is float and index == int(index):
        index = int(index)
    if not isinstance(index, int) or isinstance(index, bool):
        raise CelError(f"unsupported index type '{values.kind_of(index)}' in list")
    if not 0 <= index < len(items):
        raise CelError(f"index out of bounds: {index}")
    return items[index]


def value_at(entries: dict[Any, Any], key: Any) -> Any:
    """Return the value of a key."""
    try:
        return entries[key]
    except (KeyError, TypeError):
        raise CelError(f"no such key: {text_of(key)}") from None


def _indexing() -> None:
    declare("_[_]", "list(A), int -> A", item_at, plain=True)
    declare("_[_]", "map(A, B), A -> B", value_at)
    for kind in ("bytes", "list(A)", "map(A, B)", "string"):
        declare("size", f"{kind} -> int", len, plain=True)
        declare("size", f"{kind}.() -> int", len)


def text_of(value: Any) -> str:
    """Return a value as `string()` does."""
    match value:
        case bool():
            return "true" if value else "false"
        case float():
            return _double_text(value)
        case bytes():
            try:
                return value.decode()
            except UnicodeDecodeError:
                raise CelError("invalid UTF-8 in bytes, cannot convert to string") from None
        case _:
            return str(value)


def _double_text(number: float) -> str:
    if math.isinf(number) or math.isnan(number):
        return {"inf": "+Inf", "-inf": "-Inf"}.get(str(number), "NaN")
    sign, digits, exponent = Decimal(repr(number)).normalize().as_tuple()
    power = len(digits) + int(exponent) - 1
    if not number or -4 <= power < 6:
        return f"{Decimal(repr(number)):f}".removesuffix(".0")
    first, *rest = map(str, digits)
    mantissa = f"{first}.{''.join(rest)}" if rest else first
    return f"{'-' if sign else ''}{mantissa}e{'-' if power < 0 else '+'}{abs(power):02d}"


def _cannot(source: str, target: str) -> CelError:
    return CelError(f"type conversion error from '{source}' to '{target}'")


def _int_from_text(text: str) -> int:
    number = gotext.parse_int(text)
    if number is None:
        raise _cannot("string", "int")
    return number


def _uint_from_text(text: str) -> UInt:
    if not text.isdecimal() or not text.isascii() or int(text) >= 2**64:
        raise _cannot("string", "uint")
    return UInt(int(text))


def _double_from_text(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = None
    if number is None or text != text.strip():
        raise _cannot("string", "double")
    return number


def _bool_from_text(text: str) -> bool:
    if text in ("1", "t", "T", "TRUE", "true", "True"):
        return True
    if text in ("0", "f", "F", "FALSE", "false", "False"):
        return False
    raise _cannot("string", "bool")


def _int_from_double(number: float) -> int:
    if math.isnan(number) or not -(2.0**63) < number < 2.0**63:
        raise CelError("integer overflow")
    return int(number)


def _uint_from_double(number: float) -> UInt:
    if math.isnan(number) or not -1 < number < 2.0**64:
        raise CelError("unsigned integer overflow")
    return _uint(int(number))


def duration_from_text(text: str) -> Duration:
    """Read a duration as Go writes them."""
    nanoseconds = formats.go_duration(text)
    if nanoseconds is None:
        raise _cannot("string", "google.protobuf.Duration")
    return Duration(nanoseconds)


def timestamp_from_text(text: str) -> Timestamp:
    """Read a moment as RFC 3339 writes it."""
    try:
        if re.search(r"[Z+-]", text[19:]) and text[10:11] == "T":
            found = values.moment(text.replace(",", ".", 1))
            return _timestamp(found.ns, found.ahead)
    except ValueError:
        pass
    raise _cannot("string", "google.protobuf.Timestamp")


def timestamp_from_seconds(seconds: int) -> Timestamp:
    """Return the moment so many seconds after 1970 began."""
    return _timestamp(seconds * _SECOND)


def _no_duration(_number: int) -> Duration:
    raise _cannot("int", "google.protobuf.Duration")


def _same(value: Any) -> Any:
    return value


def _conversions() -> None:
    declare("bool", "bool -> bool", _same)
    declare("bool", "string -> bool", _bool_from_text)
    declare("bytes", "bytes -> bytes", _same)
    declare("bytes", "string -> bytes", str.encode)
    declare("double", "double -> double", _same)
    declare("double", "int -> double", float)
    declare("double", "string -> double", _double_from_text)
    declare("double", "uint -> double", float)
    declare("duration", "duration -> duration", _same)
    declare("duration", "int -> duration", _no_duration)
    declare("duration", "string -> duration", duration_from_text)
    declare("dyn", "A -> dyn", _same)
    declare("int", "int -> int", _same)
    declare("int", "double -> int", _int_from_double)
    declare("int", "duration -> int", lambda span: span.ns)
    declare("int", "string -> int", _int_from_text)
    declare("int", "timestamp -> int", lambda at: at.ns // _SECOND)
    declare("int", "uint -> int", lambda number: _int(int(number)))
    for kind in COMPARABLE:
        declare("string", f"{kind} -> string", text_of)
    declare("timestamp", "timestamp -> timestamp", _same)
    declare("timestamp", "int -> timestamp", timestamp_from_seconds)
    declare("timestamp", "string -> timestamp", timestamp_from_text)
    declare("uint", "uint -> uint", _same)
    declare("uint", "double -> uint", _uint_from_double)
    declare("uint", "int -> uint", _uint)
    declare("uint", "string -> uint", _uint_from_text)


def matches(text: str, pattern: str) -> bool:
    """Tell whether a pattern is found in a text."""
    try:
        return patterns.compiled(pattern).found_in(text)
    except (patterns.BadPattern, patterns.Untranslatable) as error:
        raise CelError(str(error)) from error


def _texts() -> None:
    declare("contains", "string.(string) -> bool", operator.contains, plain=True)
    declare("endsWith", "string.(string) -> bool", str.endswith, plain=True)
    declare("startsWith", "string.(string) -> bool", str.startswith, plain=True)
    declare("matches", "string, string -> bool", matches, plain=True)
    declare("matches", "string.(string) -> bool", matches)


def _local(at: datetime, zone: str) -> datetime:
    sign = -1 if zone.startswith("-") else 1
    hours, colon, minutes = zone.lstrip("+-").partition(":")
    try:
        if colon:
            return at + sign * timedelta(hours=int(hours), minutes=int(minutes))
        return at.astimezone(ZoneInfo(zone or "UTC"))
    except (ValueError, OverflowError, ZoneInfoNotFoundError, OSError):
        raise CelError(f"unknown time zone {zone}") from None


def _clock_parts() -> None:
    parts: dict[str, Callable[[datetime], int]] = {
        "getFullYear": lambda at: at.year,
        "getMonth": lambda at: at.month - 1,
        "getDayOfYear": lambda at: at.timetuple().tm_yday - 1,
        "getDayOfMonth": lambda at: at.day - 1,
        "getDate": lambda at: at.day,
        "getDayOfWeek": lambda at: at.isoweekday() % 7,
        "getHours": lambda at: at.hour,
        "getMinutes": lambda at: at.minute,
        "getSeconds": lambda at: at.second,
        "getMilliseconds": lambda at: at.microsecond // 1000,
    }
    for name, part in parts.items():
        declare(name, "timestamp.() -> int", lambda at, f=part: f(at.at()), plain=True)
        declare(
            name,
            "timestamp.(string) -> int",
            lambda at, zone, f=part: f(_local(at.at(), zone)),
        )
    sizes = {"getHours": 3600, "getMinutes": 60, "getSeconds": 1}
    for name, size in sizes.items():
        declare(
            name, "duration.() -> int", lambda span, s=size: _quotient(span.ns, s * _SECOND)
        )
    declare("getMilliseconds", "duration.() -> int", lambda span: _quotient(span.ns, 10**6))


CONSTANTS = {
    name: types.BY_NAME[name] for name in ("bool", "bytes", "double", "int", "string", "uint")
} | {
    "null_type": types.NULL,
    "list": types.list_of(types.DYN),
    "map": types.map_of(types.DYN, types.DYN),
    "google.protobuf.Timestamp": types.TIMESTAMP,
    "google.protobuf.Duration": types.DURATION,
    "net.IP": types.IP,
    "net.CIDR": types.CIDR,
    "optional_type": types.optional_of(types.DYN),
    "type": types.type_of(types.DYN),
}
"""Types that expressions may name."""

RUNTIME_TYPES = {
    name: types.Type("type", name)
    for name in (
        *CONSTANTS,
        "kubernetes.Quantity",
    )
}


def type_named(name: str) -> types.Type:
    """Return a type as a value."""
    return RUNTIME_TYPES.get(name) or types.Type("type", name)


_arithmetic()
_comparisons()
_indexing()
_conversions()
_texts()
_clock_parts()
