"""What runs of a workload whose record was lost, as on a hub that was restored from a backup: it is found again."""

from dataclasses import replace

from jobferry.core import records, times
from jobferry.core.kind import Earned, Kind
from jobferry.core.marks import Standing, read
from jobferry.core.place import TOO_LARGE
from jobferry.core.placement import Placement, Shard
from jobferry.core.steps import Notice, ReadHub, Record, Rest, Step
from jobferry.core.view import View
from jobferry.objects import Obj

FOUND = "its record was lost, and its mirror found there"
MENDED = "what it earned before was lost with its record, and told by its mirror"


def adopt(view: View, kind: Kind, hub: Obj, known: Placement | None) -> Step | None:
    """Record the placement of a mirror that is of a later attempt than the hub knows of; None: there is none.

    A placement is written before its mirror is made, so the hub knew of it once. But where the one that
    it knows now can be seen to have a mirror, that one counts.
    """
    seen = _attempts(view, hub)
    last = known.attempt if known else 0
    if known is not None and seen.get(known.shards[0].worker) == last:
        return None
    worker = max(seen, key=seen.__getitem__, default="")
    attempt = seen.get(worker, 0)
    if attempt <= last:
        return None
    if not view.is_live:
        return ReadHub()  # most likely it is our cache that does not know yet
    here = Placement(
        hub["metadata"]["uid"], attempt, (Shard(worker, view.workers[worker].cluster),)
    )
    found = _with_base(view, kind, hub, here, view.mirrors[worker])
    return _record(view, kind, hub, found, FOUND)


def mend(view: View, kind: Kind, hub: Obj, placed: Placement, mirror: Obj) -> Step:
    """Record a placement again that runs, but of which nobody knows any more what was earned before it."""
    if not view.is_live:
        return ReadHub()
    return _record(view, kind, hub, _based(placed, kind.earlier(hub, mirror)), MENDED)


def _record(view: View, kind: Kind, hub: Obj, found: Placement, why: str) -> Step:
    step = records.write(view, kind, hub, found)
    if step is None:
        return Rest("the record of where it runs is too large", notices=(TOO_LARGE,))
    return replace(step, why=why, is_found=True) if isinstance(step, Record) else step


def _attempts(view: View, hub: Obj) -> dict[str, int]:
    """Return of which attempt the mirror of this very workload is, by worker, where one can be seen."""
    found = {}
    for name, obj in view.mirrors.items():
        worker, marks = view.workers.get(name), read(obj)
        if worker is None or not worker.is_up or marks is None:
            continue
        expected = view.marks(name, hub["metadata"]["uid"], marks.attempt)
        if expected.judge(obj).standing is Standing.CURRENT:
            found[name] = marks.attempt
    return found


def _with_base(view: View, kind: Kind, hub: Obj, here: Placement, mirror: Obj) -> Placement:
    """Return the placement with what the attempts before it earned.

    The annotation may be left, and tell. Nobody vouches for it, but where it names the attempt that is
    there, whoever altered it has no more than the successes of his own workload miscounted.
    """
    if here.attempt == 1:
        return here
    noted = records.noted(kind, hub, view.record)
    if (
        noted is not None
        and not records.is_torn(noted)
        and noted == _based(here, noted.shards[0].base)
    ):
        return noted
    return _based(here, kind.earlier(hub, mirror))


def _based(here: Placement, base: Earned) -> Placement:
    return replace(here, shards=(replace(here.shards[0], base=base),))


def await_workers(view: View, kind: Kind, hub: Obj) -> Rest | None:
    """Wait for the workers that may hold a workload which nobody knows to be anywhere, though it ran.

    They are waited for as any lost worker that is known to hold one.
    """
    away = [worker for worker in view.workers.values() if not worker.is_up]
    if not away or not kind.has_run(hub):
        return None
    names = ", ".join(worker.name for worker in away)
    why = (
        f"It ran before, and its record was lost: it may be on {names}, which cannot be reached"
    )
    notices = (Notice("WorkerLost", why),)
    after = view.policy.lost_after
    since = [worker.lost_since for worker in away if worker.lost_since is not None]
    if after is None or len(since) < len(away) or view.most_are_lost:
        return Rest(why, notices=notices)
    left = times.left(max(since), after, view.now)
    return Rest(why, left, notices) if left > 0 else None
