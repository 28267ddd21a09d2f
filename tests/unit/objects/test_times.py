from datetime import UTC, datetime, timedelta, timezone

import pytest

from jobferry.objects import times

MOMENT = datetime(2026, 1, 2, 3, 4, 5, 678_901, tzinfo=UTC)


@pytest.mark.parametrize(
    "moment", [MOMENT, MOMENT.astimezone(timezone(timedelta(hours=5, minutes=30)))]
)
def test_a_time_is_written_in_utc_and_cut_not_rounded(moment: datetime) -> None:
    assert times.timestamp(moment) == "2026-01-02T03:04:05Z"
    assert times.micro_timestamp(moment) == "2026-01-02T03:04:05.678901Z"


def test_years_have_four_digits_and_microseconds_six() -> None:
    moment = datetime(1, 1, 1, tzinfo=UTC)

    assert times.timestamp(moment) == "0001-01-01T00:00:00Z"
    assert times.micro_timestamp(moment) == "0001-01-01T00:00:00.000000Z"
