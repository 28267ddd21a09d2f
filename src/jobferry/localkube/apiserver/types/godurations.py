"""Durations as Go reads them: 1h30m, 1.5s."""

import re

from jobferry.localkube.apiserver.types.gotime import quote

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


def problem(text: str) -> str:
    """Say what is wrong with a duration, as Go does; nothing if it is one."""
    invalid = f"invalid duration {quote(text)}"
    rest = text[1:] if text[:1] in ("+", "-") else text
    if rest == "0":
        return ""
    if not rest:
        return invalid
    total = 0
    while rest:
        parts = _PART.match(rest)
        if parts is None or not (parts[1] or parts[2]):
            return invalid
        whole, fraction, unit = parts[1].lstrip("0"), parts[2] or "", parts[3]
        if len(whole) > _MOST_DIGITS or int(whole or 0) > _LONGEST:
            return invalid
        if not unit:
            return f"missing unit in duration {quote(text)}"
        if unit not in _UNITS:
            return f"unknown unit {quote(unit)} in duration {quote(text)}"
        # Of a fraction, what counts is in its first digits: no unit has more nanoseconds.
        total += int(whole + fraction[:18].ljust(18, "0")) * _UNITS[unit] // 10**18
        if total > _LONGEST:
            return invalid
        rest = rest[parts.end() :]
    return invalid if total == _LONGEST and text[0] != "-" else ""
