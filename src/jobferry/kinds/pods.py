"""The pods that a workload is made of: their templates, how many there are, what they need together."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import orjson

from jobferry.core import marks
from jobferry.kinds import references
from jobferry.kinds.paths import Path, every, found
from jobferry.kinds.references import Reference
from jobferry.kinds.table import PodSet
from jobferry.objects import Obj, demand, quantities
from jobferry.objects.demand import MOST, Demand
from jobferry.objects.quantities import ZERO, BadQuantity

ANNOTATION = f"{marks.PREFIX}demand"
"""On a workload: what it needs at any one moment, in place of what can be told from its pods."""

UNREADABLE: Demand = {"cpu": MOST}
"""Of pods that make no sense: no cluster has room for them."""


class Pods(NamedTuple):
    """Some pods that are alike."""

    spec: Any
    """Of each: an object, unless somebody wrote nonsense where nothing checks it."""

    number: int


def of_set(obj: Obj, pod_set: PodSet) -> Iterator[Pods]:
    """Yield the pods of a pod set, with those of each entry apart."""
    for entry in every(obj, pod_set.at):
        spec = found(entry, (*pod_set.template, "spec"))
        if spec is not None:
            yield Pods(spec, _count(entry, pod_set))


def _count(entry: Any, pod_set: PodSet) -> int:
    total = 1
    for path in pod_set.counts[:-1]:
        total *= _number(entry, path, 1)
    last = _number(entry, pod_set.counts[-1], 1) if pod_set.counts else 1
    return total * min(last, _number(entry, pod_set.at_most, last) if pod_set.at_most else last)


def _number(entry: Any, path: Path, default: int) -> int:
    member = found(entry, path)
    return max(0, member) if isinstance(member, int) else default


def needs(pods: Iterable[Pods]) -> Demand:
    """Return what pods need together."""
    total: Demand = {}
    for each in pods:
        total = demand.add(total, demand.times(_of_one(each.spec), each.number))
    return {name: min(amount, MOST) for name, amount in total.items()}


def _of_one(spec: Any) -> Demand:
    """Return what one pod needs, never less than nothing: some kinds check nothing of a pod."""
    try:
        return {name: max(amount, ZERO) for name, amount in demand.of_pod(spec).items()}
    except (AttributeError, TypeError):
        return UNREADABLE


def needed(pods: Iterable[Pods]) -> Iterator[Reference]:
    """Yield what pods refer to."""
    for each in pods:
        yield from references.readable(references.of_pod(each.spec))


def first_priority_class(pods: Iterable[Pods]) -> str:
    """Name the first PriorityClass that pods name; empty: none does."""
    names = (found(each.spec, ("priorityClassName",)) for each in pods)
    return next((name for name in names if isinstance(name, str) and name), "")


def stated(hub: Obj) -> Demand | None:
    """Return the demand that an annotation states; None if there is none, or one that cannot be read."""
    text = (hub["metadata"].get("annotations") or {}).get(ANNOTATION)
    try:
        amounts = orjson.loads(text) if text else None
        if not isinstance(amounts, dict):
            return None
        read = {name: min(quantities.parse(each), MOST) for name, each in amounts.items()}
        return None if any(amount < ZERO for amount in read.values()) else read
    except (orjson.JSONDecodeError, BadQuantity, TypeError):
        return None


def is_misstated(hub: Obj) -> bool:
    """Tell whether there is an annotation that states a demand, and it cannot be read."""
    return ANNOTATION in (hub["metadata"].get("annotations") or {}) and stated(hub) is None
