"""Moments that API servers wrote, and how long ago they were."""

from datetime import datetime

from jobferry.clock import Seconds


def instant(text: str) -> datetime:
    """Read what an API server wrote."""
    return datetime.fromisoformat(text)


def left(since: datetime, lasts: Seconds, now: datetime) -> Seconds:
    """Return how much is left of a time that began then; less than nothing once it is over."""
    return lasts - (now - since).total_seconds()
