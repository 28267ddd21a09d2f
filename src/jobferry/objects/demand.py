"""The demand of pods and Jobs: what the scheduler will reserve for them, resource by resource.

An API server lets anybody ask for 1e1500 CPUs, or for a number of a million digits. Whoever does gets a demand
that no cluster meets, and nobody's time: beyond `MOST` there is no counting.
"""

from collections.abc import Mapping

from jobferry.objects import Obj, quantities
from jobferry.objects.quantities import ZERO, BadQuantity, Quantity

Demand = dict[str, Quantity]
"""How much of each resource is needed."""

MOST = Quantity(2**63 - 1)
"""What stands for all that is more than this, and for what cannot be read: schedulers count no further."""


def of_job(job: Obj) -> Demand:
    """Return what the pods that a Job still has to run side by side need together."""
    demand = times(of_pod(job["spec"]["template"]["spec"]), pods_of_job(job))
    return {name: min(quantity, MOST) for name, quantity in demand.items()}


def pods_of_job(job: Obj) -> int:
    """Return how many pods the Job controller wants to run side by side, at most."""
    spec, status = job["spec"], job.get("status") or {}
    parallelism, completions = spec.get("parallelism"), spec.get("completions")
    wanted = 1 if parallelism is None else int(parallelism)
    if completions is None:
        return wanted
    return max(0, min(wanted, int(completions) - int(status.get("succeeded") or 0)))


def of_pod(spec: Obj) -> Demand:
    """Return what a pod with this spec needs: the most it may hold at any one moment."""
    demand = _of_containers(spec)
    demand.update(_of_pod_level(spec.get("resources") or {}, demand))
    return add(demand, _quantities(spec.get("overhead")))


def add(demand: Demand, more: Mapping[str, Quantity]) -> Demand:
    """Return the sum of two demands."""
    return demand | {
        name: demand[name] + quantity if name in demand else quantity
        for name, quantity in more.items()
    }


def times(demand: Demand, count: int) -> Demand:
    """Return a demand `count` times."""
    return {name: quantity * count for name, quantity in demand.items()}


def _of_containers(spec: Obj) -> Demand:
    """Return the larger of what runs together in the end and what runs while initialising.

    Init containers run one by one, each beside the sidecars that were started before it.
    """
    running: Demand = {}
    for container in spec.get("containers") or ():
        _add_to(running, _requests(container))
    sidecars: Demand = {}
    peak: Demand = {}
    for container in spec.get("initContainers") or ():
        own = _requests(container)
        # What it does not ask for itself is no more than the sidecars have in the end.
        beside = {name: sidecars.get(name, ZERO) + amount for name, amount in own.items()}
        peak.update(_larger(beside, {name: peak[name] for name in beside if name in peak}))
        if container.get("restartPolicy") == "Always":
            sidecars.update(beside)
    _add_to(running, sidecars)
    return _larger(running, peak)


def _of_pod_level(resources: Obj, of_containers: Demand) -> Demand:
    """Return what `spec.resources` asks for instead of what the containers do.

    A limit alone counts as a request, but only if no container requests that resource; with huge
    pages it always does, since their requests and limits must be equal.
    """
    limits = {
        name: limit
        for name, limit in _quantities(resources.get("limits")).items()
        if name not in of_containers or name.startswith("hugepages-")
    }
    asked = limits | _quantities(resources.get("requests"))
    return {name: quantity for name, quantity in asked.items() if _is_pod_level(name)}


def _is_pod_level(name: str) -> bool:
    return name in ("cpu", "memory") or name.startswith("hugepages-")


def _requests(container: Obj) -> Demand:
    """Return what a container requests; API servers take a limit alone for a request, too."""
    resources = container.get("resources") or {}
    return _quantities(resources.get("limits")) | _quantities(resources.get("requests"))


def _quantities(amounts: Obj | None) -> Demand:
    return {name: _quantity(amount) for name, amount in (amounts or {}).items()}


def _quantity(amount: str | float | None) -> Quantity:
    try:
        return min(quantities.parse(amount), MOST)
    except BadQuantity:
        return MOST


def _add_to(demand: Demand, more: Demand) -> None:
    """Add in place: there may be thousands of containers, each with names of its own."""
    for name, quantity in more.items():
        demand[name] = demand[name] + quantity if name in demand else quantity


def _larger(one: Demand, other: Demand) -> Demand:
    return one | {
        name: quantity
        for name, quantity in other.items()
        if name not in one or quantity > one[name]
    }
