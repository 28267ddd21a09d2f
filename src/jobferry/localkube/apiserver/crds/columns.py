"""How objects of a custom resource are shown in tables: `additionalPrinterColumns`."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from jobferry.localkube.apiserver.crds import internal, jsonpath
from jobferry.localkube.apiserver.crds.cel import values
from jobferry.localkube.apiserver.printing import durations
from jobferry.localkube.apiserver.printing.columns import NAME, Columns, column, name_of
from jobferry.objects import Obj
from jobferry.objects.govalues import text

_AGE = {
    "name": "Age",
    "type": "date",
    "description": "How long ago the object was created.",
    "jsonPath": ".metadata.creationTimestamp",
}

Cell = Callable[[Obj, datetime], Any]


def of(version: Obj) -> Columns:
    """Return the columns of one version of a definition; what cannot be read ends the row, as upstream."""
    definitions = [NAME]
    cells: list[Cell] = []
    for given in version.get("additionalPrinterColumns") or (_AGE,):
        try:
            find = jsonpath.compiled(given["jsonPath"])
        except jsonpath.BadPath:
            break
        definitions.append(_definition(given))
        cells.append(_cell(given["type"], find))
    return Columns(
        definitions, lambda obj, now: [name_of(obj), *(cell(obj, now) for cell in cells)]
    )


def _definition(given: Obj) -> Obj:
    path = given["jsonPath"]
    words = f"Custom resource definition column (in JSONPath format): {path}"
    shown = column(
        given["name"],
        given.get("description") or words,
        type=given["type"],
        format=given.get("format") or "",
    )
    return {**shown, "priority": given.get("priority") or 0}


def _cell(kind: str, find: Callable[[Any], list[Any]]) -> Cell:
    show = _SHOWN[kind]

    def cell(obj: Obj, now: datetime) -> Any:
        try:
            found = find(obj)
        except jsonpath.NoResult:
            return None
        return show(found[0], now) if found else None

    return cell


def _string(value: Any, _now: datetime) -> Any:
    if isinstance(value, dict | list):
        return internal.go_json(_sorted(value))
    return "<no value>" if value is None else text(value)


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(each) for each in value] if isinstance(value, list) else value


def _integer(value: Any, _now: datetime) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value)


def _number(value: Any, _now: datetime) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value


def _boolean(value: Any, _now: datetime) -> Any:
    return value if isinstance(value, bool) else None


def _date(value: Any, now: datetime) -> Any:
    if not isinstance(value, str):
        return None
    if value in ("", "null"):
        return durations.UNKNOWN
    try:
        values.moment(value)
        return durations.since(value, now)
    except ValueError:
        return durations.INVALID


_SHOWN: dict[str, Callable[[Any, datetime], Any]] = {
    "string": _string,
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
    "date": _date,
}

OF_SCALE = of(
    {
        "additionalPrinterColumns": [
            {
                "name": "Desired",
                "type": "integer",
                "description": "How many replicas are wanted.",
                "jsonPath": ".spec.replicas",
            },
            {
                "name": "Available",
                "type": "integer",
                "description": "How many replicas there are.",
                "jsonPath": ".status.replicas",
            },
            _AGE,
        ]
    }
)
"""The columns of the scale of a custom resource."""
