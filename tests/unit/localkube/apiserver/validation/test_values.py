"""When an API server takes two values for equal."""

from typing import Any

import pytest

from jobferry.localkube.apiserver.validation import values


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"a": 1}, {"a": 1}, True),
        ({"a": 1}, {"a": 2}, False),
        ({"a": []}, {}, True),
        ({"a": {}}, {}, False),
        ({"a": None}, {}, True),
        ({"limits": {"cpu": "1"}}, {"limits": {"cpu": "1000m"}}, True),
        ({"limits": {"cpu": "1"}}, {"limits": {"cpu": "2"}}, False),
        ({"limits": {"cpu": "1"}}, {"limits": {}}, False),
        ({"command": ["1"]}, {"command": ["1000m"]}, False),
        ([{"sizeLimit": "1k"}], [{"sizeLimit": "1e3"}], True),
        ([1], [1, 2], False),
        (None, 0, False),
        ("", None, False),
    ],
)
def test_two_values_may_be_the_same(one: Any, other: Any, same: bool) -> None:
    assert values.same(one, other) is same
    assert values.same(other, one) is same


def test_what_is_immutable_is_shown_as_it_would_be() -> None:
    assert [str(each) for each in values.immutable("a", 1, 2)] == [
        "a: Invalid value: 1: field is immutable"
    ]
    assert not list(values.immutable("a", None, None))


def test_a_value_is_needed_or_known() -> None:
    known = ("A", "B")
    assert [each.reason for each in values.one_of("f", "", known)] == ["FieldValueRequired"]
    assert [str(each) for each in values.one_of("f", "C", known)] == [
        'f: Unsupported value: "C": supported values: "A", "B"'
    ]


def test_values_of_enumerations_are_shown_as_json() -> None:
    (found,) = values.one_of("f", "<no value>", ("A",))
    assert str(found) == (
        r'f: Unsupported value: "\u003cno value\u003e": supported values: "A"'
    )
