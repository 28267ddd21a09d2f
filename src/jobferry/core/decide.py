"""The next step for one workload: a pure function of what is known about it.

It is asked again after every step, with what the step taught. So it never plans ahead, and starting again
after a crash at any point is nothing special.
"""

from dataclasses import replace

from jobferry.clock import Seconds
from jobferry.core import going, records, times, verdicts
from jobferry.core.adopt import adopt, await_workers, mend
from jobferry.core.follow import follow, not_kept
from jobferry.core.kind import Kind
from jobferry.core.leave import leave_for_good
from jobferry.core.marks import HUB_UID, Standing, Verdict, read
from jobferry.core.place import lose, move, place
from jobferry.core.placement import Placement
from jobferry.core.steps import (
    CreateMirror,
    DeleteMirror,
    DeleteRecord,
    Notice,
    ReadHub,
    ReadKind,
    ReadMirror,
    Rest,
    Step,
    WriteStatus,
)
from jobferry.core.view import View
from jobferry.objects import Obj
from jobferry.objects.times import timestamp

ASK_EVERY: Seconds = 600.0
"""How often it is looked whether something that nobody follows is still there: nothing tells when it goes."""


def decide(view: View, kind: Kind) -> Step:
    """Return what to do next."""
    step = _next(view, kind)
    if isinstance(step, WriteStatus) and step.patch == view.vain:
        # Not again, until something else is to be said or the hub object has changed.
        step = Rest("the hub does not keep its status", notices=(not_kept(step.patch),))
    if isinstance(step, Rest) and (left := _left_behind(view)):
        return DeleteRecord(left) if view.is_live else ReadHub()
    if isinstance(step, Rest) and (waits := tuple(going.notices(view))):
        return replace(step, notices=(*step.notices, *waits))
    return step


def _next(view: View, kind: Kind) -> Step:
    hub = view.hub
    if hub is None or hub["metadata"].get("deletionTimestamp"):
        return _clean_up(view)
    placed = records.read(kind, hub, view.record)
    is_finished = kind.finish(hub) is not None
    known = placed or records.vouched(kind, hub, view.record)
    mirror = _current(view, hub, placed) if placed else None
    # One that counts and can be seen leaves nothing to be found.
    is_sought = not is_finished and not (placed and mirror and _is_up(view, placed))
    if is_sought and (found := adopt(view, kind, hub, known)):
        return found
    if stale := _stale(view, hub, known, placed, mirror):
        return stale
    if is_finished:
        return _finished(view, kind, hub)
    if placed is None:
        return _unplaced(view, kind, hub)
    if mirror is not None and records.is_torn(placed):
        return mend(view, kind, hub, placed, mirror)
    return _placed(view, kind, hub, placed, mirror)


def _left_behind(view: View) -> Obj | None:
    """Find a record that outlived its workload: whoever deletes that may leave it without an owner."""
    hub = view.hub["metadata"]["uid"] if view.hub else ""
    there = (hub, view.unclaimed)
    return next(
        (each for each in view.ownerless if each["metadata"]["name"] not in there), None
    )


def _clean_up(view: View) -> Step:
    """Remove what is left of a workload that is gone; one that is only not ours any more goes on."""
    left = []
    for worker, obj in view.mirrors.items():
        if not (_can_delete(view, worker, obj) and _is_ours(view, worker, obj)):
            continue
        uid = obj["metadata"]["labels"][HUB_UID]
        if view.unclaimed and uid == view.unclaimed:
            left.append(worker)
            continue
        why = "its workload is gone from the hub"
        if view.buried and uid == view.buried:
            return DeleteMirror(worker, obj, why, is_routine=True)
        return _delete(view, worker, obj, why)
    return _leave_alone(left) if left else Rest("it is gone")


def _leave_alone(workers: list[str]) -> Step:
    """Leave the mirrors of a workload that our settings claim no more; nothing tells us of it from then on."""
    what = (
        "It is there, but its managedBy is not claimed any more:"
        f" its mirror on {', '.join(workers)} goes on, and nobody reports of it"
    )
    return Rest("it is not claimed", ASK_EVERY, (Notice("NotClaimed", what),))


def _is_ours(view: View, worker: str, obj: Obj) -> bool:
    """Tell whether a mirror of ours is this object, whichever workload and attempt it was made for."""
    marks = read(obj)
    if marks is None:
        return False
    expected = view.marks(worker, marks.hub_uid, marks.attempt)
    return expected.judge(obj).standing is Standing.CURRENT


