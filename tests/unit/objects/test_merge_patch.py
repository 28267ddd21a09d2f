import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobferry.objects import merge_patch
from jobferry.objects.equality import same
from jobferry.objects.patch_errors import Malformed

keys = st.sampled_from("abc")
plain = st.booleans() | st.integers(0, 2) | st.just(1.0) | st.text("xy", max_size=2)


def trees(leaves: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.recursive(
        leaves,
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(keys, inner, max_size=3)
            | st.dictionaries(keys, inner, max_size=3)
        ),
        max_leaves=10,
    )


values = trees(plain)
patches = trees(plain | st.none())


@pytest.mark.parametrize(
    ("target", "patch", "result"),
    [
        # The table in appendix A of RFC 7386.
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        (["a", "b"], ["c", "d"], ["c", "d"]),
        ({"a": "b"}, ["c"], ["c"]),
        ({"a": "foo"}, None, None),
        ({"a": "foo"}, "bar", "bar"),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
        # Where the RFC is silent or API servers differ.
        ({"a": None}, {"a": {"b": None, "c": 1}}, {"a": {"c": 1}}),
        ({}, {"a": [{"b": None}, None]}, {"a": [{}, None]}),
        ({"a": 1}, {"a": [{"b": None}]}, {"a": [{}]}),
        ({"a": {}}, {"a": [{"b": None}]}, {"a": [{"b": None}]}),
    ],
)
def test_a_patch_is_applied(target: Any, patch: Any, result: Any) -> None:
    assert same(merge_patch.apply(target, patch), result)


@given(values, values)
def test_a_created_patch_makes_one_value_into_the_other(before: Any, after: Any) -> None:
    patch = merge_patch.create(before, after)

    assert same(merge_patch.apply(before, patch), after)


@given(values, st.dictionaries(keys, values | st.none()))
def test_applying_twice_is_applying_once(target: Any, patch: Any) -> None:
    once = merge_patch.apply(target, patch)

    assert same(merge_patch.apply(once, patch), once)


@given(values, patches)
def test_inputs_are_left_alone(target: Any, patch: Any) -> None:
    before = copy.deepcopy((target, patch))

    merge_patch.apply(target, patch)
    merge_patch.create(target, patch)

    assert same(list(before), [target, patch])


@given(st.dictionaries(keys, values), st.dictionaries(keys, values))
def test_no_member_of_a_created_patch_can_be_left_out(
    before: dict[str, Any], after: dict[str, Any]
) -> None:
    patch = merge_patch.create(before, after)

    for key in patch:
        smaller = {name: value for name, value in patch.items() if name != key}
        assert not same(merge_patch.apply(before, smaller), after)


@pytest.mark.parametrize(
    ("before", "after", "patch"),
    [
        ({"a": 1, "b": {"c": 1, "d": 2}}, {"a": 1, "b": {"c": 1, "d": 3}}, {"b": {"d": 3}}),
        ({"a": 1, "b": 2}, {"a": 1}, {"b": None}),
        ({"a": {"b": 1}}, {"a": {}}, {"a": {"b": None}}),
        ({"a": [1, 2]}, {"a": [1]}, {"a": [1]}),
        ({"a": 1}, {"a": True}, {"a": True}),
        ({"a": 1}, {"a": 1}, {}),
        ({}, {"a": {}}, {"a": {}}),
    ],
)
def test_a_created_patch_says_no_more_than_it_must(before: Any, after: Any, patch: Any) -> None:
    assert same(merge_patch.create(before, after), patch)


def test_what_is_not_changed_is_shared() -> None:
    target: Any = {"kept": {"a": 1}, "changed": {"b": 1, "kept": [1]}}

    result = merge_patch.apply(target, {"changed": {"b": 2}})

    assert result["kept"] is target["kept"]
    assert result["changed"]["kept"] is target["changed"]["kept"]


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        (None, "Invalid JSON Patch"),
        (
            [],
            "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}",
        ),
        (
            1.5,
            "error decoding patch: json: cannot unmarshal number into Go value of type map[string]interface {}",
        ),
    ],
)
def test_an_api_server_takes_only_objects(patch: Any, message: str) -> None:
    with pytest.raises(Malformed) as refused:
        merge_patch.checked(patch)

    assert refused.value.answer == message
    assert merge_patch.checked({"a": 1}) == {"a": 1}


def test_a_patch_that_is_nested_too_deeply_is_refused() -> None:
    patch: Any = {}
    for _ in range(100_000):
        patch = {"a": patch}

    with pytest.raises(Malformed, match="exceeded max depth"):
        merge_patch.apply({}, patch)
