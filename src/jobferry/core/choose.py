"""Chooses a worker for a workload, or says of each why not."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from jobferry.core.view import Kind, View, Worker
from jobferry.objects.demand import MOST, Demand


@dataclass(frozen=True, slots=True)
class Choice:
    """The worker to run on, or the reasons why there is none."""

    worker: Worker | None
    reason: str
    is_out_of_bounds: bool = False
    """Whether it is for the workload's namespace alone that there is none."""


def choose(view: View, kind: Kind, *, but: str | None = None) -> Choice:
    """Choose among the workers of the workload's queue, `but` one of them."""
    if view.policy.missing:
        return Choice(None, view.policy.missing)
    if not view.bounds.let(view.namespace):
        why = f"the setting namespaces does not let namespace {view.namespace} leave the hub"
        return Choice(None, why, is_out_of_bounds=True)
    needs = cache(lambda: kind.demand(view.hub) if view.hub else {})
    verdicts = {name: _refusal(view, needs, name) for name in view.policy.workers}
    if but in verdicts:
        verdicts[but] = "it is to leave there"
    able = [view.workers[name] for name, refusal in verdicts.items() if refusal is None]
    if able:
        return Choice(_best(able, view), "")
    reasons = "; ".join(f"{name}: {refusal}" for name, refusal in verdicts.items())
    is_out_of_bounds = all(_trespass(view, name) for name in verdicts) and bool(verdicts)
    return Choice(None, reasons or "the queue has no workers", is_out_of_bounds)


def _refusal(view: View, needs: Callable[[], Demand], name: str) -> str | None:
    worker = view.workers.get(name)
    if worker is None:
        return "there is no such Worker"
    if trespass := _trespass(view, name):
        return trespass
    if not worker.is_up:
        return "not connected"
    return worker.refuses or view.refusals.get(name) or _fullness(view, needs, worker)


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


def _fullness(view: View, needs: Callable[[], Demand], worker: Worker) -> str | None:
    """Say why a worker has no room; in the same words as long as it has none."""
    if worker.max_load is not None and view.loads[worker.name] >= worker.max_load:
        return f"it takes at most {worker.max_load} workloads, and has them"
    if not worker.capacity:
        return None
    return _shortage(worker, view.used[worker.name], needs())


def _shortage(worker: Worker, used: Demand, demand: Demand) -> str | None:
    for name, needed in demand.items():
        capacity = worker.capacity.get(name)
        if capacity is None or not needed:
            continue
        if needed == MOST:
            return f"it asks for more {name} than any cluster has"
        if capacity < (used[name] + needed if name in used else needed):
            return f"too little {name} is left of its {capacity}: {needed} is needed"
    return None


def _best(able: list[Worker], view: View) -> Worker:
    match view.policy.placement:
        case "Spread":
            return min(able, key=lambda worker: view.loads[worker.name])
        case "Pack":
            return max(able, key=lambda worker: view.loads[worker.name])
        case _:
            return able[0]
