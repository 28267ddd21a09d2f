"""The life of a workload of any kind, from its status, its conditions, its Placement and its events: pure."""

from collections.abc import Iterable, Iterator

from jobferry.cli import timeline
from jobferry.cli.timeline import Moment
from jobferry.cli.workload_facts import Workload
from jobferry.kinds.job.status import SUSPENDED
from jobferry.kinds.paths import items
from jobferry.kinds.statuses import moment, read_moment
from jobferry.kinds.table import CONDITIONS
from jobferry.objects import Obj

_STARTED = ("status", "startTime")
"""Where those kinds say it that do."""


def life(seen: Workload, events: Iterable[Obj]) -> list[Moment]:
    """Return what happened to a workload, in order."""
    if seen.kind.carries_record:
        return timeline.life(seen.obj, events)
    told = timeline.from_events(events)
    placed = [each for known in _placed(seen) for each in timeline.first_placement(known, told)]
    made = timeline.from_metadata(seen.obj)
    return timeline.in_order([*made, *placed, *_status(seen), *_conditions(seen.obj), *told])


def _placed(seen: Workload) -> Iterator[Moment]:
    """Say where it was placed; a Placement is made by the first placement, and tells of the last."""
    placed = seen.placed
    at = read_moment((seen.record or {"metadata": {}})["metadata"].get("creationTimestamp"))
    if placed is None or at is None:
        return
    again = f"placed; by now: attempt {placed.attempt} on {seen.worker}"
    first = f"Placed on worker {seen.worker}"
    yield Moment(at, first if placed.attempt == 1 else again, "record")


def _status(seen: Workload) -> Iterator[Moment]:
    if started := moment(seen.obj, _STARTED):
        yield Moment(started, "started", "status")
    how, ended = seen.kind.finish(seen.obj), seen.kind.finished_at(seen.obj)
    if how and ended:
        yield Moment(ended, f"ended: {how}", "status", is_end=True)


def _conditions(obj: Obj) -> Iterator[Moment]:
    """Tell of all conditions: some kinds say by one that does not hold how they failed."""
    for each in items(obj, CONDITIONS):
        type, status = each.get("type"), each.get("status")
        at, holds = read_moment(each.get("lastTransitionTime")), status == "True"
        if at is None:
            continue
        if type == SUSPENDED:
            yield Moment(at, "suspended" if holds else "resumed", "condition")
        else:
            how = "" if holds else f" is {status}"
            yield Moment(at, f"{type}{how}{timeline.why(each)}", "condition")
