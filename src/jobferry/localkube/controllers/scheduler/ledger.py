"""What nodes have and what is taken of it. Knows no API: pods are charged and released by UID."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from jobferry.localkube.controllers.scheduler.requirements import (
    Amounts,
    Port,
    Requirements,
    amounts,
)
from jobferry.localkube.controllers.taints import Taint
from jobferry.objects import quantities


class _Metadata(msgspec.Struct, frozen=True):
    name: str
    labels: dict[str, str] = {}


class _Spec(msgspec.Struct, frozen=True):
    unschedulable: bool = False
    taints: list[Taint] = []


class _Status(msgspec.Struct, frozen=True):
    allocatable: dict[str, str] = {}


class _Node(msgspec.Struct, frozen=True):
    metadata: _Metadata
    spec: _Spec = _Spec()
    status: _Status = _Status()


_DECODER = msgspec.json.Decoder(_Node)


@dataclass(frozen=True, slots=True)
class Offer:
    """What a node says of itself."""

    name: str
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    is_unschedulable: bool
    amounts: Amounts


def offer(node: bytes) -> Offer:
    """Read a node."""
    found = _DECODER.decode(node)
    allocatable = {
        name: quantities.parse(text) for name, text in found.status.allocatable.items()
    }
    return Offer(
        found.metadata.name,
        found.metadata.labels,
        tuple(found.spec.taints),
        found.spec.unschedulable,
        amounts(allocatable),
    )


@dataclass(slots=True)
class Taken:
    """What pods have taken of a node."""

    pods: int = 0
    amounts: Amounts = field(default_factory=dict)
    ports: list[Port] = field(default_factory=list)


NOTHING_TAKEN = Taken()


class Ledger:
    """Nodes, and what each pod has taken of which."""

    def __init__(self) -> None:
        self.offers: dict[str, Offer] = {}
        self._taken: dict[str, Taken] = {}
        self._charges: dict[str, tuple[str, Requirements]] = {}

    def taken(self, node: str) -> Taken:
        """Return what is taken of a node; not to be changed."""
        return self._taken.get(node, NOTHING_TAKEN)

    def node_of(self, uid: str) -> str | None:
        """Return the node to which a pod is charged."""
        charge = self._charges.get(uid)
        return None if charge is None else charge[0]

    def charge(self, uid: str, node: str, requirements: Requirements) -> None:
        """Take what a pod asks for from a node."""
        self.release(uid)
        self._charges[uid] = node, requirements
        taken = self._taken.setdefault(node, Taken())
        taken.pods += 1
        taken.ports += requirements.ports
        for name, amount in requirements.amounts.items():
            taken.amounts[name] = taken.amounts.get(name, 0) + amount

    def release(self, uid: str) -> bool:
        """Give back what a pod has taken; False if it had nothing."""
        charge = self._charges.pop(uid, None)
        if charge is None:
            return False
        node, requirements = charge
        taken = self._taken[node]
        taken.pods -= 1
        if not taken.pods:
            del self._taken[node]
            return True
        for port in requirements.ports:
            taken.ports.remove(port)
        for name, amount in requirements.amounts.items():
            taken.amounts[name] -= amount
        return True
