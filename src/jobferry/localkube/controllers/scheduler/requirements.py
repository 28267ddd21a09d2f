"""What a pod asks of a node. Pure; pods made from one template share what was read of it."""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import msgspec
import orjson

from jobferry.localkube.controllers.taints import Toleration
from jobferry.objects import Obj, demand, quantities
from jobferry.objects.labels import Operator, Requirement

Amounts = dict[str, int]
"""How much of each resource: cpu in thousandths, all else in whole units."""

_OPERATORS = {
    "In": Operator.IN,
    "NotIn": Operator.NOT_IN,
    "Exists": Operator.EXISTS,
    "DoesNotExist": Operator.DOES_NOT_EXIST,
    "Gt": Operator.GREATER_THAN,
    "Lt": Operator.LESS_THAN,
}
NAME = "metadata.name"
"""The one field that a term may ask for."""


class Port(NamedTuple):
    """A port of the node that a pod takes."""

    protocol: str
    number: int
    address: str

    def clashes(self, other: "Port") -> bool:
        """Tell whether two cannot be on one node."""
        if (self.protocol, self.number) != (other.protocol, other.number):
            return False
        return self.address == other.address or "0.0.0.0" in (self.address, other.address)  # noqa: S104


@dataclass(frozen=True, slots=True)
class Term:
    """One way for a node to be the right one: all of it has to hold."""

    labels: tuple[Requirement, ...]
    fields: tuple[Requirement, ...]

    def matches(self, name: str, labels: Mapping[str, str]) -> bool:
        """Tell whether a node is the right one; a term that asks for nothing finds none."""
        if not self.labels and not self.fields:
            return False
        return all(each.matches(labels) for each in self.labels) and all(
            each.matches({NAME: name}) for each in self.fields
        )


@dataclass(frozen=True, slots=True, eq=False)
class Requirements:
    """What a pod asks for."""

    amounts: Amounts
    ports: tuple[Port, ...]
    selector: tuple[tuple[str, str], ...]
    required: tuple[Term, ...] | None
    """One of these has to hold; None: any node will do."""

    preferred: tuple[tuple[int, Term], ...]
    tolerations: tuple[Toleration, ...]


def read(spec: Obj) -> Requirements:
    """Read what a pod with this spec asks for."""
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    preferred = affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
    return Requirements(
        amounts=amounts(demand.of_pod(spec)),
        ports=_ports(spec),
        selector=tuple((spec.get("nodeSelector") or {}).items()),
        required=None
        if required is None
        else tuple(map(_term, required.get("nodeSelectorTerms") or ())),
        preferred=tuple((each["weight"], _term(each["preference"])) for each in preferred),
        tolerations=tuple(msgspec.convert(spec.get("tolerations") or [], list[Toleration])),
    )


def amounts(of: demand.Demand) -> Amounts:
    """Return exact quantities as whole numbers, rounded up."""
    return {
        name: quantity.scaled(quantities.MILLI if name == "cpu" else 0)
        for name, quantity in of.items()
        if quantity
    }


def _ports(spec: Obj) -> tuple[Port, ...]:
    sidecars = [
        each
        for each in spec.get("initContainers") or ()
        if each.get("restartPolicy") == "Always"
    ]
    return tuple(
        Port(
            port.get("protocol") or "TCP",
            port["hostPort"],
            port.get("hostIP") or "0.0.0.0",  # noqa: S104 (what no address means)
        )
        for container in (*sidecars, *(spec.get("containers") or ()))
        for port in container.get("ports") or ()
        if port.get("hostPort")
    )


def _term(term: Obj) -> Term:
    return Term(
        tuple(map(_requirement, term.get("matchExpressions") or ())),
        tuple(map(_requirement, term.get("matchFields") or ())),
    )


def _requirement(expression: Obj) -> Requirement:
    values = tuple(expression.get("values") or ())
    return Requirement(expression["key"], _OPERATORS[expression["operator"]], values)


_NONE = msgspec.Raw(b"")


class _Container(msgspec.Struct, frozen=True, rename="camel"):
    resources: msgspec.Raw = _NONE
    ports: msgspec.Raw = _NONE
    restart_policy: str = ""


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    containers: list[_Container] = []
    init_containers: list[_Container] = []
    resources: msgspec.Raw = _NONE
    overhead: msgspec.Raw = _NONE
    node_selector: msgspec.Raw = _NONE
    affinity: msgspec.Raw = _NONE
    tolerations: msgspec.Raw = _NONE


class _Pod(msgspec.Struct, frozen=True):
    spec: _Spec


_DECODER = msgspec.json.Decoder(_Pod)


class Reader:
    """Reads pods, each kind of them once: those of one Job ask for the same."""

    def __init__(self, remembered: int = 1000) -> None:
        self._remembered = remembered
        self._read: OrderedDict[bytes, Requirements] = OrderedDict()

    def of(self, pod: bytes) -> Requirements:
        """Return what a pod asks for; the same object for all that ask for the same."""
        key = _likeness(_DECODER.decode(pod).spec)
        found = self._read.get(key)
        if found is None:
            found = self._read[key] = read(orjson.loads(pod)["spec"])
            if len(self._read) > self._remembered:
                self._read.popitem(last=False)
        else:
            self._read.move_to_end(key)
        return found


def _likeness(spec: _Spec) -> bytes:
    """Return what is the same for pods that ask for the same."""
    parts = [spec.resources, spec.overhead, spec.node_selector, spec.affinity, spec.tolerations]
    for container in (*spec.containers, *spec.init_containers):
        parts += [container.resources, container.ports]
    likeness = b"\0".join(map(bytes, parts))
    policies = ",".join(each.restart_policy for each in spec.init_containers)
    return b"\0".join((likeness, policies.encode(), str(len(spec.containers)).encode()))
