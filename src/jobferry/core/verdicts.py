"""Which workers may run a workload, and why none does that waits."""

from dataclasses import dataclass

from jobferry.core import going
from jobferry.core.kind import Kind
from jobferry.core.room import Lack
from jobferry.core.view import View, Worker
from jobferry.objects.demand import MOST
from jobferry.objects.quantities import NANO, Quantity
from jobferry.objects.times import timestamp


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a workload waits: of each worker, why not there."""

    text: str
    is_out_of_bounds: bool = False
    """Whether it is for the workload's namespace alone."""


def eligible(view: View, kind: Kind, *, but: str | None = None) -> tuple[str, ...]:
    """Name the workers of the workload's queue that may run it, `but` one: whether they have room is not asked."""
    if view.policy.missing or not view.bounds.let(view.namespace):
        return ()
    return tuple(
        name
        for name in view.policy.workers
        if name != but and name in view.workers and _objection(view, kind, name) is None
    )


def why_waiting(view: View, kind: Kind, *, but: str | None = None) -> Reason:
    """Say why no worker takes it."""
    if view.policy.missing:
        return Reason(view.policy.missing)
    if not view.bounds.let(view.namespace):
        why = f"the setting namespaces does not let namespace {view.namespace} leave the hub"
        return Reason(why, is_out_of_bounds=True)
    if view.held is not None:
        return Reason(view.held.now)
    lacks = view.lacks() if view.lacks else {}
    verdicts = {
        name: verdict(view, kind, name, lacks.get(name)) for name in view.policy.workers
    }
    if but in verdicts:
        verdicts[but] = "it is to leave there"
    reasons = [f"{name}: {why}" for name, why in verdicts.items()]
    said = reasons or ["the queue has no workers"]
    if view.priority_note:
        said.append(view.priority_note)
    is_out_of_bounds = all(_trespass(view, name) for name in verdicts) and bool(verdicts)
    return Reason("; ".join(said), is_out_of_bounds)


def verdict(view: View, kind: Kind, name: str, lack: Lack | None) -> str:
    """Say why a worker does not take a workload."""
    worker = view.workers.get(name)
    if worker is None:
        return "there is no such Worker"
    if objection := _trespass(view, name) or _closure(worker) or _objection(view, kind, name):
        return objection
    return _shortage(view, kind, worker, lack or Lack("turn"))


def unserved(worker: Worker, kind: Kind) -> str | None:
    """Say why workloads of a kind cannot be on a worker, if so: not served is another thing than not seen."""
    if worker.serves(kind.name):
        return None
    why = worker.hidden.get(kind.name)
    return f"does not show us {kind.name}: {why}" if why else f"does not serve {kind.name}"


def _closure(worker: Worker) -> str | None:
    """Say why a worker takes no new work of anybody, if so."""
    if worker.silent_since is not None:
        return f"silent since {timestamp(worker.silent_since)}"
    return worker.refuses if worker.is_up else "not connected"


def _objection(view: View, kind: Kind, name: str) -> str | None:
    """Say why a worker does not take this very workload, whatever room it has, if so."""
    if unseen := unserved(view.workers[name], kind):
        return unseen
    if going.holds_name(view, name):
        return "an earlier mirror of that name is not gone from there yet"
    return _trespass(view, name) or view.refusals.get(name)


def _trespass(view: View, name: str) -> str | None:
    """Say why the workload's namespace has no place on a worker, if so."""
    worker = view.workers.get(name)
    if worker is None:
        return None
    if not worker.bounds.let(view.namespace):
        return f"namespace {view.namespace} may not go there"
    if not worker.shows(view.namespace):
        return f"namespace {view.namespace} is not watched there"
    return None


def _shortage(view: View, kind: Kind, worker: Worker, lack: Lack) -> str:
    """Say what a worker lacks; in the same words as long as it does."""
    match lack.what:
        case "apart":
            others = f"the others of its group are on {lack.where}"
            return others if lack.where else "not all pods of its group may go there"
        case "load":
            has = "no room for all of its group" if lack.size > 1 else "them"
            return f"it takes at most {worker.max_load} workloads, and has {has}"
        case "amount":
            needed = (kind.demand(view.hub) if view.hub else {}).get(lack.resource)
            if lack.together:
                needed = Quantity(lack.together, NANO)
            if needed == MOST:
                return f"it asks for more {lack.resource} than any cluster has"
            capacity = worker.capacity.get(lack.resource)
            return f"too little {lack.resource} is left of its {capacity}: {needed} is needed"
        case "kept":
            return "its room is kept for a workload that has waited longer"
        case _:
            return "it is the turn of others"
