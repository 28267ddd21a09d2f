"""The life of a Job over all its attempts, from its status, its conditions and its events: pure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
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
    """Where that is known from: metadata, status, condition or event."""

    often: int = 1
    until: datetime | None = None
    """When it happened last, if more than once."""


def life(job: Obj, events: Iterable[Obj]) -> list[Moment]:
    """Return what happened to a Job, in order."""
    told = [moment for event in events if (moment := _event(event))]
    found = [*_metadata(job), *_status(job), *_conditions(job, told), *told]
    # What is told in the same second happened in this order.
    rank = {"metadata": 0, "event": 1, "condition": 2, "status": 3}
    return sorted(found, key=lambda each: (each.at, _is_end(each), rank[each.source]))


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


def _metadata(job: Obj) -> Iterator[Moment]:
    meta = job["metadata"]
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
            # Events say it better, as long as the server keeps them; of the first placement there mostly is none.
            moves = [moment.at for moment in told if moment.what.startswith("Placed on worker")]
            if not moves:
                yield Moment(at, _placed(job, str(each.get("message"))), "condition")
            elif at < min(moves):
                yield Moment(at, "placed for the first time", "condition")
        elif type == SUSPENDED:
            yield Moment(at, "suspended" if holds else "resumed", "condition")
        elif holds:
            why = ": ".join(filter(None, (each.get("reason"), each.get("message"))))
            yield Moment(at, f"{type}{f' ({why})' if why else ''}", "condition")


def _placed(job: Obj, message: str) -> str:
    """Say where a Job was placed; the condition has the time of the first placement, and the words of the last."""
    known = placement.vouched(job)
    if known is not None and known.attempt == 1:
        return f"Placed on worker {', '.join(shard.worker for shard in known.shards)}"
    return f"placed; by now: {message}"


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


def _is_end(moment: Moment) -> bool:
    return moment.source == "condition" and moment.what.split(" ", 1)[0] in _ENDS
