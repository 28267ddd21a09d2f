import copy
from datetime import UTC, datetime, timedelta, timezone

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobferry.localkube.apiserver.times import exact
from jobferry.localkube.apiserver.types import gotime

FIRST, LAST = datetime(2, 1, 1), datetime(9998, 1, 1)  # noqa: DTZ001 - what hypothesis wants
ZONES = st.integers(-23 * 60, 23 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
        ("2026-12-31T23:00:00-01:00", "2027-01-01T00:00:00Z"),
        ("2024-02-29T1:02:03,5Z", "2024-02-29T01:02:03Z"),
        ("0001-01-01T00:00:00Z", None),
    ],
)
def test_times_are_printed_in_utc_with_whole_seconds(text: str, seconds: str | None) -> None:
    assert gotime.canonical(text) == seconds


def test_what_is_cut_off_is_remembered_for_who_compares() -> None:
    plain, half, finer = (
        gotime.canonical(f"2026-01-01T00:00:00{fraction}Z")
        for fraction in ("", ".5", ".5000000001")
    )

    assert plain == half == finer
    assert exact(None) < exact(plain) < exact(half) == exact(finer)
    assert exact(gotime.from_seconds(0, 7)) == ("1970-01-01T00:00:00Z", 7)
    assert exact(copy.deepcopy(half)) == exact(half)
    assert orjson.dumps(half) == orjson.dumps(plain)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", ' as "2006-01-02T15:04:05Z07:00": cannot parse "" as "2006"'),
        ("2026-02-29T00:00:00Z", ": day out of range"),
        ("2026-01-01T25:00:00Z", ": hour out of range"),
        ("2026-01-01T00:00:00Zx", ': extra text: "x"'),
        ("2026-01-01T00:00", ' as "2006-01-02T15:04:05Z07:00": cannot parse "" as ":"'),
    ],
)
def test_other_texts_are_refused_in_gos_words(text: str, why: str) -> None:
    with pytest.raises(gotime.BadTime) as refused:
        gotime.canonical(text)

    assert str(refused.value) == f'parsing time "{text}"{why}'


def test_microseconds_must_have_six_digits() -> None:
    assert (
        gotime.canonical_micro("2026-01-01T00:00:00.500000Z") == "2026-01-01T00:00:00.500000Z"
    )
    with pytest.raises(gotime.BadTime, match=r'cannot parse "Z" as ".000000"'):
        gotime.canonical_micro("2026-01-01T00:00:00Z")


@given(st.datetimes(min_value=FIRST, max_value=LAST, timezones=ZONES))
def test_every_time_is_the_same_moment_afterwards(moment: datetime) -> None:
    text = gotime.canonical_micro(moment.isoformat(timespec="microseconds"))

    assert text is not None
    assert datetime.fromisoformat(text) == moment


@given(st.datetimes(max_value=LAST))
def test_seconds_since_1970_are_the_same_moment(moment: datetime) -> None:
    moment = moment.replace(tzinfo=UTC, microsecond=0)
    seconds = (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(seconds=1)

    text = gotime.from_seconds(seconds)

    assert text == gotime.canonical(moment.replace(tzinfo=None).isoformat() + "Z")


def test_a_time_that_no_text_can_show_is_refused() -> None:
    with pytest.raises(gotime.BadTime):
        gotime.from_seconds(2**62)
