from typing import Any

import pytest

from jobferry.objects import govalues


@pytest.mark.parametrize(
    ("value", "kind", "go_type", "text"),
    [
        ({"b": 1, "a": [None]}, "object", "map[string]interface {}", "map[a:[<nil>] b:1]"),
        ([], "array", "[]interface {}", "[]"),
        (["a", "b c"], "array", "[]interface {}", "[a b c]"),
        ("x", "string", "string", "x"),
        (True, "bool", "bool", "true"),
        (-7, "number", "int64", "-7"),
        (0.5, "number", "float64", "0.5"),
        (2.0, "number", "float64", "2"),
    ],
)
def test_values_are_named_and_printed_as_go_does(
    value: Any, kind: str, go_type: str, text: str
) -> None:
    assert govalues.json_kind(value) == kind
    assert govalues.go_type(value) == go_type
    assert govalues.text(value) == text


def test_null_has_no_type() -> None:
    assert govalues.text(None) == "<nil>"
    assert govalues.go_type(None) == "%!s(<nil>)"


@pytest.mark.parametrize(
    ("value", "text"), [("x", "x"), (1, "%!s(int64=1)"), (None, "%!s(<nil>)")]
)
def test_what_is_no_string_is_printed_with_its_type_where_a_string_belongs(
    value: Any, text: str
) -> None:
    assert govalues.text_as_string(value) == text
