"""Durations as Go reads them: 1h30m, 1.5s."""

import re

from jobferry.objects import gotext

_PART = re.compile(r"([0-9]*)(?:\.([0-9]*))?([^0-9.]*)")
_UNITS = ("ns", "us", "µs", "μs", "ms", "s", "m", "h")


def problem(text: str) -> str:
    """Say what is wrong with a duration, as Go does; nothing if it is one."""
    invalid = f"invalid duration {gotext.quote(text)}"
    rest = text[1:] if text[:1] in ("+", "-") else text
    if rest == "0":
        return ""
    if not rest:
        return invalid
    while rest:
        parts = _PART.match(rest)
        if parts is None or not (parts[1] or parts[2]):
            return invalid
        unit = parts[3]
        if not unit:
            return f"missing unit in duration {gotext.quote(text)}"
        if unit not in _UNITS:
            return f"unknown unit {gotext.quote(unit)} in duration {gotext.quote(text)}"
        rest = rest[parts.end() :]
    return ""
