import copy
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobferry.objects.equality import same

plain = (
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.0, 1.0]) | st.text("ab")
)
values = st.recursive(
    plain,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("ab"), inner, max_size=3)
    ),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("one", "other"),
    list(combinations([None, False, 0, 0.0, "", [], {}, True, 1, 1.0, "1", [1], [True]], 2)),
)
def test_values_that_json_writes_differently_are_not_the_same(one: Any, other: Any) -> None:
    assert not same(one, other)
    assert not same({"a": [one]}, {"a": [other]})


@given(values)
def test_a_copy_is_the_same(value: Any) -> None:
    assert same(value, copy.deepcopy(value))


def test_members_have_no_order_but_items_do() -> None:
    assert same({"a": 1, "b": 2}, {"b": 2, "a": 1})
    assert not same([1, 2], [2, 1])


def test_a_missing_member_is_not_null() -> None:
    assert not same({"a": None}, {})
    assert not same({"a": None}, {"b": None})
