"""Text that is no text, and durations."""

import pytest

from jobferry.localkube.apiserver.requests import lenient_json
from jobferry.objects import godurations


def test_characters_that_are_none_are_replaced() -> None:
    assert lenient_json.parse(b'{"a":["\xff","\\ud800"]}') == {"a": ["\ufffd", "\ufffd"]}


def test_numbers_that_are_too_large_are_refused() -> None:
    with pytest.raises(ValueError, match="cannot unmarshal number"):
        lenient_json.parse(b"1e400")


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
