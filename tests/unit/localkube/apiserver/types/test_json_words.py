"""What is wrong with JSON is said in Go's words."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobferry.localkube.apiserver.types import json_words

VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(),
    ),
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(), inner)),
)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b"", "unexpected end of JSON input"),
        (b'{"a":', "unexpected end of JSON input"),
        (b"x", "invalid character 'x' looking for beginning of value"),
        (b"\xff", "invalid character 'ÿ' looking for beginning of value"),
        (b"{,", "invalid character ',' looking for beginning of object key string"),
        (b'{"a":1,}', "invalid character '}' looking for beginning of object key string"),
        (b'{"a" 1}', "invalid character '1' after object key"),
        (b'{"a":1 "b"', "invalid character '\"' after object key:value pair"),
        (b"[1 2]", "invalid character '2' after array element"),
        (b"{}{}", "invalid character '{' after top-level value"),
        (b"trux", "invalid character 'x' in literal true (expecting 'e')"),
        (b"- a", "invalid character ' ' in numeric literal"),
        (b"1.x", "invalid character 'x' after decimal point in numeric literal"),
        (b"1ex", "invalid character 'x' in exponent of numeric literal"),
        (b"01", "invalid character '1' after top-level value"),
        (b'"\n"', "invalid character '\\n' in string literal"),
        (b'"\\x"', "invalid character 'x' in string escape code"),
        (b'"\\u1x"', "invalid character 'x' in \\u hexadecimal character escape"),
        (b"[" * 100_000, "unexpected end of JSON input"),
    ],
)
def test_each_mistake_has_its_words(text: bytes, problem: str) -> None:
    assert json_words.problem(text) == problem


@given(VALUES)
def test_nothing_is_wrong_with_json(value: object) -> None:
    assert json_words.problem(json.dumps(value).encode()) == ""


@given(st.text(alphabet='{}[]",:0123456789.eE+-truefalsn \\u', max_size=12))
def test_something_is_wrong_exactly_with_what_is_no_json(text: str) -> None:
    try:
        json.loads(text, parse_constant=lambda _: 1 / 0)
    except (ValueError, ZeroDivisionError):
        assert json_words.problem(text.encode())
    else:
        assert json_words.problem(text.encode()) == ""