def _stale(
    view: View,
    hub: Obj,
    known: Placement | None,
    placed: Placement | None,
    current: Obj | None,
) -> Step | None:
    """Find a mirror of an earlier workload of this name, or of an earlier attempt."""
    wanted = {shard.worker for shard in placed.shards} if placed else set()
    for worker, obj in view.mirrors.items():
        if obj is current or not _can_delete(view, worker, obj):
            continue
        verdict = _judge(view, hub, known, worker, obj)
        if verdict.standing is Standing.STALE:
            return _delete(view, worker, obj, verdict.reason)
        if verdict.standing is Standing.CURRENT and placed is not None and worker not in wanted:
            return _delete(view, worker, obj, "the workload was placed elsewhere")
    return None


def _judge(view: View, hub: Obj, known: Placement | None, worker: str, obj: Obj) -> Verdict:
    attempt = known.attempt if known else 0
    if not attempt and (found := read(obj)):
        attempt = found.attempt  # nobody knows any more which one counts
    return view.marks(worker, hub["metadata"]["uid"], attempt).judge(obj)


def _delete(view: View, worker: str, obj: Obj, why: str, *, only_as_seen: bool = False) -> Step:
    # Never on the word of a cache alone: it may not show yet what we wrote a moment ago.
    return DeleteMirror(worker, obj, why, only_as_seen) if view.is_live else ReadHub()


def _can_delete(view: View, worker: str, obj: Obj) -> bool:
    """Tell whether a worker can be told to delete something, and was not yet, nor would not."""
    known = view.workers.get(worker)
    is_up = known is not None and known.is_up
    return is_up and not going.is_going(obj) and worker not in view.kept


def _finished(view: View, kind: Kind, hub: Obj) -> Step:
    """Stop what still runs; keep the mirror for its logs, as long as the queue says and its worker stays."""
    for worker, obj in view.mirrors.items():
        runs = _can_delete(view, worker, obj) and not kind.finish(obj)
        if runs and _is_ours(view, worker, obj):
            # We end a workload whose mirror has ended, or is lost or gone: this one came back, or others
            # ended the workload. Or another leader saw the mirror end, and our cache is late.
            why = "its workload has ended on the hub"
            return _delete(view, worker, obj, why, only_as_seen=True)
    for worker, obj in view.mirrors.items():
        is_leaving = _can_delete(view, worker, obj) and view.workers[worker].is_being_removed
        if is_leaving and _is_ours(view, worker, obj):
            return _delete(view, worker, obj, "it is finished, and its worker is being removed")
    keep = view.policy.keep_finished
    if keep is None:
        return Rest("finished")
    # Whoever wrote the end may have left out when it came.
    since = kind.finished_at(hub) or times.made_at(hub)
    left = times.left(since, keep, view.now)
    if left > 0:
        return Rest("finished; its mirror stays for a while", left)
    for worker, obj in view.mirrors.items():
        if _can_delete(view, worker, obj) and _is_ours(view, worker, obj):
            return _delete(view, worker, obj, "the time for finished mirrors is over")
    return Rest("finished")


def _unplaced(view: View, kind: Kind, hub: Obj) -> Step:
    if kind.carries_record and (repair := records.repair(view, hub)):
        # Somebody lost or changed the annotation; the condition still knows.
        return repair
    if waits := await_workers(view, kind, hub):
        return waits
    if kind.is_suspended(hub):
        report = kind.waiting(hub, view.now)
        return WriteStatus.of(report) if report else Rest("suspended before it was placed")
    if why := kind.refusal(hub):
        return Rest(why, notices=(Notice("NotSupported", why),))
    return place(view, kind, hub)


def _placed(view: View, kind: Kind, hub: Obj, placed: Placement, mirror: Obj | None) -> Step:
    shard = placed.shards[0]
    worker = view.workers.get(shard.worker)
    if worker is None:
        why = f"there is no Worker {shard.worker} any more"
        return move(view, kind, hub, placed, mirror, why=why)
    if not worker.is_up and view.untold == placed:
        why = f"worker {worker.name} fell silent before it was told of it"
        return move(view, kind, hub, placed, None, why=why)
    if not worker.is_up:
        return _wait_or_move(view, kind, hub, placed, mirror)
    if worker.cluster != shard.cluster:
        # The mirror is not deleted, it is lost.
        why = f"another cluster stands behind worker {shard.worker} now"
        return move(view, kind, hub, placed, None, why=why)
    if not worker.shows(view.namespace):
        # Unseen is not gone: it may run there, so it is neither created nor placed again.
        why = f"Namespace {view.namespace} is not watched on worker {shard.worker}: how it fares there is not known"
        return Rest(why, notices=(Notice("NamespaceNotWatched", why),))
    if unserved := verdicts.unserved(worker, kind):
        return _unserved(view, kind, hub, placed, f"{worker.name} {unserved}")
    if mirror is None:
        return _no_mirror(view, kind, hub, placed)
    return follow(view, kind, hub, placed, mirror)


