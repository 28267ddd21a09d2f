"""The life of a Job over all its attempts, from its status, its conditions and its events: pure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from jobferry.core import placement, records, times
from jobferry.kinds.job import base as bases
from jobferry.kinds.job.status import COMPLETE, FAILED, INTERIM, SUSPENDED, count
from jobferry.objects import Obj

_ENDS = {COMPLETE, FAILED}


@dataclass(frozen=True, slots=True)
class Moment:
    """Something that happened to a Job."""

    at: datetime
    what: str
    source: str
    """Where that is known from: metadata, record (a Placement), status, condition or event."""

    often: int = 1
    until: datetime | None = None
    """When it happened last, if more than once."""

    is_end: bool = False


def life(job: Obj, events: Iterable[Obj]) -> list[Moment]:
    """Return what happened to a Job, in order."""
    told = from_events(events)
    return in_order([*from_metadata(job), *_status(job), *_conditions(job, told), *told])


def in_order(found: Iterable[Moment]) -> list[Moment]:
    """Return moments one after the other."""
    # What is told in the same second happened in this order.
    rank = {"metadata": 0, "event": 1, "record": 2, "condition": 3, "status": 4}
    return sorted(found, key=lambda each: (each.at, each.is_end, rank[each.source]))


def earned(job: Obj) -> list[str]:
    """Say what earlier attempts have earned, of each worker's part."""
    placed = placement.read(job)
    if placed is None or placed.attempt == 1:
        return []
    if records.is_torn(placed):
        return [f"before attempt {placed.attempt}: see Placement {placed.uid}"]
    return [
        f"{base.succeeded} succeeded, {base.failed} failed before attempt {placed.attempt}"
        for base in (bases.read(shard.base) for shard in placed.shards)
    ]


def from_metadata(workload: Obj) -> Iterator[Moment]:
    """Tell when a workload was made and deleted."""
    meta = workload["metadata"]
    yield Moment(times.instant(meta["creationTimestamp"]), "made on the hub", "metadata")
    if deleted := meta.get("deletionTimestamp"):
        yield Moment(times.instant(deleted), "deleted on the hub", "metadata")


def _status(job: Obj) -> Iterator[Moment]:
    status = job.get("status") or {}
    if started := status.get("startTime"):
        yield Moment(times.instant(started), "started", "status")
    if ended := status.get("completionTime"):
        done, failed = count(status, "succeeded"), count(status, "failed")
        counts = f"{done} succeeded" + (f", {failed} failed" if failed else "")
        yield Moment(times.instant(ended), f"the last pod ended: {counts}", "status")


def _conditions(job: Obj, told: Sequence[Moment]) -> Iterator[Moment]:
    listed = (job.get("status") or {}).get("conditions") or ()
    for each in listed:
        type, since = each.get("type"), each.get("lastTransitionTime")
        if not since or type in INTERIM.values():
            continue
        at, holds = times.instant(since), each.get("status") == "True"
        if type == placement.CONDITION:
            words = _placed(job, str(each.get("message")))
            yield from first_placement(Moment(at, words, "condition"), told)
        elif type == SUSPENDED:
            yield Moment(at, "suspended" if holds else "resumed", "condition")
        elif holds:
            yield Moment(at, f"{type}{why(each)}", "condition", is_end=type in _ENDS)


def why(condition: Obj) -> str:
    """Return in brackets what a condition says besides its type."""
    said = ": ".join(
        str(told) for name in ("reason", "message") if (told := condition.get(name))
    )
    return f" ({said})" if said else ""


def first_placement(known: Moment, told: Sequence[Moment]) -> Iterator[Moment]:
    """Tell of the first placement, which is known from a record, what events do not tell.

    They say it better, as long as the server keeps them; of the first one there mostly is none.
    """
    events = [each for each in told if each.what.startswith("Placed on worker")]
    first = min(events, key=lambda each: each.at, default=None)
    if first is None:
        yield known
    elif known.at < first.at and ", attempt " in first.what:
        yield replace(known, what="placed for the first time")


def _placed(job: Obj, message: str) -> str:
    """Say where a Job was placed; the condition has the time of the first placement, and the words of the last."""
    known = placement.vouched(job)
    if known is not None and known.attempt == 1:
        return f"Placed on worker {', '.join(shard.worker for shard in known.shards)}"
    return f"placed; by now: {message}"


def from_events(events: Iterable[Obj]) -> list[Moment]:
    """Return what events tell."""
    return [moment for event in events if (moment := _event(event))]


def _event(event: Obj) -> Moment | None:
    series = event.get("series") or {}
    first = event.get("firstTimestamp") or event.get("eventTime")
    first = first or event["metadata"].get("creationTimestamp")
    if not first:
        return None
    last = event.get("lastTimestamp") or series.get("lastObservedTime")
    often = int(series.get("count") or event.get("count") or 1)
    what = str(event.get("message") or event.get("reason") or "")
    if event.get("type") == "Warning":
        what = f"{event.get('reason')}: {what}"
    until = times.instant(last) if last and often > 1 else None
    return Moment(times.instant(first), what, "event", often, until)
