"""How a mirror leaves its worker so that the workload can run elsewhere, and two attempts never overlap.

Most kinds can be stopped: the mirror is, and could go on if it need not leave after all. If it says what it earned, and that none of
its pods is left, that is all. Else, and if its kind cannot be stopped, the mirror is deleted, once it is noted on the hub that it
was us: whoever finds it gone, then or after a restart, knows that it is to run elsewhere. What is deleted so goes after all that it
made. Either way its next place is certain before anything is stopped.
"""

from dataclasses import replace
from typing import NamedTuple

from jobferry.clock import Seconds
from jobferry.core import place, records, times, verdicts
from jobferry.core.kind import Kind, Stillness
from jobferry.core.marks import VACATING
from jobferry.core.placement import Placement, Shard
from jobferry.core.steps import DeleteMirror, EditMirror, ReadHub, Rest, Step, Want
from jobferry.core.view import View
from jobferry.objects import Obj

DRAINED = "Drained"
"""Why a mirror leaves, as it is noted there or on the hub: its worker gives its work away."""

NOT_STARTED = "NotStarted"
"""Nothing of it ever ran there."""

COUNTS_WITHIN: Seconds = 5.0
"""By when a worker that counts late has counted: its controllers look at pods again within a second."""


class Leaving(NamedTuple):
    """That a mirror is to run elsewhere."""

    why: str
    wants: Want | None
    """None: it cannot, as the record of it would be too large; so it is not stopped here."""


def leaving(view: View, kind: Kind, hub: Obj, placed: Placement, mirror: Obj) -> Leaving | None:
    """Say why a mirror is to leave its worker, and where it may go; None: it stays."""
    shard = placed.shards[0]
    why = _why_leave(view, kind, shard, mirror)
    if why is None:
        return None
    able = verdicts.eligible(view, kind, but=shard.worker)
    is_stuck = bool(able) and not place.is_recordable(view, kind, hub, placed, mirror, able[0])
    return Leaving(why, None if is_stuck else Want(able))


def leave(
    view: View, kind: Kind, hub: Obj, placed: Placement, mirror: Obj, leaving: Leaving | None
) -> Step | None:
    """See to a mirror that is to leave its worker: it is stopped once its next place is certain, and not before."""
    noted = _noted(placed.shards[0], mirror)
    if leaving is not None and leaving.wants is not None:
        if view.reserved in leaving.wants.workers:
            if kind.stop(mirror) is None:
                return _remove(view, kind, hub, placed, mirror, leaving.why)
            return _vacate(view, kind, hub, placed, mirror, leaving.why, leaving.wants)
        if noted and view.lacks is None and leaving.wants.workers:
            worker = placed.shards[0].worker
            return Rest(f"leaves {worker}: waits for its turn", wants=leaving.wants)
    return _stay(view, kind, hub, placed, mirror) if noted else None


def see_off(view: View, kind: Kind, shard: Shard) -> Rest:
    """Wait until a mirror is gone that we deleted; its next place is kept for it meanwhile."""
    wants = Want(verdicts.eligible(view, kind, but=shard.worker))
    return Rest(f"leaves {shard.worker}: waits until it is gone", wants=wants)


def leave_for_good(view: View, kind: Kind, hub: Obj, placed: Placement) -> Step:
    """Place a workload elsewhere whose mirror we deleted for that, and which is gone."""
    shard = placed.shards[0]
    others = verdicts.eligible(view, kind, but=shard.worker)
    # Where nothing started it is not tried again, unless it is the only one left.
    but = shard.worker if shard.leaving == NOT_STARTED and others else None
    why = _told(shard.leaving, shard.worker)
    return place.move(view, kind, hub, placed, None, why=why, but=but, is_nowhere=True)


def time_to_start(view: View, kind: Kind, mirror: Obj) -> float | None:
    """Return how long a mirror may still take to start; None: it has, need not, or may take for ever."""
    since = kind.waits_since(mirror)
    if since is None or view.policy.start_within is None:
        return None
    return max(0.0, times.left(since, view.policy.start_within, view.now))


def _noted(shard: Shard, mirror: Obj) -> str | None:
    """Return why a mirror was stopped, or is about to be deleted, that is to leave; None: it was not."""
    noted: str | None = (mirror["metadata"].get("annotations") or {}).get(VACATING)
    return noted or shard.leaving or None


