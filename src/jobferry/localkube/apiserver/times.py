"""Times as Kubernetes writes them."""

from datetime import UTC, datetime


def timestamp(moment: datetime) -> str:
    """Return a time as `metav1.Time` writes it: in UTC, in whole seconds."""
    return f"{moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec='seconds')}Z"
