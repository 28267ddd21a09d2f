"""Which nodes fit a pod, which of them is best, and why none does. Pure."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice

from jobferry.localkube.controllers.scheduler.ledger import Ledger, Offer, Taken
from jobferry.localkube.controllers.scheduler.requirements import Requirements
from jobferry.localkube.controllers.taints import (
    NO_EXECUTE,
    NO_SCHEDULE,
    PREFER_NO_SCHEDULE,
    Taint,
    tolerated,
    untolerated,
)

NO_NODES = "no nodes available to schedule pods"
UNSCHEDULABLE = Taint(key="node.kubernetes.io/unschedulable", effect=NO_SCHEDULE)

ENOUGH = 100
"""Nodes that fit; of thousands, no more are compared."""

TAINTS, AFFINITY, SPACE = 3, 2, 1
"""What counts how much, as in kube-scheduler."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A pod goes to a node."""

    node: str


@dataclass(frozen=True, slots=True)
class Unfit:
    """No node fits; the message says why, in the usual words."""

    message: str


def place(requirements: Requirements, ledger: Ledger, start: int = 0) -> Placed | Unfit:
    """Find the best of the nodes that fit; `start` is where to begin among equals."""
    reasons: Counter[str] = Counter()
    fitting: list[Offer] = []
    for offer in _from(ledger.offers, start):
        why = problems(requirements, offer, ledger.taken(offer.name))
        if not why:
            fitting.append(offer)
            if len(fitting) == ENOUGH:
                break
        reasons.update(why)
    if not fitting:
        return Unfit(message(reasons, len(ledger.offers)))
    if len(fitting) == 1:
        return Placed(fitting[0].name)
    return Placed(_best(requirements, fitting, ledger))


def message(reasons: Mapping[str, int], nodes: int) -> str:
    """Say why no node fits."""
    if not nodes:
        return NO_NODES
    parts = sorted(f"{count} {reason}" for reason, count in reasons.items())
    return f"0/{nodes} nodes are available: {', '.join(parts)}."


def problems(requirements: Requirements, offer: Offer, taken: Taken) -> list[str]:
    """Say why a node does not fit a pod; the first rule that is broken speaks."""
    tolerations = requirements.tolerations
    if offer.is_unschedulable and not tolerated(UNSCHEDULABLE, tolerations):
        return ["node(s) were unschedulable"]
    if offer.taints and untolerated(offer.taints, tolerations, NO_SCHEDULE, NO_EXECUTE):
        return ["node(s) had untolerated taint(s)"]
    if not _is_wanted(requirements, offer):
        return ["node(s) didn't match Pod's node affinity/selector"]
    if requirements.ports and _clash(requirements, taken):
        return ["node(s) didn't have free ports for the requested pod ports"]
    return _lacking(requirements, offer, taken)


def _is_wanted(requirements: Requirements, offer: Offer) -> bool:
    if any(offer.labels.get(key) != value for key, value in requirements.selector):
        return False
    terms = requirements.required
    return terms is None or any(term.matches(offer.name, offer.labels) for term in terms)


def _clash(requirements: Requirements, taken: Taken) -> bool:
    return any(port.clashes(other) for port in requirements.ports for other in taken.ports)


def _lacking(requirements: Requirements, offer: Offer, taken: Taken) -> list[str]:
    found = []
    if taken.pods + 1 > offer.amounts.get("pods", 0):
        found.append("Too many pods")
    for name, amount in requirements.amounts.items():
        if amount > offer.amounts.get(name, 0) - taken.amounts.get(name, 0):
            found.append(f"Insufficient {name}")
    return found


def _best(requirements: Requirements, fitting: Sequence[Offer], ledger: Ledger) -> str:
    """Return the node with the highest score; of equals the emptiest, then the first."""
    shunned = [
        len(untolerated(offer.taints, requirements.tolerations, PREFER_NO_SCHEDULE))
        for offer in fitting
    ]
    liked = [_preference(requirements, offer) for offer in fitting]
    most_shunned, most_liked = max(shunned) or 1, max(liked) or 1

    def rank(index: int) -> tuple[float, int]:
        offer = fitting[index]
        taken = ledger.taken(offer.name)
        score = (
            TAINTS * (1 - shunned[index] / most_shunned)
            + AFFINITY * liked[index] / most_liked
            + SPACE * _space(requirements, offer, taken)
        )
        return score, -taken.pods

    return fitting[max(range(len(fitting)), key=rank)].name


def _preference(requirements: Requirements, offer: Offer) -> int:
    return sum(
        weight
        for weight, term in requirements.preferred
        if term.matches(offer.name, offer.labels)
    )


def _space(requirements: Requirements, offer: Offer, taken: Taken) -> float:
    """Return the share of cpu and memory that a node would have left."""
    left = 0.0
    for name in ("cpu", "memory"):
        has = offer.amounts.get(name, 0)
        if has:
            used = taken.amounts.get(name, 0) + requirements.amounts.get(name, 0)
            left += (has - used) / has
    return left / 2


def _from(offers: Mapping[str, Offer], start: int) -> Iterator[Offer]:
    """Go round all nodes, beginning at one."""
    if len(offers) <= ENOUGH:
        return iter(offers.values())
    start %= len(offers)
    values = offers.values()
    return chain(islice(values, start, None), islice(values, start))
