"""Schedules of CronJobs, in the words of the parser that Kubernetes uses."""

import pytest

from jobferry.localkube.apiserver.strategies import schedules

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
    schedules.check(schedule)


@pytest.mark.parametrize("schedule", BAD)
def test_a_bad_schedule_is_explained(schedule: str) -> None:
    with pytest.raises(schedules.BadSchedule) as caught:
        schedules.check(schedule)
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
