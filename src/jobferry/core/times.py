"""Moments as Kubernetes writes them: in UTC, to the second."""

from datetime import UTC, datetime

from jobferry.clock import Seconds


def text(moment: datetime) -> str:
    """Write a moment; what is below a second is cut off, as API servers do."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def instant(text: str) -> datetime:
    """Read what an API server wrote."""
    return datetime.fromisoformat(text)


def left(since: datetime, lasts: Seconds, now: datetime) -> Seconds:
    """Return how much is left of a time that began then; less than nothing once it is over."""
    return lasts - (now - since).total_seconds()
