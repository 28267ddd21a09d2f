from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobferry.objects import fields
from jobferry.objects.fields import EVERYTHING, BadSelector

POD = {"metadata.name": "a", "status.phase": "Running", "spec.note": r"x=1,y\2"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        ",,",
        "=",
        "metadata.name=a",
        "metadata.name==a",
        "metadata.name!=b,status.phase=Running",
        "absent=",
        "absent!=x",
        r"spec.note=x\=1\,y\\2",
    ],
)
def test_a_selector_matches_what_meets_every_requirement(text: str) -> None:
    assert fields.parse(text).matches(POD)


@pytest.mark.parametrize(
    "text",
    ["metadata.name=b", "metadata.name!=a", "absent!=", "metadata.name=a,status.phase=x"],
)
def test_a_selector_does_not_match_what_misses_one_requirement(text: str) -> None:
    assert not fields.parse(text).matches(POD)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("b=1,,a==2", "a=2,b=1"),
        ("=,!=,a=", "a="),
        ("a!=x y", "a!=x y"),
        (r"a=\\\,\=", r"a=\\\,\="),
        (r"\,a=b", r"\,a=b"),
    ],
)
def test_a_selector_prints_in_canonical_form(text: str, canonical: str) -> None:
    assert str(fields.parse(text)) == canonical


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a", "invalid selector: 'a'; can't understand 'a'"),
        ("b=1,a", "invalid selector: 'b=1,a'; can't understand 'a'"),
        ("a=b=c", "invalid field selector: unescaped character in value: 61"),
        (r"a=\x", r"invalid field selector: invalid escape sequence: \x"),
        ("a=x\\", "invalid field selector: invalid escape sequence: \\"),
    ],
)
def test_bad_text_is_refused_in_the_words_of_an_api_server(text: str, message: str) -> None:
    with pytest.raises(BadSelector) as caught:
        fields.parse(text)

    assert str(caught.value) == message


@given(st.text(min_size=1))
def test_any_value_can_be_asked_for_once_escaped(value: str) -> None:
    selector = fields.parse(f"a={fields.escape(value)}")

    assert selector.matches({"a": value})
    assert not selector.matches({"a": f"{value}."})
    assert fields.parse(str(selector)) == selector


@given(st.text("a=!,\\x"))
def test_any_text_is_read_or_refused_but_never_crashes(text: str) -> None:
    with suppress(BadSelector):
        fields.parse(text)


def test_everything_is_the_selector_without_requirements() -> None:
    assert fields.parse("") == EVERYTHING
