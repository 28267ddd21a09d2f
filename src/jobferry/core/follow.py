"""What to do about a workload whose mirror is there: bring its status back and the user's edits over, or leave."""

from collections.abc import Iterator
from typing import NamedTuple

from jobferry.clock import Seconds
from jobferry.core import place, times, verdicts
from jobferry.core.going import is_going
from jobferry.core.kind import Edits, Kind, Stillness
from jobferry.core.marks import VACATING
from jobferry.core.placement import Placement
from jobferry.core.steps import EditMirror, Notice, Rest, Step, Want, WriteStatus
from jobferry.core.view import View
from jobferry.objects import Obj

DRAINED = "Drained"
"""Why a mirror leaves, as it is noted there: its worker gives its work away."""

NOT_STARTED = "NotStarted"
"""Nothing of it ever ran there."""

COUNTS_WITHIN: Seconds = 5.0
"""By when a worker that counts late has counted: its controllers look at pods again within a second."""


def follow(view: View, kind: Kind, hub: Obj, placed: Placement, mirror: Obj) -> Step:
    """Bring the status back and the user's edits over; or see to it that the mirror leaves its worker."""
    shard = placed.shards[0]
    if kind.is_about_to_end(mirror):
        return Rest(f"ends on {shard.worker}: one write will tell all of it")
    if report := kind.report(hub, mirror, shard.base, view.now):
        return WriteStatus.of(report)
    if is_going(mirror):
        return _see_off(view, kind, hub, placed, mirror)
    leaving = _leaving(view, kind, hub, placed, mirror)
    if step := _leave(view, kind, hub, placed, mirror, leaving):
        return step
    edits = kind.edits(hub, mirror, shard.base)
    if edits.patch:
        return EditMirror(shard.worker, mirror, edits.patch)
    return _rest(view, kind, mirror, shard.worker, edits, leaving)


# Leaving


class _Leaving(NamedTuple):
    """That a mirror is to run elsewhere."""

    why: str
    wants: Want | None
    """None: it cannot, as the record of it would be too large; so it is not stopped here."""


def _leaving(
    view: View, kind: Kind, hub: Obj, placed: Placement, mirror: Obj
) -> _Leaving | None:
    worker = placed.shards[0].worker
    why = _why_leave(view, kind, worker, mirror)
    if why is None:
        return None
    able = verdicts.eligible(view, but=worker)
    is_stuck = bool(able) and not place.is_recordable(view, kind, hub, placed, mirror, able[0])
    return _Leaving(why, None if is_stuck else Want(able))


def _leave(
    view: View, kind: Kind, hub: Obj, placed: Placement, mirror: Obj, leaving: _Leaving | None
) -> Step | None:
    """See to a mirror that is to leave its worker: it is stopped once its next place is certain, and not before."""
    if leaving is not None and leaving.wants is not None:
        if view.reserved in leaving.wants.workers:
            return _vacate(view, kind, hub, placed, mirror, leaving.why, leaving.wants)
        if _noted(mirror) and view.lacks is None and leaving.wants.workers:
            worker = placed.shards[0].worker
            return Rest(f"leaves {worker}: waits for its turn", wants=leaving.wants)
    return _stay(view, kind, hub, placed, mirror) if _noted(mirror) else None


def _noted(mirror: Obj) -> str | None:
    """Return why a mirror was stopped that is to leave; None: it was not."""
    noted: str | None = (mirror["metadata"].get("annotations") or {}).get(VACATING)
    return noted


def _why_leave(view: View, kind: Kind, name: str, mirror: Obj) -> str | None:
    """Say why what runs on a worker is to run elsewhere, if it is."""
    worker = view.workers[name]
    would_wait = view.policy.lost_after is None
    if worker.moves_away or (worker.is_being_removed and not would_wait):
        return DRAINED
    # A mirror that is suspended to leave waits for nothing any more; its note still says why.
    is_late = _noted(mirror) == NOT_STARTED or _time_to_start(view, kind, mirror) == 0
    return NOT_STARTED if is_late and view.policy.moves_unstarted else None


