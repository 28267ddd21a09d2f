import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobferry.localkube.apiserver.types import duplicates

KEYS = st.sampled_from(["a", "b", "a:b", '":', "\\", "é"])


class Pairs:
    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        self.pairs = pairs


VALUES = st.recursive(
    st.none() | st.floats(allow_nan=False, allow_infinity=False) | KEYS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.lists(st.tuples(KEYS, inner), max_size=4).map(Pairs)
    ),
    max_leaves=10,
)


def written(value: Any, gap: str) -> str:
    if isinstance(value, Pairs):
        members = (
            f"{json.dumps(key)}{gap}:{gap}{written(item, gap)}" for key, item in value.pairs
        )
        return "{" + f",{gap}".join(members) + "}"
    if isinstance(value, list):
        return "[" + ",".join(written(item, gap) for item in value) + "]"
    return json.dumps(value, ensure_ascii=bool(gap))


def repeats(value: Any) -> bool:
    if isinstance(value, Pairs):
        keys = [key for key, _ in value.pairs]
        return len(set(keys)) < len(keys) or any(repeats(item) for _, item in value.pairs)
    return isinstance(value, list) and any(map(repeats, value))


@given(VALUES, st.sampled_from(["", " ", "\n"]))
def test_what_is_there_twice_is_always_found(value: Any, gap: str) -> None:
    assert bool(duplicates.find(written(value, gap).encode())) == repeats(value)


def test_a_colon_may_be_written_as_an_escape() -> None:
    assert duplicates.find(b'{"a":"\\u003a:","a":"::"}') == ['duplicate field "a"']


def test_places_are_given_as_strict_decoding_gives_them() -> None:
    body = b'{"spec":{"a":1,"list":[{"x":{"y":1,"y":2,"y":3}}],"a":2},"b":1,"b":1}'

    assert duplicates.find(body) == [
        'duplicate field "spec.list[0].x.y"',
        'duplicate field "spec.a"',
        'duplicate field "b"',
    ]


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (b'{"metadata":{"name":"a","name":"b"}}', ['duplicate field "metadata.name"']),
        (b'{"metadata":{"labels":{"a":"b","a":"c"}}}', ['duplicate field "metadata.labels.a"']),
        (b'{"foo":1,"foo":2,"bar":{"a":1,"a":2}}', []),
        (b'{"metadata":{"managedFields":[{"fieldsV1":{"a":1,"a":2}}]}}', []),
    ],
)
def test_what_a_type_does_not_know_or_look_into_is_not_reported(
    body: bytes, found: list[str]
) -> None:
    assert duplicates.find(body, None, "v1", "ConfigMap") == found


def test_unknown_and_duplicate_fields_come_in_the_order_of_the_text() -> None:
    body = b'{"x":1,"data":{"a":"","a":""},"y":1}'

    assert duplicates.strict(body, "v1", "ConfigMap") == [
        'unknown field "x"',
        'duplicate field "data.a"',
        'unknown field "y"',
    ]


@pytest.mark.parametrize(
    ("body", "merged"),
    [
        (b'{"a":1,"a":2}', {"a": 2}),
        (b'{"a":{"x":1},"a":{"y":2}}', {"a": {"x": 1, "y": 2}}),
        (b'{"a":[{"x":1},3],"a":[{"y":2}]}', {"a": [{"x": 1, "y": 2}]}),
        (b'{"a":[1],"a":[2,3]}', {"a": [2, 3]}),
        (b'{"a":[1],"a":{"x":1}}', {"a": {"x": 1}}),
    ],
)
def test_what_is_there_twice_is_read_into_what_was_read_first(
    body: bytes, merged: object
) -> None:
    assert duplicates.merged(body) == merged


def test_no_more_than_a_hundred_are_reported() -> None:
    body = "{" + ",".join(f'"k{n}":1,"k{n}":2' for n in range(150)) + "}"

    assert len(duplicates.find(body.encode())) == 100
