"""The order of those who wait: by age, and within a queue by priority.

A priority never reaches beyond its queue. So a queue has as many places in the common line as it has members, where
their ages put them; who takes which of these places, its priorities say. Whoever goes takes the place along.
"""

from bisect import bisect_left, insort
from collections.abc import Hashable
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any, Generic, NamedTuple, TypeVar

from jobferry.core.kind import Gang
from jobferry.core.room import Amounts, Room

W = TypeVar("W", bound=Hashable)
"""What names a workload."""


class Place(NamedTuple):
    """A place in the common line: whoever has the smaller one comes first."""

    since: float
    """When the workload was made whose age it is, in seconds."""

    uid: str


@dataclass(frozen=True, slots=True)
class Terms:
    """All that decides where a workload fits; many have the same, and are looked at as one."""

    queue: str
    workers: tuple[str, ...]
    """Those that may run it, in the order to try them if `placement` is Ordered."""

    placement: str
    demand: Amounts
    size: int = 1
    """How many workloads that is for: all go to the same worker, or none."""


class Held(NamedTuple):
    """Why a workload that wants a worker is not in line: its gang cannot go."""

    why: str
    """In the same words as long as it is for the same reason."""

    now: str
    """How it stands at the moment."""


@dataclass(frozen=True, slots=True)
class Wish(Generic[W]):
    """That a workload run somewhere: it waits for its first worker, or is to leave the one it has."""

    workload: W
    own: Place
    """Where its own age puts it."""

    priority: int
    terms: Terms
    gang: Gang | None = None
    """Those that it goes with."""

    @property
    def rank(self) -> tuple[int, Place]:
        """Where it comes within its queue."""
        return -self.priority, self.own


class Line:
    """Those of one queue who wait."""

    def __init__(self) -> None:
        self._places: list[Place] = []
        self._ranks: list[tuple[int, Place]] = []

    def __len__(self) -> int:
        return len(self._ranks)

    def join(self, wish: Wish[Any]) -> None:
        """Line up."""
        insort(self._places, wish.own)
        insort(self._ranks, wish.rank)

    def leave(self, wish: Wish[Any]) -> None:
        """Go without having been admitted: with the place that its own age gave, if nobody took it."""
        del self._ranks[self._rank(wish)]
        at = bisect_left(self._places, wish.own)
        is_there = at < len(self._places) and self._places[at] == wish.own
        del self._places[at if is_there else -1]

    def admit(self, wish: Wish[Any]) -> None:
        """Go in, with the place where it stood: an older one of less priority does not keep it."""
        at = self._rank(wish)
        del self._ranks[at], self._places[at]

    def place(self, wish: Wish[Any]) -> Place:
        """Return where in the common line it stands."""
        return self._places[self._rank(wish)]

    def ahead(self, wish: Wish[Any]) -> int:
        """Return how many of its queue come before it."""
        return self._rank(wish)

    def _rank(self, wish: Wish[Any]) -> int:
        return bisect_left(self._ranks, wish.rank)


class Peers(Generic[W]):
    """Those who wait on the same terms: if the first finds no room, nor do the others."""

    def __init__(self, terms: Terms) -> None:
        self.order = {worker: place for place, worker in enumerate(terms.workers)}
        self.rooms: list[Room] = []
        """Where there may be room for them, in that order."""

        self._ranks: dict[tuple[int, Place], Wish[W]] = {}
        self._heap: list[tuple[int, Place]] = []

    def __bool__(self) -> bool:
        return bool(self._ranks)

    def add(self, wish: Wish[W]) -> None:
        """Take one more in."""
        if wish.rank not in self._ranks:
            heappush(self._heap, wish.rank)
        self._ranks[wish.rank] = wish

    def hope_for(self, room: Room) -> None:
        """Take note that there may be room on one more worker."""
        if room not in self.rooms:
            self.rooms.append(room)
            self.rooms.sort(key=lambda each: self.order[each.worker])

    def discard(self, wish: Wish[W]) -> None:
        """Let one go."""
        del self._ranks[wish.rank]

    def first(self) -> Wish[W]:
        """Return who comes first."""
        while self._heap[0] not in self._ranks:
            heappop(self._heap)  # gone meanwhile
        return self._ranks[self._heap[0]]
