"""Chooses a worker for a workload, or says of each why not."""

from dataclasses import dataclass

from jobferry.core.view import Kind, View, Worker
from jobferry.objects.demand import Demand
from jobferry.objects.times import timestamp


@dataclass(frozen=True, slots=True)
class Choice:
    """The worker to run on, or the reasons why there is none."""

    worker: Worker | None
    reason: str


def choose(view: View, kind: Kind, *, but: str | None = None) -> Choice:
    """Choose among the workers of the workload's queue, `but` one of them."""
    verdicts = {name: _refusal(view, kind, name) for name in view.policy.workers}
    if but in verdicts:
        verdicts[but] = "it is to leave there"
    able = [view.workers[name] for name, refusal in verdicts.items() if refusal is None]
    if able:
        return Choice(_best(able, view), "")
    reasons = "; ".join(f"{name}: {refusal}" for name, refusal in verdicts.items())
    return Choice(None, reasons or "the queue has no workers")


def _refusal(view: View, kind: Kind, name: str) -> str | None:
    worker = view.workers.get(name)
    if worker is None:
        return "there is no such Worker"
    if worker.silent_since is not None:
        return f"silent since {timestamp(worker.silent_since)}"
    if not worker.is_up:
        return "not connected"
    return worker.refuses or view.refusals.get(name) or _fullness(view, kind, worker)


def _fullness(view: View, kind: Kind, worker: Worker) -> str | None:
    """Say why a worker has no room; in the same words as long as it has none."""
    if worker.max_load is not None and view.loads[worker.name] >= worker.max_load:
        return f"it takes at most {worker.max_load} workloads, and has them"
    if not worker.capacity or view.hub is None:
        return None
    return _shortage(worker, view.used[worker.name], kind.demand(view.hub))


def _shortage(worker: Worker, used: Demand, demand: Demand) -> str | None:
    for name, needed in demand.items():
        capacity = worker.capacity.get(name)
        if capacity is None or not needed:
            continue
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
