"""CEL's types, and how they agree with each other."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, eq=False)
class Type:
    """A type. Objects of schemas are known by identity, all others by name and parameters."""

    kind: str
    name: str
    params: tuple["Type", ...] = ()
    fields: Mapping[str, "Field"] = field(default_factory=dict)
    equality: Callable[[Any, Any], bool] | None = None
    """How values are compared; None: as they are."""
    union: Callable[[Any, Any], Any] | None = None
    """How a list is added to one of these; None: at its end."""

    def __str__(self) -> str:
        if self.kind == "type" and not self.params:
            return "type"
        if not self.params:
            return self.name
        return f"{self.name}({', '.join(map(str, self.params))})"

    def or_else(self, other: "Type | None") -> "Type":
        """Return this type; if it is none, another."""
        return other if self.kind == "error" and other is not None else self

    def exactly(self, other: "Type") -> bool:
        """Tell whether two types are the same."""
        if self is other:
            return True
        return (
            self.kind == other.kind
            and self.kind != "struct"
            and self.name == other.name
            and len(self.params) == len(other.params)
            and all(
                ours.exactly(theirs)
                for ours, theirs in zip(self.params, other.params, strict=True)
            )
        )


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """A member of an object: its name in the object, its type, and what makes a CEL value of it."""

    name: str
    type: Type
    convert: Callable[[Any], Any] | None


DYN = Type("dyn", "dyn")
ERROR = Type("error", "!error!")
NULL = Type("null", "null")
BOOL = Type("bool", "bool")
INT = Type("int", "int")
UINT = Type("uint", "uint")
DOUBLE = Type("double", "double")
STRING = Type("string", "string")
BYTES = Type("bytes", "bytes")
TIMESTAMP = Type("timestamp", "timestamp")
DURATION = Type("duration", "duration")
QUANTITY = Type("opaque", "kubernetes.Quantity")
URL = Type("opaque", "kubernetes.URL")
IP = Type("opaque", "net.IP")
CIDR = Type("opaque", "net.CIDR")
FORMAT = Type("opaque", "kubernetes.NamedFormat")
SEMVER = Type("opaque", "kubernetes.Semver")

BY_NAME: Mapping[str, Type] = {
    each.name: each
    for each in (DYN, BOOL, INT, UINT, DOUBLE, STRING, BYTES, TIMESTAMP, DURATION)
} | {
    "null": NULL,
    "Quantity": QUANTITY,
    "URL": URL,
    "IP": IP,
    "CIDR": CIDR,
    "Format": FORMAT,
    "Semver": SEMVER,
}


def list_of(
    item: Type,
    equality: Callable[[Any, Any], bool] | None = None,
    union: Callable[[Any, Any], Any] | None = None,
) -> Type:
    """Return the type of lists."""
    return Type("list", "list", (item,), equality=equality, union=union)


def map_of(key: Type, value: Type, equality: Callable[[Any, Any], bool] | None = None) -> Type:
    """Return the type of maps."""
    return Type("map", "map", (key, value), equality=equality)


def optional_of(value: Type) -> Type:
    """Return the type of values that may be missing."""
    return Type("opaque", "optional_type", (value,))


def type_of(value: Type) -> Type:
    """Return the type of a type."""
    return Type("type", "type", (value,))


def param(name: str) -> Type:
    """Return a type that stands for any."""
    return Type("param", name)


def unwrapped(type_: Type) -> tuple[Type, bool]:
    """Return what an optional type is about, and whether it is one."""
    if type_.kind == "opaque" and type_.name == "optional_type":
        return type_.params[0], True
    return type_, False


def is_open(type_: Type) -> bool:
    """Tell whether a type says nothing about its values."""
    return type_.kind in ("dyn", "error")


Bindings = dict[str, Type]
"""What type parameters stand for, by name."""


def substituted(bindings: Bindings, type_: Type, *, closed: bool = False) -> Type:
    """Put in what is known of type parameters; those not known become dyn when `closed`."""
    if type_.kind == "param":
        if type_.name in bindings:
            return substituted(bindings, bindings[type_.name], closed=closed)
        return DYN if closed else type_
    if not type_.params or type_.kind == "struct":
        return type_
    inner = tuple(substituted(bindings, each, closed=closed) for each in type_.params)
    if all(new is old for new, old in zip(inner, type_.params, strict=True)):
        return type_
    return Type(type_.kind, type_.name, inner, type_.fields, type_.equality, type_.union)


def agree(bindings: Bindings, left: list[Type], right: list[Type]) -> Bindings | None:
    """Return bindings with which each type on the left can stand for that on the right; None: there are none."""
    if len(left) != len(right):
        return None
    trial = dict(bindings)
    if all(_assignable(trial, one, other) for one, other in zip(left, right, strict=True)):
        return trial
    return None


def _assignable(bindings: Bindings, one: Type, other: Type) -> bool:
    if other.kind == "param":
        valid, bound = _bind(bindings, one, other)
        if valid or bound:
            return valid
    if one.kind == "param":
        return _bind(bindings, other, one)[0]
    if is_open(one) or is_open(other):
        return True
    if one.kind == "null" or other.kind == "null":
        rest = other if one.kind == "null" else one
        return rest.kind in ("null", "opaque", "struct", "timestamp", "duration")
    if one.kind == "type":
        return other.kind == "type"
    if one.kind in ("opaque", "list", "map"):
        return (
            one.kind == other.kind
            and one.name == other.name
            and len(one.params) == len(other.params)
            and all(
                _assignable(bindings, a, b)
                for a, b in zip(one.params, other.params, strict=True)
            )
        )
    return one.exactly(other)


def _bind(bindings: Bindings, type_: Type, variable: Type) -> tuple[bool, bool]:
    """Let a parameter stand for a type; return whether that works, and whether it stood for one before."""
    if type_.kind == "param" and type_.name == variable.name:
        return True, True
    known = bindings.get(variable.name)
    if known is not None:
        if type_.exactly(known):
            return True, True
        if _assignable(bindings, type_, known):
            general = type_ if less_specific(type_, known) else known
            if not _occurs(bindings, variable.name, general):
                bindings[variable.name] = general
            return True, True
        return False, True
    if _occurs(bindings, variable.name, type_):
        return False, False
    bindings[variable.name] = type_
    return True, False


def _occurs(bindings: Bindings, name: str, type_: Type) -> bool:
    if type_.kind == "param":
        if type_.name == name:
            return True
        known = bindings.get(type_.name)
        return known is not None and _occurs(bindings, name, known)
    return type_.kind != "struct" and any(
        _occurs(bindings, name, each) for each in type_.params
    )


def less_specific(one: Type, other: Type) -> bool:
    """Tell whether the first type says no more than the second."""
    if one.kind in ("dyn", "error", "param"):
        return True
    if other.kind in ("dyn", "error", "param") or one.kind != other.kind:
        return False
    if one.kind in ("list", "map", "opaque"):
        return one.name == other.name and all(
            less_specific(a, b) for a, b in zip(one.params, other.params, strict=False)
        )
    return one.kind == "type" or one.exactly(other)
