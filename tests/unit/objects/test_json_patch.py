import contextlib
import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobferry.objects import json_patch
from jobferry.objects.equality import same
from jobferry.objects.patch_errors import (
    BadPatch,
    DoesNotApply,
    Malformed,
    TestFailed,
    TooManyOperations,
)

# Keys that need care in a pointer, and documents that have something at most of them.
keys = st.sampled_from(["a", "b", "0", "", "x/y", "m~n", "~1"])
plain = st.none() | st.booleans() | st.integers(0, 2) | st.just(1.0) | st.text("xy", max_size=2)
values = st.recursive(
    plain,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=8,
)
documents = st.dictionaries(keys, values, max_size=4)
pointers = st.lists(keys | st.sampled_from(["-", "1", "-1"]), max_size=3).map(
    lambda parts: "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in parts)
)
operations = st.fixed_dictionaries(
    {
        "op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test"]),
        "path": pointers,
        "from": pointers,
        "value": values,
    }
)


def add(path: str, value: Any) -> dict[str, Any]:
    return {"op": "add", "path": path, "value": value}


def remove(path: str) -> dict[str, Any]:
    return {"op": "remove", "path": path}


def replace(path: str, value: Any) -> dict[str, Any]:
    return {"op": "replace", "path": path, "value": value}


def move(origin: str, path: str) -> dict[str, Any]:
    return {"op": "move", "from": origin, "path": path}


def copy_(origin: str, path: str) -> dict[str, Any]:
    return {"op": "copy", "from": origin, "path": path}


def expect(path: str, value: Any) -> dict[str, Any]:
    return {"op": "test", "path": path, "value": value}


@pytest.mark.parametrize(
    ("document", "operation", "result"),
    [
        # Appendix A of RFC 6902, by its numbers.
        ({"foo": "bar"}, add("/baz", "qux"), {"baz": "qux", "foo": "bar"}),  # A.1
        ({"foo": ["bar", "baz"]}, add("/foo/1", "qux"), {"foo": ["bar", "qux", "baz"]}),  # A.2
        ({"baz": "qux", "foo": "bar"}, remove("/baz"), {"foo": "bar"}),  # A.3
        ({"foo": ["bar", "qux", "baz"]}, remove("/foo/1"), {"foo": ["bar", "baz"]}),  # A.4
        (
            {"baz": "qux", "foo": "bar"},
            replace("/baz", "boo"),
            {"baz": "boo", "foo": "bar"},
        ),  # A.5
        (
            {"foo": {"bar": "baz", "waldo": "fred"}, "qux": {"corge": "grault"}},
            move("/foo/waldo", "/qux/thud"),
            {"foo": {"bar": "baz"}, "qux": {"corge": "grault", "thud": "fred"}},
        ),  # A.6
        (
            {"foo": ["all", "grass", "cows", "eat"]},
            move("/foo/1", "/foo/3"),
            {"foo": ["all", "cows", "eat", "grass"]},
        ),  # A.7
        ({"baz": "qux"}, expect("/baz", "qux"), {"baz": "qux"}),  # A.8
        ({"foo": "bar"}, add("/child", {"x": {}}), {"foo": "bar", "child": {"x": {}}}),  # A.10
        (
            {"foo": "bar"},
            {**add("/baz", "qux"), "xyz": 123},
            {"foo": "bar", "baz": "qux"},
        ),  # A.11
        ({"/": 9, "~1": 10}, expect("/~01", 10), {"/": 9, "~1": 10}),  # A.14
        ({"foo": ["bar"]}, add("/foo/-", ["abc"]), {"foo": ["bar", ["abc"]]}),  # A.16
        # The rest of what the RFC says.
        ({"a": {"b": 1}}, copy_("/a", "/c"), {"a": {"b": 1}, "c": {"b": 1}}),
        ({"a": 1}, add("/a", 2), {"a": 2}),
        ({"a": 1}, replace("", {"b": 2}), {"b": 2}),
        ({"a": 1}, expect("", {"a": 1}), {"a": 1}),
        ({"x/y": 1, "m~n": 2}, remove("/x~1y"), {"m~n": 2}),
        ([1, 2], add("/2", 3), [1, 2, 3]),
        # The liberties of API servers.
        ({"a": [1, 2]}, add("/a/-1", 3), {"a": [1, 2, 3]}),
        ({"a": [1, 2]}, add("/a/-2", 3), {"a": [1, 3, 2]}),
        ({"a": [1, 2]}, replace("/a/-2", 3), {"a": [3, 2]}),
        ({"a": [1, 2]}, remove("/a/-1"), {"a": [1]}),
        ({"a": [1, 2]}, remove("/a/+01"), {"a": [1]}),
        ({}, replace("/a", 1), {"a": 1}),
        ({}, copy_("/a", "/b"), {"b": None}),
        ({}, expect("/a", None), {}),
        ({}, {"op": "test", "path": "/a"}, {}),
        ({}, {"op": "add", "path": "/a"}, {"a": None}),
        ({}, add("ignored/a", 1), {"a": 1}),
    ],
)
def test_an_operation_is_carried_out(document: Any, operation: Any, result: Any) -> None:
    assert same(json_patch.apply(document, [operation]), result)


