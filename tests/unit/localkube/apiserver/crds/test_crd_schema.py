"""Schemas: what they prune, fill in and refuse."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobferry.localkube.apiserver.crds import checking, explaining
from jobferry.localkube.apiserver.crds.schema import Schema, Unreadable
from jobferry.objects import Obj

TEXT: Obj = {"type": "string"}
INT: Obj = {"type": "integer"}


def of_spec(**fields: Any) -> Schema:
    return Schema(
        {"type": "object", "properties": {"spec": {"type": "object", "properties": fields}}}
    )


def test_unknown_fields_are_removed_and_told_of() -> None:
    schema = of_spec(
        a=INT, l={"type": "array", "items": {"type": "object", "properties": {"b": INT}}}
    )
    parsed = {"kind": "K", "spec": {"a": 1, "x": 2, "l": [{"b": 1, "c": 2}]}, "y": 1}
    obj, unknown = schema.decode(parsed)
    assert obj == {"kind": "K", "spec": {"a": 1, "l": [{"b": 1}]}}
    assert unknown == ["spec.l[0].c", "spec.x", "y"]
    assert parsed["spec"] == {"a": 1, "x": 2, "l": [{"b": 1, "c": 2}]}, (
        "the request is not changed"
    )


def test_unknown_fields_are_kept_where_the_schema_says_so() -> None:
    keep = {
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": True,
        "properties": {"k": {"type": "object"}},
    }
    obj, unknown = of_spec(a=keep).decode({"spec": {"a": {"x": 1, "k": {"y": 2}}}})
    assert obj == {"spec": {"a": {"x": 1, "k": {}}}}
    assert unknown == ["spec.a.k.y"]


def test_nulls_go_unless_they_are_allowed_or_have_a_default() -> None:
    schema = of_spec(a=INT, b={**INT, "nullable": True}, c={**INT, "default": 3})
    obj, _ = schema.decode({"spec": {"a": None, "b": None, "c": None}})
    schema.default(obj)
    assert obj == {"spec": {"b": None, "c": 3}}


def test_defaults_are_filled_in_inside_of_defaults() -> None:
    inner = {
        "type": "object",
        "default": {},
        "properties": {"x": {"type": "integer", "default": 7}},
    }
    schema = of_spec(a=inner, l={"type": "array", "items": inner})
    first: Obj = {"spec": {"l": [{}, {"x": 1}]}}
    schema.default(first)
    assert first == {"spec": {"a": {"x": 7}, "l": [{"x": 7}, {"x": 1}]}}
    second: Obj = {"spec": {}}
    schema.default(second)
    first["spec"]["a"]["x"] = 9
    assert second["spec"]["a"] == {"x": 7}, "defaults are not shared"


def test_metadata_of_the_wrong_type_is_refused() -> None:
    with pytest.raises(Unreadable, match="cannot unmarshal number"):
        of_spec().decode({"metadata": {"labels": {"a": 1}}})


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        (
            INT,
            "x",
            'spec.f: Invalid value: "string": spec.f in body must be of type integer: "string"',
        ),
        ({**TEXT, "maxLength": 2}, "abc", "spec.f: Too long: may not be more than 2 bytes"),
        ({**TEXT, "enum": ["a"]}, "b", 'spec.f: Unsupported value: "b": supported values: "a"'),
        (
            {**INT, "minimum": 2},
            1,
            "spec.f: Invalid value: 1: spec.f in body should be greater than or equal to 2",
        ),
        (
            {"type": "array", "maxItems": 1, "items": INT},
            [1, 2],
            "spec.f: Too many: 2: must have at most 1 item",
        ),
        (
            {**TEXT, "format": "date-time"},
            "x",
            'spec.f: Invalid value: "x": spec.f in body must be of type date-time: "x"',
        ),
        ({"type": "object", "required": ["a"]}, {}, "spec.f.a: Required value"),
    ],
)
def test_what_is_wrong_is_told_in_upstreams_words(field: Obj, value: Any, told: str) -> None:
    assert [str(each) for each in of_spec(f=field).problems({"spec": {"f": value}})] == [told]


def test_what_did_not_change_is_let_pass() -> None:
    schema = of_spec(a={**INT, "maximum": 5}, b={**INT, "maximum": 5})
    old = {"spec": {"a": 9}}
    assert schema.problems({"spec": {"a": 9, "b": 1}}, old) == []
    assert [each.field for each in schema.problems({"spec": {"a": 9, "b": 8}}, old)] == [
        "spec.b"
    ]
    assert [each.field for each in schema.problems({"spec": {"a": 8}}, old)] == ["spec.a"]


def test_sets_and_maps_hold_nothing_twice() -> None:
    listed = {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k"],
        "items": {"type": "object"},
    }
    schema = of_spec(
        s={"type": "array", "x-kubernetes-list-type": "set", "items": TEXT}, m=listed
    )
    obj = {"spec": {"s": ["a", "b", "a", "a"], "m": [{"k": 1}, {"k": 1, "x": 2}, {"k": True}]}}
    assert [str(each) for each in schema.list_problems(obj)] == [
        'spec.s[2]: Duplicate value: "a"',
        'spec.m[1]: Duplicate value: {"k":1}',
    ]


scalars = (
    st.none()
    | st.booleans()
    | st.integers(-9, 9)
    | st.floats(-9, 9)
    | st.text("ab", max_size=4)
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    ),
    max_leaves=8,
)
limits = st.fixed_dictionaries(
    {},
    optional={
        "nullable": st.booleans(),
        "enum": st.lists(scalars, min_size=1, max_size=3),
        "minimum": st.integers(-5, 5),
        "maximum": st.integers(-5, 5),
        "exclusiveMaximum": st.booleans(),
        "multipleOf": st.sampled_from([2, 0.5]),
        "minLength": st.integers(0, 3),
        "maxLength": st.integers(0, 3),
        "pattern": st.sampled_from(["^a", "b$"]),
        "format": st.sampled_from(["date", "duration", "odd"]),
        "minItems": st.integers(0, 2),
        "maxItems": st.integers(0, 2),
        "minProperties": st.integers(0, 2),
        "maxProperties": st.integers(0, 2),
        "required": st.lists(st.sampled_from("abc"), max_size=2),
    },
)


def _schema(inner: st.SearchStrategy[Obj]) -> st.SearchStrategy[Obj]:
    parts = st.fixed_dictionaries(
        {},
        optional={
            "items": inner,
            "properties": st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
            "additionalProperties": inner | st.booleans(),
            "anyOf": st.lists(inner, min_size=1, max_size=2),
            "allOf": st.lists(inner, min_size=1, max_size=2),
            "oneOf": st.lists(inner, min_size=1, max_size=2),
            "not": inner,
            "type": st.sampled_from(
                ["string", "integer", "number", "boolean", "array", "object"]
            ),
            "x-kubernetes-int-or-string": st.just(True),
        },
    )
    return st.builds(lambda a, b: {**a, **b}, limits, parts)


schemas = st.recursive(limits, _schema, max_leaves=6)


@given(schemas, values)
def test_saying_no_and_saying_why_agree(schema: Obj, value: Any) -> None:
    fine = checking.passes(checking.table(schema), value)
    assert fine == (not explaining.explain(schema, value).faults)
