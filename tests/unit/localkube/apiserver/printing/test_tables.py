"""Objects as rows."""

from datetime import UTC, datetime
from typing import Any

import pytest

from jobferry.localkube.apiserver.printing import catalog, columns, tables
from jobferry.localkube.apiserver.printing.columns import Columns
from jobferry.objects import Obj

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
META = {"name": "a", "resourceVersion": "7", "creationTimestamp": "2026-11-16T11:58:00Z"}
OBJ: Obj = {"kind": "K", "apiVersion": "v1", "metadata": META, "data": {"x": "y"}}
PARTIAL = {
    "kind": "PartialObjectMetadata",
    "apiVersion": "meta.k8s.io/v1",
    "metadata": META,
}


def rows(include: str, obj: Obj = OBJ) -> list[Any]:
    table = tables.table([obj], columns.NAME_AND_AGE, now=NOW, include=include, list_meta={})
    found: list[Any] = table["rows"]
    return found


def test_a_table_names_its_columns_and_holds_the_metadata_of_its_objects() -> None:
    table = tables.table(
        [OBJ], columns.NAME_AND_AGE, now=NOW, list_meta={"resourceVersion": "9"}
    )

    assert table == {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": {"resourceVersion": "9"},
        "columnDefinitions": columns.NAME_AND_AGE.definitions,
        "rows": [{"cells": ["a", "2m"], "object": PARTIAL}],
    }


@pytest.mark.parametrize(
    ("include", "shown"),
    [("", PARTIAL), ("Metadata", PARTIAL), ("Object", OBJ), ("None", None)],
)
def test_rows_hold_as_much_of_the_object_as_is_asked_for(
    include: str, shown: Obj | None
) -> None:
    assert rows(include)[0]["object"] == shown


def test_the_bookmark_that_ends_the_initial_events_keeps_its_annotation_always() -> None:
    meta = {"resourceVersion": "7", "annotations": {tables.INITIAL_EVENTS_END: "true"}}

    assert rows("None", {"metadata": meta})[0]["object"]["metadata"] == meta


def test_only_the_first_event_of_a_watch_names_the_columns() -> None:
    def event(*, first: bool) -> Obj:
        return tables.event_table(OBJ, columns.NAME_AND_AGE, now=NOW, first=first)

    assert event(first=True)["columnDefinitions"] == columns.NAME_AND_AGE.definitions
    assert event(first=False)["columnDefinitions"] is None
    assert event(first=False)["metadata"] == {"resourceVersion": "7"}


def test_empty_lists_are_null_where_they_are_so_upstream() -> None:
    def empty(shown: Columns) -> Any:
        return tables.table([], shown, now=NOW, list_meta={})["rows"]

    assert empty(columns.NAME_AND_AGE) == []
    assert empty(columns.DEFAULT) is None
    assert tables.partial_metadata_list([], {})["items"] is None


def test_lists_can_be_reduced_to_metadata() -> None:
    reduced = tables.partial_metadata_list([OBJ], {"resourceVersion": "9"}, "v1beta1")

    assert reduced["kind"] == "PartialObjectMetadataList"
    assert reduced["items"] == [{**PARTIAL, "apiVersion": "meta.k8s.io/v1beta1"}]


def test_conditions_of_a_row_are_there_only_if_there_are_any() -> None:
    done = {**OBJ, "status": {"phase": "Failed"}}
    pods = catalog.columns_for("", "Pod")

    shown = tables.table([OBJ, done], pods, now=NOW, list_meta={})["rows"]

    assert "conditions" not in shown[0]
    assert shown[1]["conditions"][0]["reason"] == "Failed"


def test_unlisted_kinds_show_name_and_age() -> None:
    assert catalog.columns_for("apps", "ReplicaSet") is columns.NAME_AND_AGE
