"""How figures are shown."""

import pytest

from bench import tables


def test_a_cell_shows_a_range_only_if_there_is_one() -> None:
    assert tables.cell([2, 1, 4]) == "2 (1-4)"
    assert tables.cell([2.0]) == "2"


@pytest.mark.parametrize(
    ("value", "text"), [(0.1234, "0.123"), (12.34, "12.3"), (1234.5, "1234"), (0, "0")]
)
def test_a_number_has_three_digits(value: float, text: str) -> None:
    assert tables.number(value) == text


@pytest.mark.parametrize(("share", "value"), [(0.5, 10), (0.95, 19), (1, 20), (0, 1)])
def test_a_percentile_is_a_value_that_was_measured(share: float, value: float) -> None:
    assert tables.percentile(range(20, 0, -1), share) == value


def test_columns_are_as_wide_as_their_widest_cell() -> None:
    assert tables.aligned([["a", "1"], ["bcd", "22"]]) == "a     1\nbcd  22"
