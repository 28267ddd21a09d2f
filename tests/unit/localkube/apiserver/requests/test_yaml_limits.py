"""YAML that would take all memory, or for ever, or the stack; and parts that are used twice."""

import pytest

from jobferry.localkube.apiserver.requests import yaml_text
from jobferry.localkube.apiserver.requests.aliases import BadYAML

LAUGHS = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12)
)


def test_what_grows_beyond_measure_is_refused() -> None:
    with pytest.raises(BadYAML, match="document contains excessive aliasing"):
        yaml_text.parse(LAUGHS.encode())


@pytest.mark.parametrize(
    "text", ["a: &a [*a]", "a: &a [*a, *a]", "&a {b: *a}", "a: &a {<<: *a}"]
)
def test_what_contains_itself_is_refused(text: str) -> None:
    with pytest.raises(BadYAML, match="contains itself"):
        yaml_text.parse(text.encode())


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "- " * 100_000])
def test_what_is_nested_deeper_than_the_stack_is_refused(text: str) -> None:
    with pytest.raises(BadYAML, match="exceeded max depth"):
        yaml_text.parse(text.encode())
    assert yaml_text.repeated(text.encode()) == []


@pytest.mark.parametrize("text", ["a: &a [*a, *a]", LAUGHS, "? [a]\n: b"])
def test_keys_are_compared_in_time(text: str) -> None:
    assert yaml_text.repeated(text.encode()) == []


def test_a_part_that_is_used_twice_is_two_parts() -> None:
    found = yaml_text.parse(b"a: &a {x: [1]}\nb: *a\n")
    assert found == {"a": {"x": [1]}, "b": {"x": [1]}}
    found["a"]["x"].append(2)
    assert found["b"] == {"x": [1]}


def test_a_few_aliases_are_fine_in_a_large_text() -> None:
    text = "a: &a [1, 2, 3]\n" + "".join(f"b{n}: *a\nc{n}: {n}\n" for n in range(400))
    assert len(yaml_text.parse(text.encode())) == 801


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("9223372036854775807", 9223372036854775807),
        ("18446744073709551615", 18446744073709551615),
        ("18446744073709551616", 1.8446744073709552e19),
        ("-9223372036854775809", -9.223372036854776e18),
        ("9" * 5000, "9" * 5000),
        ("1e999", "1e999"),
        ("0x_", "0x_"),
        ("!!binary YQ==", "a"),
        ("!!timestamp 2026-01-01", "2026-01-01"),
        ("!!set {x}", {"x": None}),
    ],
)
def test_values_are_such_that_json_can_say_them(text: str, value: object) -> None:
    assert yaml_text.parse(text.encode()) == value
