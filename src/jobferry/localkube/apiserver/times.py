"""Times as Kubernetes writes them."""

from datetime import UTC, datetime
from functools import lru_cache


@lru_cache(maxsize=64)  # a write notes the same moment in several places
def timestamp(moment: datetime) -> str:
    """Return a time as `metav1.Time` writes it: in UTC, in whole seconds."""
    return f"{moment.astimezone(UTC).isoformat(timespec='seconds')[:19]}Z"