def _vacate(
    view: View,
    kind: Kind,
    hub: Obj,
    placed: Placement,
    mirror: Obj,
    why: str,
    wants: Want,
) -> Step:
    """Stop a mirror that is to run elsewhere, and place it there once none of its pods runs any more.

    By then the hub shows all that it earned, so that two attempts never overlap.
    """
    worker = placed.shards[0].worker
    is_stopped, stillness = _noted(mirror) is not None, kind.stillness(mirror)
    if not is_stopped and stillness is Stillness.RESUMES:
        # Else what is said of the time before would be taken for what is yet to come: that nothing runs.
        said = f"is to leave {worker}: waits until it is said there that it was resumed"
        return Rest(said, wants=wants)
    if not is_stopped:
        note = {"metadata": {"annotations": {VACATING: why}}}
        return EditMirror(worker, mirror, {**note, **(kind.stop(mirror) or {})})
    if stillness is not Stillness.STOPPED:
        return Rest(f"leaves {worker}: waits until its pods have ended", wants=wants)
    if left := _time_to_count(view, kind, worker, mirror):
        said = f"leaves {worker}: not all of its pods may be counted yet"
        return Rest(said, left, wants=wants)
    reasons = {
        DRAINED: f"worker {worker} gives its work away",
        NOT_STARTED: f"nothing of it ran on worker {worker}",
    }
    return place.move(view, kind, hub, placed, mirror, why=reasons[why], but=worker)


def _time_to_count(view: View, kind: Kind, worker: str, mirror: Obj) -> Seconds:
    """Return how long a worker may still take to tell of pods that end though their mirror has stopped."""
    since = kind.stopped_at(mirror)
    if since is None or not view.workers[worker].counts_late:
        return 0.0
    return max(0.0, times.left(since, COUNTS_WITHIN, view.now))


def _stay(view: View, kind: Kind, hub: Obj, placed: Placement, mirror: Obj) -> Step:
    """Let a mirror go on that was to leave, but need not or cannot any more."""
    shard = placed.shards[0]
    patch = kind.resume(hub, mirror, shard.base, view.now)
    metadata = patch.get("metadata") or {}
    notes = {**(metadata.get("annotations") or {}), VACATING: None}
    return EditMirror(
        shard.worker, mirror, {**patch, "metadata": {**metadata, "annotations": notes}}
    )


def _see_off(view: View, kind: Kind, hub: Obj, placed: Placement, mirror: Obj) -> Step:
    """Follow a mirror that somebody deleted until it is gone, or nothing of it runs any more."""
    worker = placed.shards[0].worker
    why = f"was deleted on {worker}: waits until it is gone"
    if kind.stillness(mirror) is not Stillness.STOPPED:
        return Rest(why)
    deleted = times.instant(mirror["metadata"]["deletionTimestamp"])
    left = times.left(deleted, COUNTS_WITHIN, view.now)
    return Rest(why, left) if left > 0 else place.lose(view, kind, hub, placed, mirror)


# Resting


def _rest(
    view: View, kind: Kind, mirror: Obj, worker: str, edits: Edits, leaving: _Leaving | None
) -> Rest:
    left = _time_to_start(view, kind, mirror)
    notices = [*_edit_notices(worker, edits)]
    if left == 0:
        message = f"None of its pods became ready on worker {worker} within {view.policy.start_within:g} s"
        notices.append(Notice(NOT_STARTED, message))
    if leaving is not None and leaving.wants is None:
        notices.append(place.TOO_LARGE)
    wants = leaving.wants if leaving else None
    return Rest(f"runs on {worker}", left or None, tuple(notices), wants)


def _time_to_start(view: View, kind: Kind, mirror: Obj) -> float | None:
    """Return how long a mirror may still take to start; None: it has, need not, or may take for ever."""
    since = kind.waits_since(mirror)
    if since is None or view.policy.start_within is None:
        return None
    return max(0.0, times.left(since, view.policy.start_within, view.now))


def _edit_notices(worker: str, edits: Edits) -> Iterator[Notice]:
    for what in edits.refusals:
        yield Notice("NotForwarded", f"Not forwarded to worker {worker}: {what}")
    for what in edits.drift:
        yield Notice("ChangedOnWorker", f"Changed on worker {worker}, and left so: {what}")
