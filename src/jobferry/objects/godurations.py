"""Durations as Go reads them: 1h30m, 1.5s."""

import re

from jobferry import errors
from jobferry.objects.gotext import quote_bytes

_PART = re.compile(r"([0-9]*)(?:\.([0-9]*))?([^0-9.]*)")
_SECOND = 10**9
_UNITS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": _SECOND,
    "m": 60 * _SECOND,
    "h": 3600 * _SECOND,
}
_LONGEST = 2**63
_MOST_DIGITS = 19
"""More of them are no number for Go."""


class BadDuration(errors.BadInput):
    """A text that is no duration, in the words of Go."""

    hint = 'Write a number with a unit, such as "90s", "1h30m" or "500ms".'


def parse(text: str) -> int:
    """Return how many nanoseconds a duration is."""
    invalid = BadDuration(f"invalid duration {quote_bytes(text)}")
    rest = text[1:] if text[:1] in ("+", "-") else text
    if rest == "0":
        return 0
    if not rest:
        raise invalid
    total = 0
    while rest:
        parts = _PART.match(rest)
        if parts is None or not (parts[1] or parts[2]):
            raise invalid
        total += _amount(parts, text, invalid)
        if total > _LONGEST:
            raise invalid
        rest = rest[parts.end() :]
    if total == _LONGEST and text[0] != "-":
        raise invalid
    return -total if text[0] == "-" else total


def problem(text: str) -> str:
    """Say what is wrong with a duration, as Go does; nothing if it is one."""
    try:
        parse(text)
    except BadDuration as error:
        return str(error)
    return ""


def _amount(parts: re.Match[str], text: str, invalid: BadDuration) -> int:
    whole, fraction, unit = parts[1].lstrip("0"), parts[2] or "", parts[3]
    if len(whole) > _MOST_DIGITS or int(whole or 0) > _LONGEST:
        raise invalid
    if not unit:
        raise BadDuration(f"missing unit in duration {quote_bytes(text)}")
    if unit not in _UNITS:
        raise BadDuration(f"unknown unit {quote_bytes(unit)} in duration {quote_bytes(text)}")
    return int(whole or 0) * _UNITS[unit] + _fraction(fraction, _UNITS[unit])


def _fraction(digits: str, unit: int) -> int:
    """Return that part of a unit; with floats, as Go has it: a third of an hour is 20 minutes."""
    number, scale = 0, 1.0
    for digit in digits:
        longer = number * 10 + int(digit)
        if longer > _LONGEST:
            break
        number, scale = longer, scale * 10
    return int(number * (unit / scale))
