"""What to do about a workload whose mirror is there: bring its status back and the user's edits over."""

from collections.abc import Iterator

from jobferry.core import leave, place, times
from jobferry.core.going import is_going
from jobferry.core.kind import Edits, Kind, Report, Stillness
from jobferry.core.leave import Leaving
from jobferry.core.placement import Placement, Shard
from jobferry.core.steps import EditMirror, Notice, Rest, Step, WriteStatus
from jobferry.core.view import View
from jobferry.objects import Obj


def follow(view: View, kind: Kind, hub: Obj, placed: Placement, mirror: Obj) -> Step:
    """Bring the status back and the user's edits over; or see to it that the mirror leaves its worker."""
    shard = placed.shards[0]
    if kind.is_about_to_end(mirror):
        return Rest(f"ends on {shard.worker}: one write will tell all of it")
    report = kind.report(hub, mirror, shard.base, view.now)
    if (
        report is not None
        and report.patch != view.vain
        and not _is_our_end(report, shard, mirror)
    ):
        return WriteStatus.of(report)
    if is_going(mirror):
        return _see_off(view, kind, hub, placed, mirror)
    leaving = leave.leaving(view, kind, hub, placed, mirror)
    if step := leave.leave(view, kind, hub, placed, mirror, leaving):
        return step
    edits = kind.edits(hub, mirror, shard.base)
    if edits.patch:
        return EditMirror(shard.worker, mirror, edits.patch)
    return _rest(view, kind, mirror, shard.worker, edits, leaving)


def _is_our_end(report: Report, shard: Shard, mirror: Obj) -> bool:
    """Tell whether a mirror ended because we deleted it, so that it can run elsewhere: it ran when we did."""
    return report.end is not None and bool(shard.leaving) and is_going(mirror)


def _see_off(view: View, kind: Kind, hub: Obj, placed: Placement, mirror: Obj) -> Step:
    """Follow a mirror that somebody deleted until it is gone, or nothing of it runs any more."""
    shard = placed.shards[0]
    if shard.leaving:
        return leave.see_off(view, kind, shard)
    why = f"was deleted on {shard.worker}: waits until it is gone"
    if kind.stillness(mirror) is not Stillness.STOPPED:
        return Rest(why)
    deleted = times.instant(mirror["metadata"]["deletionTimestamp"])
    left = times.left(deleted, leave.COUNTS_WITHIN, view.now)
    return Rest(why, left) if left > 0 else place.lose(view, kind, hub, placed, mirror)


def _rest(
    view: View, kind: Kind, mirror: Obj, worker: str, edits: Edits, leaving: Leaving | None
) -> Rest:
    left = leave.time_to_start(view, kind, mirror)
    notices = [*_edit_notices(worker, edits)]
    if left == 0:
        message = f"None of its pods became ready on worker {worker} within {view.policy.start_within:g} s"
        notices.append(Notice(leave.NOT_STARTED, message))
    if leaving is not None and leaving.wants is None:
        notices.append(place.TOO_LARGE)
    if view.vain is not None:
        notices.append(not_kept(view.vain))
    wants = leaving.wants if leaving else None
    return Rest(f"runs on {worker}", left or None, tuple(notices), wants)


def not_kept(patch: Obj) -> Notice:
    """Tell people that a hub drops part of a status: its CRD knows less than that of the worker, most likely."""
    members = ", ".join(sorted(patch["status"]))
    message = (
        f"The hub does not keep all that its worker says of it, in status: {members}."
        " If the CRD on the hub is older than the worker's, install the newer one there"
    )
    return Notice("StatusNotKept", message)


def _edit_notices(worker: str, edits: Edits) -> Iterator[Notice]:
    for what in edits.refusals:
        yield Notice("NotForwarded", f"Not forwarded to worker {worker}: {what}")
    for what in edits.drift:
        yield Notice("ChangedOnWorker", f"Changed on worker {worker}, and left so: {what}")
