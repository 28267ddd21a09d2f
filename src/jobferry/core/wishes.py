"""Puts what is known of a workload and of a worker into the terms of admission."""

from typing import Any

from jobferry.core import times
from jobferry.core.gangs import Gangs
from jobferry.core.kind import Kind
from jobferry.core.line import Place, Terms, W, Wish
from jobferry.core.room import amounts
from jobferry.core.steps import Want
from jobferry.core.view import View, Worker
from jobferry.objects import Obj


def wish(workload: W, view: View, kind: Kind, hub: Obj, wants: Want) -> Wish[W]:
    """Return what a workload wishes that wants one of some workers."""
    meta, policy = hub["metadata"], view.policy
    made = times.made_at(hub).timestamp()
    terms = Terms(policy.queue, wants.workers, policy.placement, amounts(kind.demand(hub)))
    return Wish(workload, Place(made, meta["uid"]), view.priority, terms, kind.gang(hub))


def note(admission: Gangs[Any], worker: Worker) -> None:
    """Take note of what a worker takes now."""
    if worker.is_open:
        admission.open(
            worker.name, max_load=worker.max_load, capacity=dict(amounts(worker.capacity))
        )
    else:
        admission.close(worker.name)
