"""CEL's values where Python's own do not do: moments, durations, unsigned numbers, values that may be missing."""

import base64
import ipaddress
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from jobferry.localkube.apiserver.crds import formats
from jobferry.localkube.apiserver.crds.cel.types import Type
from jobferry.localkube.apiserver.crds.urls import Url
from jobferry.objects.quantities import Quantity

_SECOND = 10**9
_MOMENT = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d+))?(Z|z|[+-]\d\d:\d\d)?"
)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class CelError(Exception):
    """An expression that has no value for what it is given."""


class OutOfBudget(CelError):
    """An expression that takes too long, or too much."""

    def __init__(self) -> None:
        super().__init__("operation cancelled: actual cost limit exceeded")


LARGEST = 10_000_000
"""How long texts and lists may get that an expression makes: nothing that is sent is longer."""


class UInt(int):
    """An unsigned number."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, order=True)
class Timestamp:
    """A moment, in nanoseconds since 1970, and how many minutes the clock was ahead that it was read from."""

    ns: int
    ahead: int = field(default=0, compare=False)

    def at(self) -> datetime:
        """Return it to the microsecond."""
        return EPOCH + timedelta(microseconds=self.ns // 1000)

    def __str__(self) -> str:
        local = self.at() + timedelta(minutes=self.ahead)
        whole = local.replace(microsecond=0, tzinfo=None).isoformat()
        fraction = f".{self.ns % _SECOND:09d}".rstrip("0").rstrip(".")
        hours, minutes = divmod(abs(self.ahead), 60)
        zone = f"{'-' if self.ahead < 0 else '+'}{hours:02d}:{minutes:02d}"
        return f"{whole}{fraction}{zone if self.ahead else 'Z'}"


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    """A span of time, in nanoseconds."""

    ns: int

    def __str__(self) -> str:
        seconds, rest = divmod(abs(self.ns), _SECOND)
        # Go makes a floating-point number of it first.
        shown = f"{Decimal(repr(seconds + rest / 1e9)):f}".removesuffix(".0")
        return f"{'-' if self.ns < 0 else ''}{shown}s"


@dataclass(frozen=True, slots=True)
class Optional:
    """A value that may be missing."""

    present: bool
    value: Any = None


NONE = Optional(False)


@dataclass(frozen=True, slots=True)
class Format:
    """A named text format: what is wrong with a text."""

    name: str
    problems: Callable[[str], list[str]]


@dataclass(frozen=True, slots=True)
class Semver:
    """A semantic version, comparable by its parts."""

    numbers: tuple[int, int, int]
    before: tuple[tuple[int, int, str], ...]
    """Pre-release parts: numbers come before texts."""

    def rank(self) -> tuple[Any, ...]:
        """Return what versions are ordered by: one without a pre-release comes after those with."""
        return (self.numbers, not self.before, self.before)


@dataclass(frozen=True, slots=True)
class Cidr:
    """A network address, host part included."""

    address: ipaddress.IPv4Address | ipaddress.IPv6Address
    bits: int

    def network(self) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
        """Return it without its host part."""
        return ipaddress.ip_network((self.address, self.bits), strict=False)

    def __str__(self) -> str:
        return f"{self.address}/{self.bits}"


def kind_of(value: Any) -> str:
    """Return the name of the type that a value has when it is looked at."""
    if isinstance(value, Type):
        return "type"
    return _KINDS.get(value.__class__, "unknown")


_KINDS = {
    bool: "bool",
    int: "int",
    UInt: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    type(None): "null_type",
    list: "list",
    dict: "map",
    Timestamp: "google.protobuf.Timestamp",
    Duration: "google.protobuf.Duration",
    Optional: "optional_type",
    Quantity: "kubernetes.Quantity",
    Url: "kubernetes.URL",
    ipaddress.IPv4Address: "net.IP",
    ipaddress.IPv6Address: "net.IP",
    Cidr: "net.CIDR",
    Format: "kubernetes.NamedFormat",
    Semver: "kubernetes.Semver",
}
_NUMBERS = frozenset((int, UInt, float))
_BY_KIND = {
    "bool": (bool,),
    "int": (int,),
    "uint": (UInt,),
    "double": (float,),
    "string": (str,),
    "bytes": (bytes,),
    "null": (type(None),),
    "list": (list,),
    "map": (dict,),
    "struct": (dict,),
    "timestamp": (Timestamp,),
    "duration": (Duration,),
    "type": (Type,),
}


def accepts(type_: Type, value: Any) -> bool:
    """Tell whether a value has a type, as far as its outermost part shows."""
    if type_.kind in ("dyn", "param", "error"):
        return True
    if type_.kind == "opaque":
        return kind_of(value) == type_.name
    return value.__class__ in _BY_KIND[type_.kind]


def equal(one: Any, other: Any) -> bool:
    """Compare any two values: numbers across their types, nothing else."""
    kind, other_kind = one.__class__, other.__class__
    if kind is not other_kind:
        return kind in _NUMBERS and other_kind in _NUMBERS and bool(one == other)
    if kind is list:
        return len(one) == len(other) and all(map(equal, one, other))
    if kind is dict:
        return len(one) == len(other) and all(
            key in other and equal(value, other[key]) for key, value in one.items()
        )
    if kind is Type:
        return bool(one.name == other.name)
    return bool(one == other)


def moment(text: str) -> Timestamp:
    """Read a moment; raises `ValueError`."""
    found = _MOMENT.fullmatch(text)
    if found is None:
        raise ValueError(text)
    year, month, day, hour, minute, second = (int(found[part]) for part in range(1, 7))
    whole = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    zone = found[8] or "Z"
    ahead = 0
    if zone not in "Zz":
        ahead = (int(zone[1:3]) * 60 + int(zone[4:6])) * (1 if zone[0] == "+" else -1)
    seconds = (whole - EPOCH) // timedelta(seconds=1) - ahead * 60
    fraction = int((found[7] or "0")[:9].ljust(9, "0"))
    return Timestamp(seconds * _SECOND + fraction, ahead)


def from_date_time(text: str) -> Timestamp:
    """Make a moment of a `date-time` field."""
    try:
        return moment(text)
    except ValueError as error:
        raise CelError(f"Invalid date-time formatted string {text}: {error}") from error


def from_date(text: str) -> Timestamp:
    """Make a moment of a `date` field."""
    try:
        return moment(f"{text}T00:00:00Z")
    except ValueError as error:
        raise CelError(f"Invalid date formatted string {text}: {error}") from error


def from_duration(text: str) -> Duration:
    """Make a duration of a `duration` field."""
    nanoseconds = formats.duration(text)
    if nanoseconds is None:
        raise CelError(f"Invalid duration {text}: unable to parse {text} as duration")
    return Duration(nanoseconds)


def from_byte(text: str | list[Any]) -> bytes:
    """Make bytes of a `byte` field; schemas also let lists pass as bytes."""
    if not isinstance(text, str):
        raise CelError("invalid data, expected string, got []interface {}")
    try:
        return base64.b64decode(text.replace("-", "+").replace("_", "/"), validate=True)
    except ValueError as error:
        raise CelError(f"Invalid byte formatted string {text}: {error}") from error
