"""CEL's functions on values that may be missing."""

from typing import Any

from jobferry.localkube.apiserver.crds.cel.library import declare
from jobferry.localkube.apiserver.crds.cel.values import (
    NONE,
    CelError,
    Duration,
    Optional,
    Timestamp,
    moment,
)


def _item_if_any(items: Any, index: Any) -> Optional:
    if isinstance(items, Optional):
        return _item_if_any(items.value, index) if items.present else NONE
    if isinstance(items, dict) and not isinstance(index, list | dict):
        return Optional(True, items[index]) if index in items else NONE
    if not isinstance(items, list):
        raise CelError("no such overload")
    within = isinstance(index, int) and 0 <= index < len(items)
    return Optional(True, items[index]) if within else NONE


def _value(optional: Optional) -> Any:
    if not optional.present:
        raise CelError("optional.none() dereference")
    return optional.value


_FIRST = moment("0001-01-01T00:00:00Z")
"""Go's zero of a moment."""


def _unless_zero(value: Any) -> Optional:
    zero = (
        value is None or value in (0, "", b"", False)
        if not isinstance(value, list | dict)
        else not value
    )
    if isinstance(value, Duration):
        zero = value.ns == 0
    if isinstance(value, Timestamp):
        zero = value == _FIRST
    return NONE if zero else Optional(True, value)


def _unwrap(items: list[Any]) -> list[Any]:
    if any(each.__class__ is not Optional for each in items):
        raise CelError("no such overload")
    return [item.value for item in items if item.present]


def _optionals() -> None:
    for name in ("_[_]", "_[?_]"):
        declare(name, "optional(list(V)), int -> optional(V)", _item_if_any)
        declare(name, "optional(map(K, V)), K -> optional(V)", _item_if_any)
    declare("_[?_]", "list(V), int -> optional(V)", _item_if_any)
    declare("_[?_]", "map(K, V), K -> optional(V)", _item_if_any)
    declare("optional.of", "V -> optional(V)", lambda value: Optional(True, value))
    declare("optional.ofNonZeroValue", "V -> optional(V)", _unless_zero)
    declare("optional.none", " -> optional(V)", lambda: NONE)
    declare("value", "optional(V).() -> V", _value)
    declare("hasValue", "optional(V).() -> bool", lambda optional: optional.present)
    declare(
        "or", "optional(V).(optional(V)) -> optional(V)", lambda a, b: a if a.present else b
    )
    declare("orValue", "optional(V).(V) -> V", lambda a, b: a.value if a.present else b)
    declare("last", "list(V).() -> optional(V)", lambda v: Optional(True, v[-1]) if v else NONE)
    declare("first", "list(V).() -> optional(V)", lambda v: Optional(True, v[0]) if v else NONE)
    declare("optional.unwrap", "list(optional(V)) -> list(V)", _unwrap)
    declare("unwrapOpt", "list(optional(V)).() -> list(V)", _unwrap)


_optionals()
