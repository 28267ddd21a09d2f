"""Chooses a worker for a workload, or says of each why not."""

from dataclasses import dataclass

from jobferry.core.view import View, Worker


@dataclass(frozen=True, slots=True)
class Choice:
    """The worker to run on, or the reasons why there is none."""

    worker: Worker | None
    reason: str


def choose(view: View, *, but: str | None = None) -> Choice:
    """Choose among the workers of the workload's queue, `but` one of them."""
    verdicts = {name: _refusal(view, name) for name in view.policy.workers}
    if but in verdicts:
        verdicts[but] = "it is to leave there"
    able = [view.workers[name] for name, refusal in verdicts.items() if refusal is None]
    if able:
        return Choice(_best(able, view), "")
    reasons = "; ".join(f"{name}: {refusal}" for name, refusal in verdicts.items())
    return Choice(None, reasons or "the queue has no workers")


def _refusal(view: View, name: str) -> str | None:
    worker = view.workers.get(name)
    if worker is None:
        return "there is no such Worker"
    if not worker.is_up:
        return "not connected"
    return worker.refuses or view.refusals.get(name) or _fullness(worker, view.loads[name])


def _fullness(worker: Worker, load: int) -> str | None:
    if worker.max_load is None or load < worker.max_load:
        return None
    return f"it has {load} workloads, and takes at most {worker.max_load}"


def _best(able: list[Worker], view: View) -> Worker:
    match view.policy.placement:
        case "Spread":
            return min(able, key=lambda worker: view.loads[worker.name])
        case "Pack":
            return max(able, key=lambda worker: view.loads[worker.name])
        case _:
            return able[0]
