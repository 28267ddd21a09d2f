from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobferry.kube import items, nested
from tests.unit.kube.test_items import JSON


def cut(value: Any, levels: int) -> Any:
    """Say what is left of a value of so many levels."""
    match value:
        case dict() | list() if levels == 0:
            return None
        case dict():
            return {name: cut(each, levels - 1) for name, each in value.items()}
        case list():
            return [cut(each, levels - 1) for each in value]
        case _:
            return value


@given(value=st.dictionaries(st.text(), JSON), levels=st.integers(0, 4), pretty=st.booleans())
def test_what_is_deeper_becomes_nothing(value: Any, levels: int, pretty: bool) -> None:
    json = orjson.dumps(value, option=orjson.OPT_INDENT_2 if pretty else None)

    assert orjson.loads(nested.shallow(json, levels)) == cut(value, levels)


@given(value=st.dictionaries(st.text(), JSON))
def test_entries_are_found_whatever_is_in_them(value: Any) -> None:
    expected = [
        entry
        for member in value.values()
        for entry in (member if isinstance(member, list) else ())
        if isinstance(entry, dict | list)
    ]

    assert [orjson.loads(each) for each in nested.entries(orjson.dumps(value))] == expected


@pytest.mark.parametrize("json", [b"", b"]]}}", b"{[", b'{"a', b'"\\', b"}{", b"[" * 20_000])
def test_what_is_no_json_stops_nobody(json: bytes) -> None:
    nested.shallow(json, 3)
    nested.entries(json)


def test_a_page_is_read_though_one_of_its_objects_cannot_be() -> None:
    deep = b'{"metadata":{"name":"b"},"spec":' + b"[" * 9000 + b"]" * 9000 + b"}"
    body = b'{"metadata":{"resourceVersion":"7"},"items":[{"kind":"A"},%s,{"kind":"C"}]}' % deep

    page = items.page(body)

    assert page.version == 7
    assert [bytes(each) for each in page.items] == [b'{"kind":"A"}', deep, b'{"kind":"C"}']
