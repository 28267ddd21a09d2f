"""The tables of the built-in kinds: structs with their fields, read from types.json when first needed.

types.json is made from Kubernetes' own Go types by tools/tables (`make tables`).
"""

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import orjson

NO_DEFAULT = object()
"""What a field without a default has."""

PLAIN_KINDS = frozenset({"string", "bool", "int32", "int64", "uint8", "float64"})


@dataclass(frozen=True, slots=True)
class Type:
    """A Go type. Types refer to structs by name, as structs may contain themselves."""

    kind: str
    """ "pointer", "slice", "map", "struct", or one of `PLAIN_KINDS`."""
    go: str
    """Its name as Go prints it, as in "[]v1.Container"."""
    name: str = ""
    """Its name in the tables, if it has one, as in "core/v1.Container"."""
    of: "Type | None" = None
    """What it points to, lists, or maps to."""

    @property
    def element(self) -> "Type":
        """What it points to, lists, or maps to; it must have such."""
        if self.of is None:
            raise TypeError(f"{self.go} has no elements")
        return self.of

    @property
    def is_bytes(self) -> bool:
        """Whether it is a list of bytes, which JSON writes as base64."""
        return self.kind == "slice" and self.element.kind == "uint8"


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a struct."""

    name: str
    """Its name in JSON; the name of the Go field if it is inlined."""
    number: int
    """Its number in protobuf; 0 if it is not sent."""
    type: Type
    omitempty: bool
    omitzero: bool
    inline: bool
    required: bool
    marks: Mapping[str, Any] = field(default_factory=dict)
    """What OpenAPI says besides: default, enum, list, keys, map, patch, merge."""

    @property
    def default(self) -> Any:
        """The default that OpenAPI gives it, or `NO_DEFAULT`."""
        if "default" in self.marks:
            return self.marks["default"]
        return usual_default(self.type, omitempty=self.omitempty)


@dataclass(frozen=True, slots=True)
class Structure:
    """A struct."""

    name: str
    fields: tuple[Field, ...]
    custom: bool
    """JSON does not show it field by field."""
    marks: Mapping[str, Any]
    """What OpenAPI says of it: map, unions, schema."""

    @property
    def go(self) -> str:
        """Its bare name, as in "JobSpec"."""
        return self.name.rpartition(".")[2]


def usual_default(type: Type, *, omitempty: bool = False) -> Any:
    """Return the default of what is not optional by its type: its zero value, or `NO_DEFAULT`."""
    match type.kind:
        case "struct":
            return NO_DEFAULT if structure(type.name).custom else {}
        case "pointer" | "slice" | "map":
            return NO_DEFAULT
        case kind:
            return NO_DEFAULT if omitempty else {"string": "", "bool": False}.get(kind, 0)


class Member(NamedTuple):
    """A field as JSON has it: those of inlined structs are among those of the outer struct."""

    field: Field
    go_path: str
    """Its name as Go's errors give it, behind the names of the inlined structs around it."""


@functools.cache
def _table() -> Mapping[str, Any]:
    table: dict[str, Any] = orjson.loads(Path(__file__).with_name("types.json").read_bytes())
    return table


def type_of(api_version: str, kind: str) -> Structure | None:
    """Return the type of a built-in kind, or None; options and Status belong to every version."""
    kinds = _table()["kinds"]
    name = kinds.get(f"{api_version}/{kind}") or kinds.get(f"meta/{kind}")
    return structure(name) if name else None


def kinds() -> Iterator[tuple[str, str, str]]:
    """Return all built-in kinds: apiVersion ("meta" for those of every version), kind, name of the type."""
    for key, name in _table()["kinds"].items():
        api_version, _, kind = key.rpartition("/")
        yield api_version, kind, name


@functools.cache
def structure(name: str) -> Structure:
    """Return a struct by its name in the tables."""
    raw = _table()["structs"][name]
    marks = {key: value for key, value in raw.items() if key not in ("fields", "custom")}
    fields = tuple(map(_field, raw["fields"]))
    return Structure(name, fields, raw.get("custom", False), marks)


def _field(raw: list[Any]) -> Field:
    name, number, reference, flags, *marks = raw
    return Field(
        name,
        number,
        resolve(reference),
        omitempty="e" in flags,
        omitzero="z" in flags,
        inline="i" in flags,
        required="r" in flags,
        marks=marks[0] if marks else {},
    )


@functools.cache
def resolve(reference: str) -> Type:
    """Return the type that a reference in the tables means, as in "map[string]*core/v1.Probe"."""
    if reference in PLAIN_KINDS:
        return Type(reference, reference)
    if reference.startswith("*"):
        pointed = resolve(reference[1:])
        return Type("pointer", f"*{pointed.go}", of=pointed)
    if reference.startswith("[]"):
        listed = resolve(reference[2:])
        return Type("slice", f"[]{listed.go}", of=listed)
    if reference.startswith("map["):
        key, _, value = reference[4:].partition("]")
        mapped = resolve(value)
        return Type("map", f"map[{resolve(key).go}]{mapped.go}", of=mapped)
    go = reference.rpartition("/")[2]
    if underlying := _table()["named"].get(reference):
        meaning = resolve(underlying)
        return Type(meaning.kind, go, reference, meaning.of)
    return Type("struct", go, reference)


def is_wrapped(type: Type) -> bool:
    """Tell whether protobuf sends a list as a message of its own."""
    return type.name in _table()["wrapped"]


def package_of(name: str) -> str:
    """Return the Go package of a type."""
    path: str = _table()["packages"][name.rpartition(".")[0]]
    return path


@functools.cache
def members(name: str) -> tuple[Member, ...]:
    """Return the fields of a struct as JSON has them, in Go's order."""
    return tuple(_members(structure(name), ""))


def _members(struct: Structure, prefix: str) -> Iterator[Member]:
    for each in struct.fields:
        if each.inline:
            yield from _members(structure(each.type.name), f"{prefix}{each.name}.")
        else:
            yield Member(each, prefix + each.name)
