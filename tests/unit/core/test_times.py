from datetime import UTC, datetime

from jobferry.core import times

WRITTEN = "2026-11-14T23:02:03Z"
SINCE = datetime(2026, 11, 14, 23, 2, 3, tzinfo=UTC)


def test_a_moment_is_read_and_what_is_left_of_a_time_may_be_less_than_nothing() -> None:
    assert times.instant(WRITTEN) == SINCE
    assert times.left(SINCE, 10.0, SINCE.replace(second=5)) == 8.0
    assert times.left(SINCE, 10.0, SINCE.replace(second=23)) == -10.0
