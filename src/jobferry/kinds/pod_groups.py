"""Pod groups: what a Pod says of the others that it goes with, in our words or in those of Kueue."""

from collections.abc import Iterable
from typing import NamedTuple

from jobferry.core.kind import Gang
from jobferry.core.marks import PREFIX
from jobferry.objects import Obj

NAMES = (f"{PREFIX}pod-group", "kueue.x-k8s.io/pod-group-name")
TOTALS = (f"{PREFIX}pod-group-total-count", "kueue.x-k8s.io/pod-group-total-count")
"""Labels or annotations; ours come first."""

MOST = 1000
"""How many pods a group may have: all of them are looked at together, and others wait meanwhile."""


def read(pod: Obj) -> Gang | None:
    """Return the group that a pod says it is of; None: of none, or it does not say in a sensible way of how many."""
    name = _said(pod, NAMES).value
    size = _number(_said(pod, TOTALS).value) if name else None
    return Gang(pod["metadata"]["namespace"], name, size) if size else None


def nonsense(pod: Obj) -> str | None:
    """Say what is wrong with what a pod says of its group, if something is."""
    name, total = _said(pod, NAMES).value, _said(pod, TOTALS)
    if not name or _number(total.value):
        return None
    if not total.value:
        where = f"annotation {TOTALS[0]}"
        return f"It is of pod group {name}, but has no {where} that says of how many"
    said = total.value if len(total.value) <= 20 else f"{total.value[:20]}..."
    must = f"must be the number of pods in the group, from 1 to {MOST}"
    return f'It is of pod group {name}, but its {total.where} says "{said}", and {must}'


class _Said(NamedTuple):
    """What a label or an annotation says."""

    value: str = ""
    where: str = ""


def _said(pod: Obj, keys: Iterable[str]) -> _Said:
    """Return what the first of some labels or annotations says that is there; empty: none is."""
    meta = pod["metadata"]
    for key in keys:
        for member in ("labels", "annotations"):
            if said := (meta.get(member) or {}).get(key):
                return _Said(str(said), f"{member.removesuffix('s')} {key}")
    return _Said()


def _number(text: str) -> int | None:
    """Return a number of pods; None if it is none."""
    if not (text.isascii() and text.isdecimal() and len(text) <= len(str(MOST))):
        return None
    return int(text) if 1 <= int(text) <= MOST else None
