"""Objects as rows of a Table, or reduced to their metadata."""

from collections.abc import Iterable
from datetime import datetime

from jobferry.localkube.apiserver.printing.columns import Columns
from jobferry.objects import Obj

GROUP = "meta.k8s.io"

METADATA, OBJECT, NONE = "Metadata", "Object", "None"
"""What a row holds of its object (`includeObject`)."""

INCLUDES = frozenset({METADATA, OBJECT, NONE, ""})
"""What `includeObject` may be; empty means Metadata."""

INITIAL_EVENTS_END = "k8s.io/initial-events-end"


def table(
    objs: Iterable[Obj],
    columns: Columns,
    *,
    now: datetime,
    include: str = METADATA,
    list_meta: Obj,
    version: str = "v1",
) -> Obj:
    """Return objects as a Table; `list_meta` is the metadata of their list, or `metadata_of` one object."""
    rows = [_row(obj, columns, now, include, version) for obj in objs]
    return _table(rows or columns.no_rows, columns.definitions, list_meta, version)


def event_table(
    obj: Obj,
    columns: Columns,
    *,
    now: datetime,
    include: str = METADATA,
    first: bool,
    version: str = "v1",
) -> Obj:
    """Return the object of a watch event as a Table; only the first event of a watch names the columns."""
    rows = [_row(obj, columns, now, include, version)]
    return _table(rows, columns.definitions if first else None, metadata_of(obj), version)


def metadata_of(obj: Obj) -> Obj:
    """Return the list metadata of a Table that shows one object."""
    resource_version = obj["metadata"].get("resourceVersion")
    return {"resourceVersion": resource_version} if resource_version else {}


def partial_metadata(obj: Obj, version: str = "v1") -> Obj:
    """Reduce an object to its metadata (which is shared, not copied)."""
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": f"{GROUP}/{version}",
        "metadata": obj["metadata"],
    }


def partial_metadata_list(objs: Iterable[Obj], list_meta: Obj, version: str = "v1") -> Obj:
    """Reduce a list of objects to their metadata."""
    return {
        "kind": "PartialObjectMetadataList",
        "apiVersion": f"{GROUP}/{version}",
        "metadata": list_meta,
        # An empty list is null here, unlike in lists of objects.
        "items": [partial_metadata(obj, version) for obj in objs] or None,
    }


def _table(
    rows: list[Obj] | None, definitions: list[Obj] | None, list_meta: Obj, version: str
) -> Obj:
    return {
        "kind": "Table",
        "apiVersion": f"{GROUP}/{version}",
        "metadata": list_meta,
        "columnDefinitions": definitions,
        "rows": rows,
    }


def _row(obj: Obj, columns: Columns, now: datetime, include: str, version: str) -> Obj:
    row: Obj = {"cells": columns.cells(obj, now)}
    if conditions := columns.conditions(obj):
        row["conditions"] = conditions
    row["object"] = _shown(obj, include, version)
    return row


def _shown(obj: Obj, include: str, version: str) -> Obj | None:
    if include == OBJECT:
        return obj
    if include == NONE and INITIAL_EVENTS_END not in (obj["metadata"].get("annotations") or ()):
        return None
    return partial_metadata(obj, version)
