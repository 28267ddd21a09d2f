"""Spans of time for people."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobferry.localkube.apiserver.printing import durations

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
M, H, D = 60, 3600, 86400
Y = 365 * D


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        *((-2, "<invalid>"), (-1, "0s"), (0, "0s"), (119, "119s"), (2 * M, "2m")),
        *((2 * M + 1, "2m1s"), (10 * M - 1, "9m59s"), (10 * M, "10m"), (3 * H - 1, "179m")),
        *((3 * H, "3h"), (3 * H + M, "3h1m"), (8 * H - 1, "7h59m"), (8 * H, "8h")),
        *((2 * D - 1, "47h"), (2 * D, "2d"), (2 * D + H, "2d1h"), (8 * D - 1, "7d23h")),
        *((8 * D, "8d"), (2 * Y - 1, "729d"), (2 * Y, "2y"), (2 * Y + D, "2y1d")),
        *((8 * Y - 1, "7y364d"), (8 * Y, "8y"), (100 * Y, "100y")),
    ],
)
def test_durations_are_rounded_as_kubernetes_rounds_them(seconds: int, text: str) -> None:
    assert durations.human(seconds) == text


@pytest.mark.parametrize("nothing", [None, ""])
def test_no_moment_is_unknown(nothing: str | None) -> None:
    assert durations.since(nothing, NOW) == "<unknown>"


def test_moments_may_have_fractions_and_offsets() -> None:
    assert durations.since("2026-11-16T11:59:00.500000Z", NOW) == "59s"
    assert durations.since("2026-11-16T13:59:00+02:00", NOW) == "60s"


def test_fractions_are_cut_towards_zero_also_in_the_future() -> None:
    ahead = (NOW + timedelta(seconds=1.9)).isoformat()
    further = (NOW + timedelta(seconds=2)).isoformat()

    assert durations.since(ahead, NOW) == "0s"
    assert durations.since(further, NOW) == "<invalid>"


def test_a_duration_ends_where_gos_do() -> None:
    assert durations.since("1000-01-01T00:00:00Z", NOW) == "292y"


@given(st.integers(0, 300 * Y))
def test_a_longer_time_is_never_shown_with_a_smaller_unit_first(seconds: int) -> None:
    order = "smhdy"

    def unit(text: str) -> str:
        return next(each for each in text if each in order)

    before, after = durations.human(seconds), durations.human(seconds * 2)

    assert order.index(unit(before)) <= order.index(unit(after))
