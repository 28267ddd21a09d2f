"""Chooses where a workload runs, for the first time or again, and what becomes of it where that is nowhere."""

from dataclasses import replace

from jobferry.clock import Seconds
from jobferry.core import placement, records, times, verdicts
from jobferry.core.kind import Kind
from jobferry.core.placement import Placement, Shard
from jobferry.core.steps import Notice, ReadHub, Record, Rest, Step, Store, Want, WriteStatus
from jobferry.core.verdicts import Reason
from jobferry.core.view import View, Worker
from jobferry.objects import Obj

NO_WORKER = "NoWorker"

GATHERS_WITHIN: Seconds = 10.0
"""How long nobody is told that the others of a gang are not there: they are made one after the other."""

TOO_LARGE = Notice(
    "RecordTooLarge",
    "It cannot be placed: the record of that and its other annotations would be more than the"
    f" {placement.MOST_BYTES} bytes that annotations may have",
)


def place(view: View, kind: Kind, hub: Obj) -> Step:
    """Place a workload for the first time."""
    attempt, nothing = records.last_attempt(kind, hub, view.record) + 1, Shard("", "")
    return _place(view, kind, hub, attempt, nothing, is_nowhere=True)


def move(
    view: View,
    kind: Kind,
    hub: Obj,
    placed: Placement,
    mirror: Obj | None,
    *,
    why: str,
    but: str | None = None,
    is_nowhere: bool = False,
) -> Step:
    """Place it again, with what was earned; or end it, if nothing is left to do.

    `mirror` is None if nothing is known of it any more; `but` is a worker that is not to get it again.
    `is_nowhere` says that it is certain that no mirror runs.
    """
    if not view.is_live:
        return ReadHub()
    base = kind.carried(hub, mirror, placed.shards[0].base, view.now)
    if ended := kind.outcome(hub, mirror, base, view.now):
        return WriteStatus.of(ended)
    earned = Shard("", "", base)
    attempt = placed.attempt + 1
    return _place(view, kind, hub, attempt, earned, why=why, but=but, is_nowhere=is_nowhere)


def lose(view: View, kind: Kind, hub: Obj, placed: Placement, mirror: Obj | None) -> Step:
    """Place a workload again whose mirror somebody deleted; or give it up, as its queue says."""
    why = f"its mirror on worker {placed.shards[0].worker} was deleted there"
    if not view.policy.fails_deleted:
        return move(view, kind, hub, placed, mirror, why=why)
    if not view.is_live:
        return ReadHub()
    return _fail(view, kind, hub, "MirrorDeleted", why.capitalize())


def is_recordable(
    view: View, kind: Kind, hub: Obj, placed: Placement, mirror: Obj, worker: str
) -> bool:
    """Tell whether there is room on the hub object for the record that a workload is placed on another worker."""
    base = kind.carried(hub, mirror, placed.shards[0].base, view.now)
    shard, attempt = Shard("", "", base), placed.attempt + 1
    return _record(view, kind, hub, attempt, shard, view.workers[worker]) is not None


def _place(
    view: View,
    kind: Kind,
    hub: Obj,
    attempt: int,
    shard: Shard,
    *,
    why: str = "",
    but: str | None = None,
    is_nowhere: bool,
) -> Step:
    """Record the worker that has room for it; `shard` says what the earlier attempts earned."""
    able = verdicts.eligible(view, kind, but=but)
    if view.reserved is None or view.reserved not in able:
        return _wait(view, kind, hub, Want(able), but=but, is_nowhere=is_nowhere)
    step = _record(view, kind, hub, attempt, shard, view.workers[view.reserved])
    if step is None:
        return Rest("the record of its next placement is too large", notices=(TOO_LARGE,))
    return replace(step, why=why) if isinstance(step, Record) else step


def _record(
    view: View, kind: Kind, hub: Obj, attempt: int, shard: Shard, worker: Worker
) -> Record | Store | None:
    """Return the step that places a workload on a worker; None if there is no room for it on the hub object."""
    there = replace(shard, worker=worker.name, cluster=worker.cluster)
    decision = Placement(hub["metadata"]["uid"], attempt, (there,))
    return records.write(view, kind, hub, decision, is_new=True)


def _is_weighed(view: View, wants: Want) -> bool:
    """Tell whether a pass has come to all that it wants: of a worker that can take it only now nothing is known."""
    if view.lacks is None or view.held is not None:
        return view.lacks is not None
    known = view.lacks()
    return all(name in known for name in wants.workers if view.workers[name].is_open)


def _wait(
    view: View, kind: Kind, hub: Obj, wants: Want, *, but: str | None, is_nowhere: bool
) -> Step:
    """Wait for a worker that has room; or give up, if that takes longer than the queue says."""
    if wants.workers and not _is_weighed(view, wants):
        return Rest("it waits for its turn", wants=wants)
    reason = verdicts.why_waiting(view, kind, but=but)
    give_up = view.policy.give_up_after
    waits = view.held.now if view.held else f"no worker can take it: {reason.text}"
    if view.policy.missing:
        return Rest(waits, notices=(Notice("NoQueue", reason.text),))
    gathers = _time_to_gather(view, hub)
    notices = () if gathers else (_notice(view, reason),)
    if give_up is None or not is_nowhere or kind.has_run(hub):
        # What has run, or may run, is not thrown away because its worker went: it waits for the next one.
        return Rest(waits, gathers, notices, wants)
    if report := kind.waiting(hub, view.now):
        return WriteStatus.of(report)  # from now on it says since when it is not suspended
    # It began to wait when it was made, or resumed.
    left = times.left(kind.resumed_at(hub) or times.made_at(hub), give_up, view.now)
    if left > 0:
        return Rest(waits, min(left, gathers or left), notices, wants)
    message = f"No worker took it within {give_up:g} s: {reason.text}"
    return _fail(view, kind, hub, NO_WORKER, message)


def _time_to_gather(view: View, hub: Obj) -> Seconds | None:
    """Return how long nobody is told that a workload waits for its gang; None: from now on people are."""
    left = times.left(times.made_at(hub), GATHERS_WITHIN, view.now) if view.held else 0.0
    return left if left > 0 else None


def _notice(view: View, reason: Reason) -> Notice:
    """Tell people why it waits."""
    if view.held is not None and not reason.is_out_of_bounds:
        return Notice("GroupWaits", view.held.why[0].upper() + view.held.why[1:])
    told = "NamespaceNotAllowed" if reason.is_out_of_bounds else NO_WORKER
    return Notice(told, f"No worker can take it: {reason.text}")


def _fail(view: View, kind: Kind, hub: Obj, reason: str, message: str) -> Step:
    report = kind.fail(hub, reason, message, view.now)
    return WriteStatus.of(report) if report else Rest("it has failed")