@pytest.mark.parametrize(
    ("document", "operation"),
    [
        ({"foo": "bar"}, add("/baz/bat", "qux")),  # A.12
        ({}, {"op": "frob", "path": "/a"}),
        ({}, {"path": "/a"}),
        ({}, None),
        ({}, {"op": "add", "value": 1}),
        ({}, {"op": "move", "path": "/a"}),
        ({}, remove("/a")),
        ({}, move("/a", "/b")),
        ({"a": {"b": 1}}, move("/a", "/a/b")),
        ({}, add("", {})),
        ({}, add("a", 1)),
        ({}, replace("", "text")),
        ({}, replace("", None)),
        ({"a": None}, add("/a/b", 1)),
        ({"a": [1]}, add("/a/3", 1)),
        ({"a": [1]}, add("/a/-3", 1)),
        ({"a": [1]}, add("/a/x", 1)),
        ({"a": [1]}, add("/a/1e0", 1)),
        ({"a": [1]}, add("/a/\N{ARABIC-INDIC DIGIT ONE}", 1)),
        ({"a": [1]}, add("/a/" + "9" * 5000, 1)),
        ({"a": [1]}, replace("/a/-", 1)),
        ({"a": [1]}, replace("/a/1", 1)),
        ({"a": [1]}, remove("/a/-")),
        ({"a": []}, remove("/a/0")),
        ("text", add("/a", 1)),
    ],
)
def test_an_operation_that_does_not_fit_is_refused(document: Any, operation: Any) -> None:
    with pytest.raises(DoesNotApply) as refused:
        json_patch.apply(document, [operation])

    assert refused.value.code == 422
    assert (
        refused.value.answer == "the server rejected our request due to an error in our request"
    )


@pytest.mark.parametrize(
    ("document", "operation"),
    [
        ({"baz": "qux"}, expect("/baz", "bar")),  # A.9
        ({"/": 9, "~1": 10}, expect("/~01", "10")),  # A.15
        ({"a": 1}, expect("/a", True)),
        ({"a": 1}, expect("/a", 1.0)),
        ({"a": 1}, expect("/a", None)),
        ({}, expect("/a", 1)),
        ({"a": 1}, expect("", {})),
    ],
)
def test_a_failed_test_has_its_own_error(document: Any, operation: Any) -> None:
    with pytest.raises(TestFailed):
        json_patch.apply(document, [operation])


def test_the_error_says_which_operation_failed() -> None:
    with pytest.raises(DoesNotApply) as refused:
        json_patch.apply({"a": 1}, [remove("/a"), remove("/a")])

    assert str(refused.value) == "operation 2 (remove /a): there is nothing to remove"


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        ({}, "cannot unmarshal object into Go value of type []handlers.jsonPatchOp"),
        ([1], "cannot unmarshal number into Go value of type handlers.jsonPatchOp"),
        ([None, []], "cannot unmarshal array into Go value of type handlers.jsonPatchOp"),
        (
            [{"op": 1}],
            "cannot unmarshal number into Go struct field jsonPatchOp.op of type string",
        ),
        (
            [{"op": "add", "path": {}}],
            "cannot unmarshal object into Go struct field jsonPatchOp.path of type string",
        ),
        (
            [{"op": "add", "path": "/a", "from": True}],
            "cannot unmarshal bool into Go struct field jsonPatchOp.from of type string",
        ),
    ],
)
def test_what_is_no_patch_is_refused_before_anything_is_done(patch: Any, message: str) -> None:
    with pytest.raises(Malformed) as refused:
        json_patch.apply({}, patch)

    assert refused.value.answer == f"error decoding patch: json: {message}"


def test_null_is_a_patch_without_operations() -> None:
    assert json_patch.apply({"a": 1}, None) == {"a": 1}


def test_the_number_of_operations_is_limited() -> None:
    patch = [add("/a", 1)] * json_patch.MAX_OPERATIONS

    assert json_patch.apply({}, patch) == {"a": 1}
    with pytest.raises(TooManyOperations) as refused:
        json_patch.apply({}, [*patch, add("/a", 1)])

    assert refused.value.code == 413
    assert refused.value.answer == (
        "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001"
    )


def test_copies_of_copies_are_limited_in_size() -> None:
    with pytest.raises(DoesNotApply, match="copies add more than"):
        json_patch.apply({"a": {"text": "x" * 1000}}, [copy_("/a", "/a/b")] * 10_000)


def test_copies_of_copies_are_limited_in_depth() -> None:
    with pytest.raises(DoesNotApply, match="nested too deeply"):
        json_patch.apply({"a": {}}, [copy_("/a", "/a/b")] * 10_000)


@given(documents, st.lists(operations, max_size=4))
def test_inputs_are_left_alone(document: Any, patch: Any) -> None:
    before = copy.deepcopy([document, patch])

    with contextlib.suppress(BadPatch):
        json_patch.apply(document, patch)

    assert same(before, [document, patch])


@given(documents, pointers, values)
def test_what_was_added_can_be_tested_for(document: Any, pointer: str, value: Any) -> None:
    try:
        changed = json_patch.apply(document, [add(pointer, value)])
    except DoesNotApply:
        return
    if not pointer.endswith("/-"):
        json_patch.apply(changed, [expect(pointer, value)])


@given(documents, keys, values)
def test_what_was_added_can_be_removed_again(document: Any, key: str, value: Any) -> None:
    pointer = "/" + key.replace("~", "~0").replace("/", "~1")
    without = {name: held for name, held in document.items() if name != key}

    assert same(json_patch.apply(without, [add(pointer, value), remove(pointer)]), without)


def test_what_is_not_changed_is_shared() -> None:
    document: Any = {"kept": {"a": 1}, "changed": [{"b": 1}, {"kept": 1}]}

    result = json_patch.apply(document, [replace("/changed/0/b", 2)])

    assert result["kept"] is document["kept"]
    assert result["changed"][1] is document["changed"][1]
