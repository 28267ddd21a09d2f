"""The columns of events, in their core and their events.k8s.io form."""

from datetime import datetime
from typing import Any

from jobferry.localkube.apiserver.printing import columns, durations
from jobferry.localkube.apiserver.printing.columns import Columns, column
from jobferry.localkube.apiserver.types import event_forms
from jobferry.objects import Obj


def _cells(event: Obj, now: datetime) -> list[Any]:
    first = durations.since(event.get("firstTimestamp") or event.get("eventTime"), now)
    involved = event.get("involvedObject") or {}
    last, count = _occurrences(event, first, now)
    return [
        last,
        event.get("type", ""),
        event.get("reason", ""),
        _target(involved),
        involved.get("fieldPath", ""),
        _source(event),
        event.get("message", "").strip(),
        first,
        count,
        columns.name_of(event),
    ]


def _occurrences(event: Obj, first: str, now: datetime) -> tuple[str, int]:
    """Say when it was seen last, and how often."""
    series = event.get("series")
    if series is not None:
        return durations.since(series.get("lastObservedTime"), now), series.get("count", 0)
    last = event.get("lastTimestamp")
    return durations.since(last, now) if last else first, event.get("count") or 1


def _target(involved: Obj) -> str:
    kind, name = involved.get("kind", "").lower(), involved.get("name")
    return f"{kind}/{name}" if name else kind


def _source(event: Obj) -> str:
    source = event.get("source") or {}
    component = source.get("component") or event.get("reportingComponent") or ""
    instance = source.get("host") or event.get("reportingInstance")
    return f"{component}, {instance}" if instance else component


def _new_cells(event: Obj, now: datetime) -> list[Any]:
    return _cells(event_forms.to_core(event), now)


_DEFINITIONS = [
    column("Last Seen", "How long ago it happened last."),
    column("Type", "Normal or Warning."),
    column("Reason", "Why, in one word."),
    column("Object", "What it is about."),
    column("Subobject", "Which part of that object.", wide=True),
    column("Source", "Who reports it.", wide=True),
    column("Message", "What happened, in a sentence."),
    column("First Seen", "How long ago it happened first.", wide=True),
    column("Count", "How often it happened.", wide=True),
    column("Name", "The name of the event.", format="name", wide=True),
]

EVENTS = Columns(_DEFINITIONS, _cells)
"""Events of the core group."""

NEW_EVENTS = Columns(_DEFINITIONS, _new_cells)
"""Events of events.k8s.io."""
