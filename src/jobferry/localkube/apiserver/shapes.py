"""How the fields of an object are owned and merged: what server-side apply must know of a type.

Built-in kinds and custom resources both boil down to these four shapes. A value that is not what its
shape expects (a null where a struct could be, say) is one indivisible value, as `LEAF` is.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Leaf:
    """A scalar, or anything that is replaced as a whole (an atomic list, map or struct)."""

    scalar: str = ""
    """What an applied scalar must be: string, numeric, boolean or untyped; empty: anything goes."""
    inner: "Shape | None" = None
    """What is in an atomic value, for checks only: a Struct, or a ListMap without keys for a list."""


@dataclass(frozen=True, slots=True, eq=False)
class Struct:
    """An object whose members are owned one by one: a struct, or a map.

    `fields` may be computed when it is looked into: types refer to themselves.
    """

    fields: Mapping[str, "Shape"]
    others: "Shape | None" = None
    """The shape of members that `fields` does not name; None: they have no place here."""


@dataclass(frozen=True, slots=True, eq=False)
class ListMap:
    """A list of objects that are told apart by the values of `keys`."""

    keys: tuple[str, ...]
    item: "Shape"
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """The values of those keys that may be left out."""


@dataclass(frozen=True, slots=True)
class SetOf:
    """A list of scalars, each there once and owned by itself."""

    item: "Shape" = field(default_factory=Leaf)
    """What an item must be, for checks only."""


Shape = Leaf | Struct | ListMap | SetOf

LEAF = Leaf()

ANYTHING = Struct({})
"""What no schema describes: objects are owned member by member, lists and scalars as a whole."""
object.__setattr__(ANYTHING, "others", ANYTHING)
