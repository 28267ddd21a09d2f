"""Spans of time as people read them, rounded as Kubernetes rounds them ("45s", "3m10s", "5d2h")."""

from datetime import datetime
from typing import Any

UNKNOWN = "<unknown>"
INVALID = "<invalid>"

_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_YEAR = 365 * _DAY
_LONGEST = (2**63 - 1) // 10**9
"""Go's durations end after 292 years."""


def since(timestamp: Any, now: datetime) -> str:
    """Say how long ago a timestamp was; null or nothing is unknown."""
    if not timestamp:
        return UNKNOWN
    return human(seconds_between(timestamp, now))


def seconds_between(timestamp: str, later: datetime) -> int:
    """Return the whole seconds from a timestamp until then, cut towards zero."""
    seconds = int((later - datetime.fromisoformat(timestamp)).total_seconds())
    return max(-_LONGEST, min(seconds, _LONGEST))


def human(seconds: int) -> str:
    """Say it with two or three significant figures."""
    if seconds < 2 * _MINUTE:
        return _about_now(seconds)
    if seconds < 3 * _HOUR:
        return _minutes(seconds)
    if seconds < 8 * _HOUR:
        return _two(seconds, _HOUR, "h", _MINUTE, "m")
    if seconds < 2 * _DAY:
        return f"{seconds // _HOUR}h"
    if seconds < 8 * _DAY:
        return _two(seconds, _DAY, "d", _HOUR, "h")
    if seconds < 2 * _YEAR:
        return f"{seconds // _DAY}d"
    if seconds < 8 * _YEAR:
        return _two(seconds, _YEAR, "y", _DAY, "d")
    return f"{seconds // _YEAR}y"


def _about_now(seconds: int) -> str:
    # Clocks differ a little: what is a moment ahead counts as now.
    return f"{max(seconds, 0)}s" if seconds >= -1 else INVALID


def _minutes(seconds: int) -> str:
    if seconds < 10 * _MINUTE:
        return _two(seconds, _MINUTE, "m", 1, "s")
    return f"{seconds // _MINUTE}m"


def _two(seconds: int, unit: int, name: str, smaller: int, smaller_name: str) -> str:
    rest = seconds % unit // smaller
    return (
        f"{seconds // unit}{name}{rest}{smaller_name}" if rest else f"{seconds // unit}{name}"
    )
