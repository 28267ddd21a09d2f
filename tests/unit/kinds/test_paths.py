"""Members by their path, whatever is there."""

from typing import Any

import pytest

from jobferry.kinds.paths import (
    changed,
    every,
    first,
    found,
    items,
    number,
    path,
    text,
    without,
    word,
)

OBJECT = {"a": {"b": [{"c": 1}, {"c": 2}, 3]}, "m": {"x": {"c": 4}, "y": {}}, "n": None}


@pytest.mark.parametrize(
    ("where", "members"),
    [
        ("a.b.*.c", [1, 2]),
        ("m.*.c", [4]),
        ("a.b", [OBJECT["a"]["b"]]),  # type: ignore[index]
        ("n", []),
        ("a.b.c", []),
        ("a.b.*.c.d", []),
        ("nothing.*", []),
    ],
)
def test_what_is_at_a_path(where: str, members: list[Any]) -> None:
    assert list(every(OBJECT, path(where))) == members
    assert first(OBJECT, path(where)) == (members[0] if members else None)


def test_a_path_is_written_as_it_is_read() -> None:
    assert text(path("spec.parts.*")) == "spec.parts.*"
    assert path("") == ()


def test_what_is_not_as_expected_is_not_there() -> None:
    assert found({"a": "x"}, ("a", "b")) is None
    assert word({"a": 1}, ("a",)) == ""
    assert number({"a": "1"}, ("a",), 7) == 7
    assert number({"a": -1}, ("a",), 7) == 0
    assert items({"a": "xy"}, ("a",)) == []
    assert items({"a": [1, {"b": 2}]}, ("a",)) == [{"b": 2}]


def test_members_are_dropped_and_the_rest_is_shared() -> None:
    kept = without(OBJECT, path("a.b.*.c"))

    assert kept == {"a": {"b": [{}, {}, 3]}, "m": OBJECT["m"], "n": None}
    assert kept["m"] is OBJECT["m"]
    assert without(OBJECT, path("a.b.*.c"), lambda value: value == 1)["a"]["b"] == [
        {},
        {"c": 2},
        3,
    ]
    assert without(OBJECT, path("m.*.c")) == {**OBJECT, "m": {"x": {}, "y": {}}}
    assert without(OBJECT, path("nothing.at.all")) == OBJECT
    assert OBJECT["a"] == {"b": [{"c": 1}, {"c": 2}, 3]}


def test_members_are_changed_where_they_are() -> None:
    assert changed({"a": [1, 2]}, ("a", "*"), lambda value: value * 2) == {"a": [2, 4]}
    assert changed({"a": 1}, ("b",), str) == {"a": 1}