def _why_leave(view: View, kind: Kind, shard: Shard, mirror: Obj) -> str | None:
    """Say why what runs on a worker is to run elsewhere, if it is."""
    worker = view.workers[shard.worker]
    would_wait = view.policy.lost_after is None
    is_given_away = worker.moves_away or (worker.is_being_removed and not would_wait)
    if is_given_away or view.follows:
        return DRAINED
    # A mirror that is stopped to leave waits for nothing any more; its note still says why.
    is_late = _noted(shard, mirror) == NOT_STARTED or time_to_start(view, kind, mirror) == 0
    return NOT_STARTED if is_late and view.policy.moves_unstarted else None


def _told(why: str, worker: str) -> str:
    """Say to people why a workload has left a worker."""
    if why == NOT_STARTED:
        return f"nothing of it ran on worker {worker}"
    return f"worker {worker} gives its work away"


def _vacate(
    view: View, kind: Kind, hub: Obj, placed: Placement, mirror: Obj, why: str, wants: Want
) -> Step:
    """Stop a mirror that is to run elsewhere, and place it there once none of its pods runs any more.

    By then the hub shows all that it earned, so that two attempts never overlap. If it does not tell whether pods
    are left, it is deleted and waited for.
    """
    shard = placed.shards[0]
    worker, stillness = shard.worker, kind.stillness(mirror)
    is_stopped = _noted(shard, mirror) is not None
    if not is_stopped and stillness is Stillness.RESUMES:
        # Else what is said of the time before would be taken for what is yet to come: that nothing runs.
        said = f"is to leave {worker}: waits until it is said there that it was resumed"
        return Rest(said, wants=wants)
    if not is_stopped:
        note = {"metadata": {"annotations": {VACATING: why}}}
        return EditMirror(worker, mirror, {**note, **(kind.stop(mirror) or {})})
    if stillness is Stillness.QUIET:
        return _remove(view, kind, hub, placed, mirror, why)
    if stillness is not Stillness.STOPPED:
        return Rest(f"leaves {worker}: waits until its pods have ended", wants=wants)
    if left := _time_to_count(view, kind, worker, mirror):
        said = f"leaves {worker}: not all of its pods may be counted yet"
        return Rest(said, left, wants=wants)
    return place.move(view, kind, hub, placed, mirror, why=_told(why, worker), but=worker)


def _remove(view: View, kind: Kind, hub: Obj, placed: Placement, mirror: Obj, why: str) -> Step:
    """Delete a mirror that is to leave, once the hub says why: when it is gone, it is placed elsewhere."""
    shard = placed.shards[0]
    if shard.worker in view.kept:
        return Rest(f"runs on {shard.worker}, which does not let it go")
    if not view.is_live:
        return ReadHub()
    if not shard.leaving:
        leaves = replace(placed, shards=(replace(shard, leaving=why),))
        note = records.note(view, kind, hub, leaves)
        return note or Rest(f"runs on {shard.worker}", notices=(place.TOO_LARGE,))
    # As it was seen to run: one that has ended meanwhile has nothing left to do elsewhere.
    told = _told(why, shard.worker)
    return DeleteMirror(shard.worker, mirror, told, only_as_seen=True, waits=True)


def _time_to_count(view: View, kind: Kind, worker: str, mirror: Obj) -> Seconds:
    """Return how long a worker may still take to tell of pods that end though their mirror has stopped."""
    since = kind.stopped_at(mirror)
    if since is None or not view.workers[worker].counts_late:
        return 0.0
    return max(0.0, times.left(since, COUNTS_WITHIN, view.now))


def _stay(view: View, kind: Kind, hub: Obj, placed: Placement, mirror: Obj) -> Step | None:
    """Let a mirror go on that was to leave, but need not or cannot any more."""
    shard = placed.shards[0]
    if shard.leaving:
        stays = replace(placed, shards=(replace(shard, leaving=""),))
        return records.note(view, kind, hub, stays)
    patch = kind.resume(hub, mirror, shard.base, view.now)
    metadata = patch.get("metadata") or {}
    notes = {**(metadata.get("annotations") or {}), VACATING: None}
    return EditMirror(
        shard.worker, mirror, {**patch, "metadata": {**metadata, "annotations": notes}}
    )
