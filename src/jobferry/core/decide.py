"""The next step for one workload: a pure function of what is known about it.

It is asked again after every step, with what the step taught. So it never plans ahead, and starting again
after a crash at any point is nothing special.
"""

from dataclasses import replace
from datetime import timedelta

from jobferry.core import choose, legal, placement, times
from jobferry.core.marks import VACATING, Standing, Verdict, read
from jobferry.core.placement import Placement, Shard
from jobferry.core.status import INTERIM, count, end, is_suspended
from jobferry.core.steps import (
    CreateMirror,
    DeleteMirror,
    EditMirror,
    Look,
    Record,
    Rest,
    Step,
    WriteStatus,
)
from jobferry.core.view import Kind, View
from jobferry.objects import Obj, conditions


def decide(view: View, kind: Kind) -> Step:
    """Return what to do next."""
    hub = view.hub
    if hub is None or hub["metadata"].get("deletionTimestamp"):
        return _clean_up(view)
    placed = placement.read(hub)
    if stale := _stale(view, hub, placed):
        return stale
    if kind.finish(hub):
        return _finished(view, hub)
    if placed is None:
        return _unplaced(view, kind, hub)
    return _placed(view, kind, hub, placed)


def _clean_up(view: View) -> Step:
    """Remove what is left of a workload that is gone."""
    for worker, obj in view.mirrors.items():
        if _is_reachable(view, worker) and _is_ours(view, worker, obj):
            return _delete(view, worker, obj, "its workload is gone from the hub")
    return Rest("it is gone")


def _is_ours(view: View, worker: str, obj: Obj) -> bool:
    """Tell whether a mirror of ours is this object, whichever workload and attempt it was made for."""
    marks = read(obj)
    if marks is None:
        return False
    expected = view.marks(worker, marks.hub_uid, marks.attempt)
    return expected.judge(obj).standing is Standing.CURRENT


def _stale(view: View, hub: Obj, placed: Placement | None) -> Step | None:
    """Find a mirror of an earlier workload of this name, or of an earlier attempt."""
    wanted = {shard.worker for shard in placed.shards} if placed else set()
    for worker, obj in view.mirrors.items():
        if not _is_reachable(view, worker):
            continue
        verdict = _judge(view, hub, placed, worker, obj)
        if verdict.standing is Standing.STALE:
            return _delete(view, worker, obj, verdict.reason)
        if verdict.standing is Standing.CURRENT and placed is not None and worker not in wanted:
            return _delete(view, worker, obj, "the workload was placed elsewhere")
    return None


def _judge(view: View, hub: Obj, placed: Placement | None, worker: str, obj: Obj) -> Verdict:
    attempt = placed.attempt if placed else placement.last_attempt(hub)
    return view.marks(worker, hub["metadata"]["uid"], attempt).judge(obj)


def _delete(view: View, worker: str, obj: Obj, why: str) -> Step:
    # Never on the word of a cache alone: it may not show yet what we wrote a moment ago.
    return DeleteMirror(worker, obj, why) if view.is_live else Look()


def _is_reachable(view: View, worker: str) -> bool:
    known = view.workers.get(worker)
    return known is not None and known.is_up


def _finished(view: View, hub: Obj) -> Step:
    """Keep the mirror for its logs, as long as the queue says."""
    keep = view.policy.keep_finished
    if keep is None:
        return Rest("finished")
    since = times.instant(str((end(hub["status"]) or {}).get("lastTransitionTime")))
    left = (since + timedelta(seconds=keep) - view.now).total_seconds()
    if left > 0:
        return Rest("finished; its mirror stays for a while", left)
    for worker, obj in view.mirrors.items():
        if _is_reachable(view, worker) and _is_ours(view, worker, obj):
            return _delete(view, worker, obj, "the time for finished mirrors is over")
    return Rest("finished")


def _unplaced(view: View, kind: Kind, hub: Obj) -> Step:
    vouched = placement.vouched(hub)
    if vouched is not None:
        # Somebody lost or changed the annotation; the condition still knows.
        return Record(placement.patch(hub, vouched, view.now), vouched)
    if hub["spec"].get("suspend"):
        patch = legal.patch(hub, legal.unplaced(hub, view.now))
        return WriteStatus(patch, None) if patch else Rest("suspended before it was placed")
    return _place(view, kind, hub, placement.last_attempt(hub) + 1, Shard("", ""))


def _place(view: View, kind: Kind, hub: Obj, attempt: int, shard: Shard) -> Step:
    """Choose a worker and record it; `shard` says what the earlier attempts earned."""
    choice = choose.choose(view)
    if choice.worker is None:
        return _no_worker(view, hub, choice.reason)
    there = replace(shard, worker=choice.worker.name, cluster=choice.worker.cluster)
    decision = Placement(hub["metadata"]["uid"], attempt, (there,))
    idle = kind.IDLE if attempt > 1 else None
    return Record(placement.patch(hub, decision, view.now, idle=idle), decision)


def _no_worker(view: View, hub: Obj, reason: str) -> Step:
    give_up = view.policy.give_up_after
    if give_up is None or (hub.get("status") or {}).get("startTime"):
        # What has run is not thrown away because its worker went: it waits for the next one.
        return Rest(f"no worker can take it: {reason}")
    since = times.instant(hub["metadata"]["creationTimestamp"])
    left = (since + timedelta(seconds=give_up) - view.now).total_seconds()
    if left > 0:
        return Rest(f"no worker can take it: {reason}", left)
    message = f"No worker took it within {give_up:g} s: {reason}"
    patch = legal.patch(hub, legal.fail(hub, "NoWorker", message, view.now))
    return WriteStatus(patch, "Failed") if patch else Rest("failed")


