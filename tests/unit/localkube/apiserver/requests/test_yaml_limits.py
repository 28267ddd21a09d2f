"""YAML that would take all memory, or for ever, or the stack; and parts that are used twice."""

import pytest

from jobferry.localkube.apiserver.requests import yaml_document
from jobferry.localkube.apiserver.requests.aliases import BadYAML

LAUGHS = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12)
)


def test_what_grows_beyond_measure_is_refused() -> None:
    with pytest.raises(BadYAML, match="document contains excessive aliasing"):
        yaml_document.read(LAUGHS.encode())


@pytest.mark.parametrize(
    "text", ["a: &a [*a]", "a: &a [*a, *a]", "&a {b: *a}", "a: &a {<<: *a}"]
)
def test_what_contains_itself_is_refused(text: str) -> None:
    with pytest.raises(BadYAML, match="contains itself"):
        yaml_document.read(text.encode())


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "- " * 100_000])
def test_what_is_nested_deeper_than_the_stack_is_refused(text: str) -> None:
    with pytest.raises(BadYAML, match="exceeded max depth"):
        yaml_document.read(text.encode())


@pytest.mark.parametrize("text", ["%YAML 1.2\n---\na: b", "# 1\n%YAML 1.2\n---\na: b"])
def test_only_the_version_that_go_knows_is_read(text: str) -> None:
    with pytest.raises(BadYAML, match="found incompatible YAML document"):
        yaml_document.read(text.encode())
    assert yaml_document.read(text.replace("1.2", "1.1").encode()).value == {"a": "b"}


def test_keys_that_are_there_twice_are_told_with_their_lines() -> None:
    found = yaml_document.read(b"a: 1\nb: {c: 1,\n c: 2}\na: 2\n---\nd: 1\nd: 2\n")
    lines = ['line 4: key "a" already set in map', 'line 3: key "c" already set in map']
    assert found == ({"a": 2, "b": {"c": 2}}, lines)


def test_keys_of_a_part_that_is_used_twice_are_told_once() -> None:
    assert len(yaml_document.read(b"a: &a {x: 1, x: 2}\nb: *a\nc: *a\n").repeated) == 1


def test_a_part_that_is_used_twice_is_two_parts() -> None:
    found = yaml_document.read(b"a: &a {x: [1]}\nb: *a\n").value
    assert found == {"a": {"x": [1]}, "b": {"x": [1]}}
    found["a"]["x"].append(2)
    assert found["b"] == {"x": [1]}


def test_a_few_aliases_are_fine_in_a_large_text() -> None:
    text = "a: &a [1, 2, 3]\n" + "".join(f"b{n}: *a\nc{n}: {n}\n" for n in range(400))
    assert len(yaml_document.read(text.encode()).value) == 801


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
        ("!!binary //8=", "\ufffd\ufffd"),
        ("!own {a: !own 1, b: !own [2]}", {"a": "1", "b": [2]}),
        ("!!map x", "x"),
    ],
)
def test_values_are_such_that_json_can_say_them(text: str, value: object) -> None:
    assert yaml_document.read(text.encode()).value == value


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a: .inf", r"json: unsupported value: \+Inf"),
        ("a: -.INF", "json: unsupported value: -Inf"),
        ("a: .NaN", "json: unsupported value: NaN"),
        ("a: !!int x", "yaml: cannot decode !!str `x` as a !!int"),
        ("a: !!bool x", "yaml: cannot decode !!str `x` as a !!bool"),
        ("a: !!binary '*'", "yaml: !!binary value contains invalid base64 data"),
        ("a: *b", "yaml: unknown anchor 'b' referenced"),
        ("~: b", 'unsupported map key of type: %!s\\(<nil>\\), key: <nil>, value: "b"'),
        ("a: 1\nb: [c", "yaml: line 2: did not find expected ',' or ']'"),
        ("a: 1\nb: 'c\n", "yaml: line 3: found unexpected end of stream"),
    ],
)
def test_what_is_wrong_is_said_in_the_words_of_go(text: str, why: str) -> None:
    with pytest.raises(BadYAML, match=f"^{why}$"):
        yaml_document.read(text.encode())
