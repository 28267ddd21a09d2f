"""What a worker has free for our workloads, counted in whole billionths: exact, and quick to compare."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from jobferry.objects.quantities import NANO, Quantity


class Lack(NamedTuple):
    """Why a worker does not take a workload that it could take."""

    what: Literal["load", "amount", "kept", "turn", "apart"]
    """It has all the workloads it takes; too little of a resource is left; what is left is kept for another; it is
    the turn of others; or not all of its gang can be there."""

    resource: str = ""
    together: int = 0
    """Of how much of that resource, in billionths, too little is left: what a gang needs. 0: it is asked for one."""

    size: int = 1
    """For how many workloads it was asked."""

    where: str = ""
    """Of one that cannot be apart from its gang: where that is, if it is somewhere."""


Amounts = tuple[tuple[str, int], ...]
"""How much of each resource, in billionths; nothing of what is not named."""


def total(demands: Iterable[Amounts]) -> Amounts:
    """Return what several need together."""
    summed: dict[str, int] = {}
    for demand in demands:
        for name, amount in demand:
            summed[name] = summed.get(name, 0) + amount
    return tuple(sorted(summed.items()))


def amounts(demand: Mapping[str, Quantity]) -> Amounts:
    """Return a demand in a form that can be compared and counted."""
    return tuple(
        sorted((name, amount.scaled(NANO)) for name, amount in demand.items() if amount)
    )


@dataclass(slots=True, eq=False)
class Room:
    """What a worker takes, and what of that is taken."""

    worker: str
    is_open: bool = False
    """Whether it takes new work at all."""

    max_load: int | None = None
    capacity: dict[str, int] = field(default_factory=dict)
    """Of what is limited, how much there is, in billionths."""

    load: int = 0
    """How many workloads it has, or is about to get."""

    used: dict[str, int] = field(default_factory=dict)

    def fits(self, demand: Amounts, size: int = 1) -> bool:
        """Tell whether there is room now for so many workloads that need that together."""
        if not self.is_open or (self.max_load is not None and self.load + size > self.max_load):
            return False
        return not self.capacity or self.shortage(demand) is None

    def could_fit(self, demand: Amounts, size: int = 1) -> bool:
        """Tell whether there would be room if nothing else were there."""
        if not self.is_open or (self.max_load is not None and size > self.max_load):
            return False
        return all(amount <= self.capacity.get(name, amount) for name, amount in demand)

    def shortage(self, demand: Amounts) -> str | None:
        """Name the first resource of which too little is left; None: there is enough of all."""
        for name, amount in demand:
            limit = self.capacity.get(name)
            if limit is not None and self.used.get(name, 0) + amount > limit:
                return name
        return None

    def missing(self, demand: Amounts, size: int = 1) -> float:
        """Return how far it is from having room: the largest part of a limit that is missing."""
        lacks = [
            (self.used.get(name, 0) + amount - limit) / max(limit, 1)
            for name, amount in demand
            if (limit := self.capacity.get(name)) is not None
        ]
        if self.max_load:
            lacks.append((self.load + size - self.max_load) / self.max_load)
        return max(lacks, default=0.0)

    def take(self, demand: Amounts, size: int = 1) -> None:
        """Count so many workloads more."""
        self.load += size
        for name, amount in demand:
            self.used[name] = self.used.get(name, 0) + amount

    def give_back(self, demand: Amounts) -> None:
        """Count one workload less."""
        self.load -= 1
        for name, amount in demand:
            self.used[name] -= amount
