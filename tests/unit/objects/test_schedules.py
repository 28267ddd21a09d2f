"""Schedules of CronJobs, in the words of the parser that Kubernetes uses."""

from datetime import UTC, datetime, timedelta

import pytest

from jobferry.objects import schedules

GOOD = (
    *("0 3 * * *", "*/5 1-5,7 ? jan-DEC sun", "@daily", "@every 1h30m", "@every -.5s"),
    *(", * * * *", "1,,2 * * * *", "5/2 * * * *", "+5 * * * *", "TZ=UTC 0 3 * * *"),
    *("CRON_TZ=Europe/Berlin @hourly", "@every 0"),
)
BAD = {
    "": "expected exactly 5 fields, found 0: []",
    "1 2 3": "expected exactly 5 fields, found 3: [1 2 3]",
    "60 * * * *": "end of range (60) above maximum (59): 60",
    "* * 0 * *": "beginning of range (0) below minimum (1): 0",
    "5-1 * * * *": "beginning of range (5) beyond end of range (1): 5-1",
    "1-2-3 * * * *": "too many hyphens: 1-2-3",
    "1/2/3 * * * *": "too many slashes: 1/2/3",
    "*/0 * * * *": "step of range should be a positive number: */0",
    "a * * * *": 'failed to parse int from a: strconv.Atoi: parsing "a": invalid syntax',
    "99999999999999999999 * * * *": (
        "failed to parse int from 99999999999999999999: "
        'strconv.Atoi: parsing "99999999999999999999": value out of range'
    ),
    "1--2 * * * *": "too many hyphens: 1--2",
    "1/-2 * * * *": "negative number (-2) not allowed: -2",
    "@sometimes": "unrecognized descriptor: @sometimes",
    "@every x": 'failed to parse duration @every x: time: invalid duration "x"',
    "@every 1": 'failed to parse duration @every 1: time: missing unit in duration "1"',
    "@every 1y": 'failed to parse duration @every 1y: time: unknown unit "y" in duration "1y"',
    "TZ=UTC": "invalid schedule format: runtime error: slice bounds out of range [:-1]",
    "TZ=No/Where * * * * *": "provided bad location No/Where: unknown time zone No/Where",
    "TZ=../x * * * * *": "provided bad location ../x: time: invalid location name",
}


@pytest.mark.parametrize("schedule", GOOD)
def test_a_good_schedule_passes(schedule: str) -> None:
    schedules.parse(schedule)


@pytest.mark.parametrize("schedule", BAD)
def test_a_bad_schedule_is_explained(schedule: str) -> None:
    with pytest.raises(schedules.BadSchedule) as caught:
        schedules.parse(schedule)
    assert str(caught.value) == BAD[schedule]


@pytest.mark.parametrize(
    ("zone", "named"),
    [
        ("Europe/Berlin", True),
        ("Etc/GMT+1", True),
        ("a//b", False),
        ("-a", False),
        ("..", False),
    ],
)
def test_names_of_zones_have_a_form(zone: str, named: bool) -> None:
    assert schedules.is_zone_name(zone) is named


def test_zones_are_known_by_name() -> None:
    assert not schedules.zone_problem("Europe/Berlin")
    assert schedules.zone_problem("Europe") == "unknown time zone Europe"


def at(text: str) -> datetime:
    return datetime.fromisoformat(text)


@pytest.mark.parametrize(
    ("schedule", "after", "expected"),
    [
        ("* * * * *", "2026-01-01T00:00:00Z", "2026-01-01T00:01:00Z"),
        ("* * * * *", "2026-01-01T00:00:59.5Z", "2026-01-01T00:01:00Z"),
        ("*/15 * * * *", "2026-01-01T00:15:00Z", "2026-01-01T00:30:00Z"),
        ("5/20 * * * *", "2026-01-01T00:45:00Z", "2026-01-01T01:05:00Z"),
        ("0 3 * * *", "2026-01-01T03:00:00Z", "2026-01-02T03:00:00Z"),
        ("0 3 * * *", "2026-12-31T04:00:00Z", "2027-01-01T03:00:00Z"),
        ("30 6-16/4 * * 1-5", "2026-01-02T14:30:00Z", "2026-01-05T06:30:00Z"),
        ("0 0 1 * *", "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"),
        ("0 0 31 * *", "2026-01-31T00:00:00Z", "2026-03-31T00:00:00Z"),
        ("0 0 29 2 *", "2026-01-01T00:00:00Z", "2028-02-29T00:00:00Z"),
        ("0 0 31 2 *", "2026-01-01T00:00:00Z", None),
        (", * * * *", "2026-01-01T00:00:00Z", None),
        ("0 0 13 * 5", "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"),
        ("0 0 13 * *", "2026-01-01T00:00:00Z", "2026-01-13T00:00:00Z"),
        ("0 0 * * fri", "2026-01-02T00:00:00Z", "2026-01-09T00:00:00Z"),
        ("0 0 */2 * 5", "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"),
        ("@yearly", "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z"),
        ("@weekly", "2026-01-01T00:00:00Z", "2026-01-04T00:00:00Z"),
        ("@hourly", "2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z"),
        ("@every 90s", "2026-01-01T00:00:00.7Z", "2026-01-01T00:01:30Z"),
        ("@every 0", "2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z"),
        ("TZ=Europe/Berlin 0 3 * * *", "2026-01-01T00:00:00Z", "2026-01-01T02:00:00Z"),
        ("TZ=Asia/Kolkata 0 3 * * *", "2026-01-01T00:00:00Z", "2026-01-01T21:30:00Z"),
        # The clock goes from 02:00 to 03:00: what is due between is due the day after.
        ("TZ=Europe/Berlin 30 2 * * *", "2026-03-28T12:00:00Z", "2026-03-30T00:30:00Z"),
        # The clock goes from 03:00 back to 02:00: what is due between is due twice.
        ("TZ=Europe/Berlin 30 2 * * *", "2026-10-25T00:00:00Z", "2026-10-25T00:30:00Z"),
        ("TZ=Europe/Berlin 30 2 * * *", "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"),
        # There is no midnight on that day, but the day is there.
        ("TZ=Africa/Cairo 0 12 * * 5", "2026-04-23T12:00:00Z", "2026-04-24T09:00:00Z"),
        ("TZ=America/Havana 0 12 8 3 *", "2026-03-07T12:00:00Z", "2026-03-08T16:00:00Z"),
    ],
)
def test_a_schedule_is_due_next(schedule: str, after: str, expected: str | None) -> None:
    due = schedules.parse(schedule).next(at(after))

    assert due == (None if expected is None else at(expected))


def test_a_zone_can_be_given_apart() -> None:
    schedule = schedules.parse("0 3 * * *", "America/New_York")

    assert schedule.next(at("2026-01-01T00:00:00Z")) == at("2026-01-01T08:00:00Z")


@pytest.mark.parametrize(
    "schedule", ["*/7 */3 * * *", "@every 7h", "TZ=Europe/Berlin 5 4 * * *"]
)
def test_times_only_go_forward(schedule: str) -> None:
    due = datetime(2026, 3, 25, tzinfo=UTC)
    for _ in range(100):
        later = schedules.parse(schedule).next(due)
        assert later is not None
        assert timedelta(0) < later - due <= timedelta(hours=25)
        due = later
