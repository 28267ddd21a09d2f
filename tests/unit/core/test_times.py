from datetime import UTC, datetime, timedelta, timezone

from jobferry.core import times


def test_a_moment_is_written_in_utc_and_cut_to_the_second() -> None:
    there = timezone(timedelta(hours=2))

    written = times.text(datetime(2026, 11, 15, 1, 2, 3, 999_999, tzinfo=there))

    assert written == "2026-11-14T23:02:03Z"
    assert times.instant(written) == datetime(2026, 11, 14, 23, 2, 3, tzinfo=UTC)
