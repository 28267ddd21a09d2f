"""Times as Kubernetes writes them: in UTC, to the second or to the microsecond."""

from datetime import UTC, datetime
from functools import lru_cache


@lru_cache(maxsize=64)  # a write notes the same moment in several places
def timestamp(moment: datetime) -> str:
    """Return a time as `metav1.Time` writes it; what is below a second is cut off, as API servers do."""
    return f"{moment.astimezone(UTC).isoformat(timespec='seconds')[:19]}Z"


def micro_timestamp(moment: datetime) -> str:
    """Return a time as `metav1.MicroTime` writes it."""
    return f"{moment.astimezone(UTC).isoformat(timespec='microseconds')[:26]}Z"
