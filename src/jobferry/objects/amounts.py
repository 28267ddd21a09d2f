"""Amounts of resources as containers, pods, limits and quotas list them, and the sums of pods."""

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

from jobferry.objects import Obj, demand, quantities
from jobferry.objects.quantities import Quantity

Amounts = dict[str, Quantity]
"""How much of each resource."""

ONE = quantities.parse("1")

_REMEMBERED = 4096
_SHORT = 64
"""Longer texts are not remembered: nobody may fill the memory with them."""

_parsed = lru_cache(_REMEMBERED)(quantities.parse)


def parse(text: Any) -> Quantity:
    """Read a quantity; the same few are read again and again."""
    if isinstance(text, str) and len(text) <= _SHORT:
        return _parsed(text)
    return quantities.parse(text)


def read(texts: Mapping[str, Any] | None) -> Amounts:
    """Read a list of resources."""
    return {name: parse(text) for name, text in texts.items()} if texts else {}


def of(container: Obj, what: str) -> Amounts:
    """Return the `requests` or the `limits` of a container."""
    return read((container.get("resources") or {}).get(what))


def larger(one: Amounts, other: Amounts) -> Amounts:
    """Return the larger of two amounts for each resource."""
    return one | {
        name: amount for name, amount in other.items() if name not in one or amount > one[name]
    }


def of_containers(spec: Obj, amounts_of: Callable[[Obj], Amounts]) -> Amounts:
    """Return what the containers of a pod hold at most at any one moment.

    Init containers run one by one, each beside the sidecars that were started before it.
    """
    running: Amounts = {}
    for container in spec.get("containers") or ():
        running = demand.add(running, amounts_of(container))
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in spec.get("initContainers") or ():
        own = amounts_of(container)
        if container.get("restartPolicy") == "Always":
            running = demand.add(running, own)
            sidecars = now = demand.add(sidecars, own)
        else:
            now = demand.add(own, sidecars)
        peak = larger(peak, now)
    return larger(running, peak)


def override(
    amounts: Amounts, spec: Obj, what: str, is_pod_level: Callable[[str], bool]
) -> Amounts:
    """Put what a pod as a whole asks for in the place of the sums of its containers."""
    resources = spec.get("resources")
    if not resources:
        return amounts
    whole = read(resources.get(what))
    return amounts | {name: amount for name, amount in whole.items() if is_pod_level(name)}


def show(amounts: Amounts) -> str:
    """Say them in one line, by name."""
    return ",".join(f"{name}={amounts[name]}" for name in sorted(amounts))


def only(amounts: Amounts, names: Iterable[str]) -> Amounts:
    """Return those of some resources."""
    kept = set(names)
    return {name: amount for name, amount in amounts.items() if name in kept}
