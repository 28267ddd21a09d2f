"""Moments that API servers wrote, and how long ago they were."""

from datetime import datetime, timedelta
from typing import Any

from jobferry.clock import Seconds
from jobferry.objects import Obj
from jobferry.objects.times import timestamp


def instant(text: str) -> datetime:
    """Read what an API server wrote."""
    return datetime.fromisoformat(text)


def made_at(obj: Obj) -> datetime:
    """Return when an API server made an object."""
    return instant(obj["metadata"]["creationTimestamp"])


def left(since: datetime, lasts: Seconds, now: datetime) -> Seconds:
    """Return how much is left of a time that began then; less than nothing once it is over."""
    return lasts - (now - since).total_seconds()


def on_our_clock(obj: Obj, skew: timedelta) -> Obj:
    """Return an object whose status tells every moment by our clock; that of its cluster is `skew` ahead of ours."""
    if not skew or "status" not in obj:
        return obj
    return {**obj, "status": _shifted(obj["status"], skew)}


def made_on_our_clock(obj: Obj, skew: timedelta) -> Obj:
    """Return a hub object that was made when our clock says so; the rest of its moments is ours anyway."""
    made = obj["metadata"].get("creationTimestamp")
    if not skew or not made:
        return obj
    return {**obj, "metadata": {**obj["metadata"], "creationTimestamp": _moment(made, skew)}}


def _shifted(value: Any, skew: timedelta) -> Any:
    match value:
        case dict():
            return {
                name: _moment(member, skew)
                if name.endswith("Time") and isinstance(member, str)
                else _shifted(member, skew)
                for name, member in value.items()
            }
        case list():
            return [_shifted(each, skew) for each in value]
        case _:
            return value


def _moment(text: str, skew: timedelta) -> str:
    try:
        return timestamp(instant(text) - skew)
    except (ValueError, OverflowError):
        return text  # whatever it is, it is not to be read as a moment