def _placed(view: View, kind: Kind, hub: Obj, placed: Placement) -> Step:
    shard = placed.shards[0]
    worker = view.workers.get(shard.worker)
    mirror = view.mirrors.get(shard.worker)
    if worker is None:
        return _move(view, kind, hub, placed, mirror)
    if not worker.is_up:
        return _wait_or_move(view, kind, hub, placed, mirror)
    if worker.cluster != shard.cluster:
        # Another cluster stands behind the Worker now: the mirror is not deleted, it is lost.
        return _move(view, kind, hub, placed, None)
    if mirror is None or not _is_current(view, hub, placed, mirror):
        return _no_mirror(view, kind, hub, placed)
    return _follow(view, kind, hub, shard, mirror)


def _is_current(view: View, hub: Obj, placed: Placement, mirror: Obj) -> bool:
    verdict = _judge(view, hub, placed, placed.shards[0].worker, mirror)
    return verdict.standing is Standing.CURRENT


def _wait_or_move(
    view: View, kind: Kind, hub: Obj, placed: Placement, mirror: Obj | None
) -> Step:
    """Unseen is not dead: only the time that the user chose makes a workload move."""
    worker = view.workers[placed.shards[0].worker]
    if view.policy.lost_after is None:
        return Rest(f"waits for worker {worker.name}, as its queue says")
    if worker.lost_since is None:
        return Rest(f"worker {worker.name} is not connected")
    left = view.policy.lost_after - (view.now - worker.lost_since).total_seconds()
    if left > 0:
        return Rest(f"worker {worker.name} is lost; it moves in {left:.0f} s", left)
    if view.most_are_lost:
        return Rest("most workers are lost at once: it is we who are cut off, so nothing moves")
    return _move(view, kind, hub, placed, mirror)


def _move(view: View, kind: Kind, hub: Obj, placed: Placement, mirror: Obj | None) -> Step:
    """Place it again, with what was earned; or end it, if nothing is left to do."""
    if not view.is_live:
        return Look()
    base = kind.carried(hub, mirror, placed.shards[0].base, view.now)
    if ended := kind.outcome(hub, base):
        patch = legal.patch(hub, legal.legalise(hub, ended, view.now))
        return (
            WriteStatus(patch, str((end(ended) or {}).get("type"))) if patch else Rest("ended")
        )
    return _place(view, kind, hub, placed.attempt + 1, Shard("", "", base))


def _no_mirror(view: View, kind: Kind, hub: Obj, placed: Placement) -> Step:
    """Create the mirror; or move on, if it was there and is gone, or the worker will not have it."""
    shard = placed.shards[0]
    if shard.worker in view.refusals or view.workers[shard.worker].moves_away:
        return _move(view, kind, hub, placed, None)
    if _shows_work_since(hub, shard):
        return _move(view, kind, hub, placed, None)
    marks = view.marks(shard.worker, hub["metadata"]["uid"], placed.attempt)
    return CreateMirror(shard.worker, kind.mirror(hub, marks, shard.base))


def _shows_work_since(hub: Obj, shard: Shard) -> bool:
    """Tell whether the hub shows more than what was earned before this attempt: its mirror ran."""
    status = hub.get("status") or {}
    return (
        int(status.get("ready") or 0) > 0
        or int(status.get("succeeded") or 0) > shard.base.succeeded
        or int(status.get("failed") or 0) > shard.base.failed
    )


def _follow(view: View, kind: Kind, hub: Obj, shard: Shard, mirror: Obj) -> Step:
    """Bring the status back and the user's edits over."""
    if _is_about_to_end(mirror.get("status") or {}):
        return Rest(f"ends on {shard.worker}: one write will tell all of it")
    wanted = kind.wanted_status(hub, mirror, shard.base)
    status = legal.legalise(hub, wanted, view.now)
    if patch := legal.patch(hub, status):
        return WriteStatus(patch, kind.finish({"status": status}))
    is_vacating = VACATING in (mirror["metadata"].get("annotations") or {})
    if view.workers[shard.worker].moves_away and choose.choose(view).worker is not None:
        return _vacate(view, shard, mirror, is_vacating)
    if is_vacating:
        return _stay(hub, shard, mirror)
    if edit := kind.edits(hub, mirror, shard.base).patch:
        return EditMirror(shard.worker, mirror, edit)
    return Rest(f"runs on {shard.worker}")


def _is_about_to_end(status: Obj) -> bool:
    """Tell whether nothing runs any more and it is decided how to end: the next status is the last."""
    listed = status.get("conditions")
    is_decided = any(conditions.is_true(listed, interim) for interim in INTERIM.values())
    is_over = not count(status, "active") and not count(status, "terminating")
    return is_decided and is_over and end(status) is None


def _vacate(view: View, shard: Shard, mirror: Obj, is_vacating: bool) -> Step:
    """Stop a mirror that is to run elsewhere, and remove it once none of its pods runs any more.

    By then the hub shows all that it earned, so that two attempts never overlap.
    """
    if not is_vacating:
        note = {"metadata": {"annotations": {VACATING: "true"}}}
        return EditMirror(shard.worker, mirror, {**note, "spec": {"suspend": True}})
    status = mirror.get("status") or {}
    if not is_suspended(status) or count(status, "active") or count(status, "terminating"):
        return Rest(f"leaves {shard.worker}: waits until its pods have ended")
    return _delete(view, shard.worker, mirror, "the worker is drained")


def _stay(hub: Obj, shard: Shard, mirror: Obj) -> Step:
    """Let a mirror go on that was to leave, but need not or cannot any more."""
    suspend = bool(hub["spec"].get("suspend"))
    note = {"metadata": {"annotations": {VACATING: None}}}
    return EditMirror(shard.worker, mirror, {**note, "spec": {"suspend": suspend}})
