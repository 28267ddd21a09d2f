"""The columns of a kind: what they are called, and what an object shows in them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from jobferry.localkube.apiserver.printing import durations
from jobferry.objects import Obj

Cells = Callable[[Obj, datetime], list[Any]]
"""What an object shows at a moment, one cell for each column."""


def _no_conditions(_obj: Obj) -> Sequence[Obj]:
    """Say nothing about the row."""
    return ()


@dataclass(frozen=True, slots=True)
class Columns:
    """How objects of one kind are shown.

    Objects may lack everything but `metadata`: the bookmarks of a watch are shown too.
    """

    definitions: list[Obj]
    cells: Cells
    """What an object shows in them."""
    conditions: Callable[[Obj], Sequence[Obj]] = _no_conditions
    """What is said about the row itself (that its object is finished)."""
    no_rows: list[Obj] | None = field(default_factory=list)
    """What a table without rows has in their place: a list, or null."""


def column(
    name: str,
    description: str,
    *,
    type: str = "string",
    format: str = "",
    wide: bool = False,
) -> Obj:
    """Define a column; a wide one is shown on demand only."""
    return {
        "name": name,
        "type": type,
        "format": format,
        "description": description,
        "priority": int(wide),
    }


NAME = column("Name", "The name of the object.", format="name")
AGE = column("Age", "How long ago the object was created.")
CONTAINERS = column("Containers", "The names of the containers of a pod.", wide=True)
IMAGES = column("Images", "The images of the containers of a pod.", wide=True)


def name_of(obj: Obj) -> str:
    """Return the name; a bookmark has none."""
    name: str = obj["metadata"].get("name", "")
    return name


def age_of(obj: Obj, now: datetime) -> str:
    """Say how long ago an object was created."""
    return durations.since(obj["metadata"].get("creationTimestamp"), now)


def _created(obj: Obj, _now: datetime) -> list[Any]:
    # An object that was never created has the first moment of Go's calendar.
    created = obj["metadata"].get("creationTimestamp") or "0001-01-01T00:00:00Z"
    return [name_of(obj), created]


def _name_and_age(obj: Obj, now: datetime) -> list[Any]:
    return [name_of(obj), age_of(obj, now)]


DEFAULT = Columns(
    [NAME, column("Created At", "When the object was created.", type="date")],
    _created,
    no_rows=None,
)
"""What kinds without columns of their own show."""

NAME_AND_AGE = Columns([NAME, AGE], _name_and_age)
"""What stored kinds show."""
