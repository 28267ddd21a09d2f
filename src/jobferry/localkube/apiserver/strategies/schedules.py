"""Schedules of CronJobs: what is wrong with them, in the words of the parser that Kubernetes uses."""

import re
from typing import NamedTuple

from jobferry import errors
from jobferry.localkube.apiserver.types import godurations
from jobferry.objects import gotext


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
_DESCRIPTORS = frozenset(
    {"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"}
)
_INTEGER = re.compile(r"[+-]?[0-9]+").fullmatch
_ZONE_PART = re.compile(r"[A-Za-z.\-_0-9+]{1,14}").fullmatch


def check(schedule: str) -> None:
    """Raise BadSchedule unless a schedule can be understood."""
    if schedule.startswith(("TZ=", "CRON_TZ=")):
        schedule = _without_zone(schedule)
    if schedule.startswith("@"):
        _check_descriptor(schedule)
        return
    fields = schedule.split()
    if len(fields) != len(_FIELDS):
        raise BadSchedule(
            f"expected exactly 5 fields, found {len(fields)}: [{' '.join(fields)}]"
        )
    for field, bounds in zip(fields, _FIELDS, strict=True):
        for part in field.split(","):
            if part:
                _check_range(part, bounds)


def zone_problem(zone: str) -> str:
    """Say what is wrong with the name of a time zone, if anything is."""
    if zone in ("", "UTC", "Local"):
        return ""
    if ".." in zone or zone[0] in "/\\" or "\\" in zone:
        return "time: invalid location name"
    import zoneinfo  # noqa: PLC0415 (heavy, and few CronJobs name a zone)

    try:
        zoneinfo.ZoneInfo(zone)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        return f"unknown time zone {zone}"
    return ""


def is_zone_name(zone: str) -> bool:
    """Tell whether a text has the form of a time zone's name."""
    return all(
        part not in (".", "..") and not part.startswith("-") and _ZONE_PART(part)
        for part in zone.split("/")
    )


def _without_zone(schedule: str) -> str:
    zone, blank, rest = schedule.partition(" ")
    if not blank:
        what = "runtime error: slice bounds out of range [:-1]"
        raise BadSchedule(f"invalid schedule format: {what}")
    zone = zone.partition("=")[2]
    if problem := zone_problem(zone):
        raise BadSchedule(f"provided bad location {zone}: {problem}")
    return rest.strip()


def _check_range(text: str, bounds: _Bounds) -> None:
    limits, *steps = text.split("/")
    first, *others = limits.split("-")
    if first in ("*", "?"):
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


def _check_descriptor(descriptor: str) -> None:
    if descriptor in _DESCRIPTORS:
        return
    if not descriptor.startswith("@every "):
        raise BadSchedule(f"unrecognized descriptor: {descriptor}")
    if problem := godurations.problem(descriptor.removeprefix("@every ")):
        raise BadSchedule(f"failed to parse duration {descriptor}: time: {problem}")
