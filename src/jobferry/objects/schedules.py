"""Schedules of CronJobs: when they are due, and what is wrong with them in the words of Kubernetes.

A schedule has five fields (minute, hour, day, month, day of week), or is one of a few words (`@daily`,
`@every 1h30m`). Days count if one of the two day fields matches, unless one of them is a star.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import NamedTuple

from jobferry import errors
from jobferry.objects import godurations, gotext


class BadSchedule(errors.BadInput):
    """A schedule that cannot be understood."""

    hint = 'A schedule has five fields: minute, hour, day, month, day of week ("0 3 * * 1").'


class _Bounds(NamedTuple):
    """What numbers a field may have, and what names stand for some of them."""

    low: int
    high: int
    names: tuple[str, ...] = ()


_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_FIELDS = (
    _Bounds(0, 59),
    _Bounds(0, 23),
    _Bounds(1, 31),
    _Bounds(1, 12, _MONTHS),
    _Bounds(0, 6, _DAYS),
)
_DESCRIPTORS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_INTEGER = re.compile(r"[+-]?[0-9]+").fullmatch
_ZONE_PART = re.compile(r"[A-Za-z.\-_0-9+]{1,14}").fullmatch

_YEARS = 5
"""How far is looked ahead for a time that fits: far enough for a 29th of February, mostly."""

_SECOND, _MINUTE = timedelta(seconds=1), timedelta(minutes=1)
_HOUR, _DAY = timedelta(hours=1), timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Every:
    """A schedule that is due again and again after the same time."""

    interval: timedelta

    def next(self, after: datetime) -> datetime:
        """Return when it is due next."""
        return (after + self.interval).replace(microsecond=0)


@dataclass(frozen=True, slots=True)
class Calendar:
    """A schedule of minutes in the calendar of a time zone."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    """0 is Sunday."""

    any_day: bool
    """Whether one of the day fields is a star: then both have to match, else one is enough."""

    zone: tzinfo = UTC

    def next(self, after: datetime) -> datetime | None:
        """Return the first time after `after` that fits; None if there is none in years.

        Times that a change to summer time leaves out are not made up for, and those that it repeats count
        twice: that is what Kubernetes does.
        """
        start = (after.astimezone(UTC) + _SECOND).replace(microsecond=0)
        last = start.astimezone(self.zone).year + _YEARS
        found: datetime | None = start
        while found is not None:
            before = found
            found = self._fitting(before, last)
            if found == before:
                return found
        return None

    def _fitting(self, at: datetime, last: int) -> datetime | None:
        """Return `at` if it fits, else the next moment that may; None after the last year."""
        local = at.astimezone(self.zone)
        if local.year > last:
            return None
        if local.month not in self.months:
            following = local.month % 12 + 1
            return self._midnight(local.year + (following == 1), following, 1)
        if not self._fits_day(local):
            tomorrow = local.date() + _DAY
            return self._midnight(tomorrow.year, tomorrow.month, tomorrow.day)
        if local.hour not in self.hours:
            return at - local.minute * _MINUTE - local.second * _SECOND + _HOUR
        if local.minute not in self.minutes or local.second:
            return at - local.second * _SECOND + _MINUTE
        return at

    def _fits_day(self, local: datetime) -> bool:
        day = local.day in self.days
        weekday = local.isoweekday() % 7 in self.weekdays
        return day and weekday if self.any_day else day or weekday

    def _midnight(self, year: int, month: int, day: int) -> datetime:
        """Return when a day begins in the zone: with its first hour that is, where summer time takes one."""
        return datetime(year, month, day, tzinfo=self.zone).astimezone(UTC)


Schedule = Calendar | Every


def parse(schedule: str, zone: str = "") -> Schedule:
    """Read a schedule; `zone` is the name of the time zone it is meant in, UTC if empty.

    Raises `BadSchedule` if it cannot be understood.
    """
    if schedule.startswith(("TZ=", "CRON_TZ=")):
        zone, schedule = _split_zone(schedule)
    if schedule.startswith("@every "):
        return _every(schedule)
    if schedule.startswith("@"):
        if schedule not in _DESCRIPTORS:
            raise BadSchedule(f"unrecognized descriptor: {schedule}")
        schedule = _DESCRIPTORS[schedule]
    fields = schedule.split()
    if len(fields) != len(_FIELDS):
        raise BadSchedule(
            f"expected exactly 5 fields, found {len(fields)}: [{' '.join(fields)}]"
        )
    read = [_field(text, bounds) for text, bounds in zip(fields, _FIELDS, strict=True)]
    (minutes, _), (hours, _), (days, any_day), (months, _), (weekdays, any_weekday) = read
    return Calendar(
        minutes, hours, days, months, weekdays, any_day or any_weekday, location(zone)
    )


def location(zone: str) -> tzinfo:
    """Return the time zone of that name; UTC if it has none."""
    if zone in ("", "UTC", "Local"):
        return UTC
    import zoneinfo  # noqa: PLC0415 (heavy, and few CronJobs name a zone)

    return zoneinfo.ZoneInfo(zone)


def zone_problem(zone: str) -> str:
    """Say what is wrong with the name of a time zone, if anything is."""
    if zone in ("", "UTC", "Local"):
        return ""
    if ".." in zone or zone[0] in "/\\" or "\\" in zone:
        return "time: invalid location name"
    try:
        location(zone)
    except (KeyError, ValueError, OSError):  # zoneinfo's own error is a KeyError
        return f"unknown time zone {zone}"
    return ""


def is_zone_name(zone: str) -> bool:
    """Tell whether a text has the form of a time zone's name."""
    return all(
        part not in (".", "..") and not part.startswith("-") and _ZONE_PART(part)
        for part in zone.split("/")
    )


