"""ConfigMaps."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobferry.localkube.apiserver.strategies import config_map
from jobferry.objects import Obj

META = {"name": "c", "namespace": "n", "uid": "u", "resourceVersion": "1"}


def fields(obj: Obj) -> list[str]:
    made = {"metadata": META, **obj}
    return [each.field for each in config_map.STRATEGY.validate_create(made)]


def changed(new: Obj, old: Obj) -> list[str]:
    found = config_map.STRATEGY.validate_update(
        {"metadata": META, **new}, {"metadata": META, **old}
    )
    return [each.field for each in found]


def test_keys_are_checked_and_are_there_once() -> None:
    assert fields({"data": {"a": "", "b/c": ""}, "binaryData": {"a": "", "..": ""}}) == [
        *("data[a]", "data[b/c]", "binaryData[..]")
    ]


def test_all_together_may_have_a_mebibyte() -> None:
    full = "é" * (config_map.MAX_SIZE // 2)

    assert fields({"data": {"a": full}}) == []
    assert fields({"data": {"a": full}, "binaryData": {"b": "YQ=="}}) == ["[]"]


@given(st.binary(max_size=50))
def test_sizes_of_encoded_bytes_are_known_without_decoding(data: bytes) -> None:
    assert config_map.decoded_size(base64.b64encode(data).decode()) == len(data)


@pytest.mark.parametrize(
    ("new", "found"),
    [
        ({"immutable": True, "data": {"a": "b"}}, []),
        ({"data": {"a": "b"}}, ["immutable"]),
        ({"immutable": True, "data": {"a": "c"}}, ["data"]),
        ({"immutable": True, "data": {"a": "b"}, "binaryData": {"x": ""}}, ["binaryData"]),
    ],
)
def test_what_is_immutable_stays(new: Obj, found: list[str]) -> None:
    assert changed(new, {"immutable": True, "data": {"a": "b"}}) == found


def test_what_is_not_immutable_may_become_so() -> None:
    assert changed({"immutable": True, "data": {"a": "c"}}, {"data": {"a": "b"}}) == []
