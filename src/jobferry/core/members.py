"""Those of one gang: who is there, why they cannot go, who of them goes together, and what these wish as one."""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Generic, NamedTuple

from jobferry.core.line import Held, Terms, W, Wish
from jobferry.core.room import total


class Stand(NamedTuple, Generic[W]):
    """How those of a gang stand that want a worker and have none reserved."""

    new: list[W]
    """They are placed nowhere."""

    leaving: list[W]
    anchors: frozenset[str]
    """Where the others are that stay, or are about to be."""


@dataclass(slots=True)
class Members(Generic[W]):
    """Those of one gang that are known."""

    name: str
    sizes: dict[W, int] = field(default_factory=dict)
    """Of those that have not ended: how many they say that they are."""

    done: set[W] = field(default_factory=set)
    """Those that have ended well: nobody is to come in their place."""

    wishes: dict[W, Wish[W]] = field(default_factory=dict)
    fresh: set[W] = field(default_factory=set)
    """Those that are to be told how it stands."""

    lined_up: dict[W, None] = field(default_factory=dict)
    """Those that one of them stands in line for, and that one first."""

    held: Held | None = None
    """Why those that have no place do not line up."""

    def __len__(self) -> int:
        return len(self.sizes) + len(self.done)

    @property
    def first(self) -> W:
        """Who stands in line for the others that are lined up."""
        return next(iter(self.lined_up))

    def going(self, stand: Stand[W]) -> list[W]:
        """Name those that can go now, if there is a worker with room for them."""
        new = stand.new if self.held is None else []
        leaving = stand.leaving
        if stand.anchors:
            # Who is to leave waits until all are; but where some have gone, the others can follow.
            leaving = [each for each in leaving if self._may_follow(each, stand.anchors)]
        return [*leaving, *new]

    def _may_follow(self, workload: W, anchors: frozenset[str]) -> bool:
        return not anchors.isdisjoint(self.wishes[workload].terms.workers)

    def objection(self, stand: Stand[W]) -> Held | None:
        """Say why those that have no place cannot line up, if they cannot."""
        if not stand.new:
            return None
        size, *others = sorted(set(self.sizes.values()))
        if others:
            said = " or ".join(str(each) for each in (size, *others))
            why = f"the pods of its group {self.name} do not agree how many they are: {said}"
            return Held(why, why)
        if len(self) > size:
            why = f"its group {self.name} has more pods than the {size} that it says"
            return Held(why, f"{why}: {len(self)} are there")
        if len({wish.terms.queue for wish in self.wishes.values()}) > 1:
            why = f"the pods of its group {self.name} are in different queues"
            return Held(why, why)
        is_begun = stand.anchors or stand.leaving
        return None if is_begun else self._incomplete(size, len(stand.new))

    def _incomplete(self, size: int, ready: int) -> Held | None:
        """Say what is missing of a gang of which nothing is placed yet, if something is."""
        missing, idle = size - len(self), len(self.sizes) - ready
        if missing:
            return Held(
                f"it waits until all {size} pods of its group {self.name} are there",
                f"it waits for {missing} more {_pods(missing)} of its group {self.name}"
                f" ({len(self)} of {size} are there)",
            )
        if idle:
            are = "is" if idle == 1 else "are"
            return Held(
                f"it waits until all pods of its group {self.name} can go",
                f"it waits for {idle} {_pods(idle)} of its group {self.name}"
                f" that {are} there, but cannot go yet",
            )
        return None


def _pods(number: int) -> str:
    return "pod" if number == 1 else "pods"


def combined(wishes: Collection[Wish[W]], anchors: Collection[str]) -> Wish[W]:
    """Return the wish of several to go together, in the name of the youngest."""
    youngest = max(wishes, key=lambda each: each.own)
    able = set.intersection(*(set(each.terms.workers) for each in wishes))
    if anchors:
        able &= {*anchors}
    terms = Terms(
        youngest.terms.queue,
        tuple(each for each in youngest.terms.workers if each in able),
        youngest.terms.placement,
        total(each.terms.demand for each in wishes),
        len(wishes),
    )
    priority = min(each.priority for each in wishes)
    return Wish(youngest.workload, youngest.own, priority, terms, youngest.gang)
