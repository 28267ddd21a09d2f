"""Chooses a worker for a workload, or says of each why not."""

from dataclasses import dataclass

from jobferry.core.view import View, Worker


@dataclass(frozen=True, slots=True)
class Choice:
    """The worker to run on, or the reasons why there is none."""

    worker: Worker | None
    reason: str


def choose(view: View) -> Choice:
    """Choose among the workers of the workload's queue."""
    verdicts = {name: _refusal(view, name) for name in view.policy.workers}
    able = [view.workers[name] for name, refusal in verdicts.items() if refusal is None]
    if able:
        return Choice(_best(able, view.policy.placement), "")
    reasons = "; ".join(f"{name}: {refusal}" for name, refusal in verdicts.items())
    return Choice(None, reasons or "the queue has no workers")


def _refusal(view: View, name: str) -> str | None:
    worker = view.workers.get(name)
    if worker is None:
        return "there is no such Worker"
    if not worker.is_up:
        return "not connected"
    return worker.refuses or view.refusals.get(name)


def _best(able: list[Worker], placement: str) -> Worker:
    match placement:
        case "Spread":
            return min(able, key=lambda worker: worker.load)
        case "Pack":
            return max(able, key=lambda worker: worker.load)
        case _:
            return able[0]