def _split_zone(schedule: str) -> tuple[str, str]:
    zone, blank, rest = schedule.partition(" ")
    if not blank:
        what = "runtime error: slice bounds out of range [:-1]"
        raise BadSchedule(f"invalid schedule format: {what}")
    zone = zone.partition("=")[2]
    if problem := zone_problem(zone):
        raise BadSchedule(f"provided bad location {zone}: {problem}")
    return zone, rest.strip()


def _every(schedule: str) -> Every:
    try:
        nanoseconds = godurations.parse(schedule.removeprefix("@every "))
    except godurations.BadDuration as error:
        raise BadSchedule(f"failed to parse duration {schedule}: time: {error}") from error
    return Every(timedelta(seconds=max(1, nanoseconds // 10**9)))


def _field(text: str, bounds: _Bounds) -> tuple[frozenset[int], bool]:
    """Read one field: the numbers that it stands for, and whether it is a star."""
    ranges = [_range(part, bounds) for part in text.split(",") if part]
    numbers = frozenset(number for found, _ in ranges for number in found)
    return numbers, any(is_star for _, is_star in ranges)


def _range(text: str, bounds: _Bounds) -> tuple[Iterable[int], bool]:
    limits, *steps = text.split("/")
    first, *others = limits.split("-")
    is_star = first in ("*", "?")
    if is_star:
        start, end = bounds.low, bounds.high
    else:
        start = end = _number_or_name(first, bounds)
        if len(others) == 1:
            end = _number_or_name(others[0], bounds)
        elif others:
            raise BadSchedule(f"too many hyphens: {text}")
    step = 1
    if len(steps) == 1:
        step = _number(steps[0])
        end = end if others else bounds.high
    elif steps:
        raise BadSchedule(f"too many slashes: {text}")
    _check_limits(start, end, step, bounds, text)
    return range(start, end + 1, step), is_star and step == 1


def _check_limits(start: int, end: int, step: int, bounds: _Bounds, text: str) -> None:
    if start < bounds.low:
        what = f"beginning of range ({start}) below minimum ({bounds.low}): {text}"
    elif end > bounds.high:
        what = f"end of range ({end}) above maximum ({bounds.high}): {text}"
    elif start > end:
        what = f"beginning of range ({start}) beyond end of range ({end}): {text}"
    elif step == 0:
        what = f"step of range should be a positive number: {text}"
    else:
        return
    raise BadSchedule(what)


def _number_or_name(text: str, bounds: _Bounds) -> int:
    if (name := text.lower()) in bounds.names:
        return bounds.names.index(name) + bounds.low
    return _number(text)


def _number(text: str) -> int:
    number = gotext.parse_int(text)
    if number is None:
        why = "value out of range" if _INTEGER(text) else "invalid syntax"
        raise BadSchedule(
            f"failed to parse int from {text}: strconv.Atoi: parsing {gotext.quote(text)}: {why}"
        )
    if number < 0:
        raise BadSchedule(f"negative number ({number}) not allowed: {text}")
    return number