def _unserved(view: View, kind: Kind, hub: Obj, placed: Placement, why: str) -> Step:
    """Move on, if the mirror went with its kind; else it may run there: unsaid is not no."""
    name = placed.shards[0].worker
    is_seen = kind.name not in view.workers[name].hidden
    if is_seen and name not in view.lost_kinds:
        return ReadKind(view.marks(name, hub["metadata"]["uid"], placed.attempt))
    if is_seen and view.lost_kinds[name]:
        gone = _go_on(view, kind, hub, placed)
        return gone or move(
            view, kind, hub, placed, None, why=f"worker {why} any more", is_nowhere=True
        )
    said = f"Worker {why}; how it fares there is not known"
    return Rest(said, ASK_EVERY, (Notice("KindNotServed", said),))


def _current(view: View, hub: Obj, placed: Placement) -> Obj | None:
    """Return the mirror of the attempt that counts."""
    worker = placed.shards[0].worker
    mirror = view.mirrors.get(worker)
    if mirror is None:
        return None
    verdict = _judge(view, hub, placed, worker, mirror)
    return mirror if verdict.standing is Standing.CURRENT else None


def _is_up(view: View, placed: Placement) -> bool:
    """Tell whether the worker of a placement answers."""
    worker = view.workers.get(placed.shards[0].worker)
    return worker is not None and worker.is_up


def _wait_or_move(
    view: View, kind: Kind, hub: Obj, placed: Placement, mirror: Obj | None
) -> Step:
    """Unseen is not dead: only the time that the user chose makes a workload move."""
    worker, after = view.workers[placed.shards[0].worker], view.policy.lost_after
    if worker.lost_since is None:
        return Rest(f"worker {worker.name} is not connected, or silent")
    lost = f"Worker {worker.name} cannot be reached since {timestamp(worker.lost_since)}"
    if after is None:
        return _wait(f"{lost}; it waits for it, as its queue says")
    left = times.left(worker.lost_since, after, view.now)
    if left > 0:
        return _wait(f"{lost}; it moves if that lasts for {after:g} s", left)
    if view.most_are_lost:
        return _wait(f"{lost}, nor can most others: it is we who are cut off, so nothing moves")
    return move(view, kind, hub, placed, mirror, why=f"worker {worker.name} is lost")


def _wait(why: str, after: Seconds | None = None) -> Rest:
    return Rest(why, after, (Notice("WorkerLost", why),))


def _no_mirror(view: View, kind: Kind, hub: Obj, placed: Placement) -> Step:
    """Create the mirror; or move on, if it was there and is gone, or the worker will not have it."""
    shard = placed.shards[0]
    marks = view.marks(shard.worker, hub["metadata"]["uid"], placed.attempt)
    if step := _go_on(view, kind, hub, placed):
        # Not on the word of a cache alone: it may be late, and the mirror there and running.
        is_told = view.untold != placed
        is_certain = isinstance(step, Rest) or shard.worker in view.seen or not is_told
        return step if is_certain else ReadMirror(marks)
    if not view.is_live:
        return ReadHub()  # the cache may be late, and the workload finished
    return CreateMirror(shard.worker, kind.mirror(hub, marks, shard.base))


def _go_on(view: View, kind: Kind, hub: Obj, placed: Placement) -> Step | None:
    """Say what to do if the mirror is not to be created where the workload was placed; None: it is."""
    shard = placed.shards[0]
    if shard.leaving:
        return leave_for_good(view, kind, hub, placed)
    if shard.worker in view.refusals:
        why = f"worker {shard.worker} refused it"
        return move(view, kind, hub, placed, None, why=why, is_nowhere=True)
    if view.workers[shard.worker].gives_away:
        why = f"worker {shard.worker} gives its work away"
        return move(view, kind, hub, placed, None, why=why, is_nowhere=True)
    if kind.has_run_since(hub, shard.base):
        return lose(view, kind, hub, placed, None)
    if going.holds_name(view, shard.worker):
        why = f"an earlier mirror of its name is not gone from worker {shard.worker} yet"
        return move(view, kind, hub, placed, None, why=why)
    return None
