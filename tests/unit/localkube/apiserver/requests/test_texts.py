"""Text that is no text, and text that could be something else."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from jobferry.localkube.apiserver.requests import lenient_json, yaml_output, yaml_text
from jobferry.localkube.apiserver.types import godurations


def test_characters_that_are_none_are_replaced() -> None:
    assert lenient_json.parse(b'{"a":["\xff","\\ud800"]}') == {"a": ["\ufffd", "\ufffd"]}


def test_numbers_that_are_too_large_are_refused() -> None:
    with pytest.raises(ValueError, match="cannot unmarshal number"):
        lenient_json.parse(b"1e400")


@pytest.mark.parametrize("text", ["n", "yes", "1", "0x1", "1.5", "2020-01-01", "1:20", "", "~"])
def test_text_that_could_be_something_else_is_in_quotes(text: str) -> None:
    assert yaml_output.dump({"a": text}) == f'a: "{text}"\n'.encode()


@given(st.dictionaries(st.text("ab1~-: #yn", min_size=1), st.text("ab1~-: #'\"yn", max_size=6)))
def test_what_is_written_is_read_again(value: dict[str, str]) -> None:
    written = yaml_output.dump(value)

    assert yaml_text.read(written).value == value
    assert yaml.safe_load(written) == value


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("1h30m", ""),
        ("0", ""),
        ("-1.5s", ""),
        ("", 'invalid duration ""'),
        ("x", 'invalid duration "x"'),
        ("1", 'missing unit in duration "1"'),
        ("1y", 'unknown unit "y" in duration "1y"'),
        ("1µ", r'unknown unit "\xc2\xb5" in duration "1\xc2\xb5"'),
        ("2562047h47m", ""),
        ("2562048h", 'invalid duration "2562048h"'),
        ("99999999999999999999", 'invalid duration "99999999999999999999"'),
        ("-9223372036854775808ns", ""),
        ("9223372036854775808ns", 'invalid duration "9223372036854775808ns"'),
    ],
)
def test_durations_are_read_as_go_reads_them(text: str, problem: str) -> None:
    assert godurations.problem(text) == problem
