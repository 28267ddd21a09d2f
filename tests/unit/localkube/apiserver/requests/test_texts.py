"""Text that is no text, and numbers that are none."""

import pytest

from jobferry.localkube.apiserver.requests import lenient_json


def test_characters_that_are_none_are_replaced() -> None:
    assert lenient_json.parse(b'{"a":["\xff","\\ud800"]}') == {"a": ["\ufffd", "\ufffd"]}


def test_numbers_that_are_too_large_are_refused() -> None:
    with pytest.raises(ValueError, match="cannot unmarshal number"):
        lenient_json.parse(b"1e400")
