"""How long to wait before a failed pod is replaced."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from jobferry.clock import Seconds
from jobferry.localkube.controllers.heads import Pod
from jobferry.localkube.controllers.job import pods

FIRST: Seconds = 10.0
CAP: Seconds = 600.0


@dataclass(frozen=True, slots=True)
class Record:
    """How many pods of a Job have failed since one ended well, and when the last one did."""

    failures: int = 0
    last: datetime | None = None


NONE = Record()


def after(record: Record, succeeded: Sequence[Pod], failed: Sequence[Pod]) -> Record:
    """Return what is to be remembered once these pods have ended."""
    ends = [pods.finish_time(pod) for pod in failed]
    if succeeded:
        success = max(pods.finish_time(pod) for pod in succeeded)
        since = [end for end in ends if end > success]
        return Record(len(since), max(since)) if since else NONE
    if ends:
        return Record(record.failures + len(ends), max(ends))
    return record


def remaining(record: Record, now: datetime) -> Seconds:
    """Return how long to wait yet before the next pod."""
    if record.last is None:
        return 0.0
    passed = (now - record.last).total_seconds()
    return max(0.0, _delay(record.failures) - passed)


def remaining_for_index(replaced: Pod | None, now: datetime) -> Seconds:
    """Return how long to wait yet before the next pod of an index, of whose last one `replaced` tells."""
    if replaced is None:
        return 0.0
    failures = pods.all_failures(replaced) + 1
    return remaining(Record(failures, pods.finish_time(replaced)), now)


def _delay(failures: int) -> Seconds:
    # Beyond a few doublings it is the cap anyway; counts may be absurdly high.
    return min(CAP, FIRST * 2.0 ** min(failures - 1, 10)) if failures > 0 else 0.0
