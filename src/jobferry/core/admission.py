"""Who goes where next: one account of all that waits or is to leave its worker, and of the room on all workers.

Room is taken twice for one workload, if at all: by its placement, once the hub shows it, and before that by a reservation,
which is all that placing, draining and moving go by. `admit` makes reservations in the order of the line. A small workload may
pass a large one that finds no room now; but the first of a queue that has waited for `HOLD_AFTER` has the room of
one worker kept for it from then on, so that it waits no longer than what runs there.

Quotas, shares and preemption are to be rules here.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from operator import attrgetter
from typing import Generic, NamedTuple

from jobferry.clock import Seconds
from jobferry.core.line import Line, Peers, Place, Terms, W, Wish
from jobferry.core.room import Amounts, Lack, Room

HOLD_AFTER: Seconds = 300.0
"""How long smaller ones may pass."""


@dataclass(frozen=True, slots=True)
class Reservation(Generic[W]):
    """That a workload may be placed on a worker: there is room, and nobody else gets it."""

    workload: W
    worker: str


class Outcome(NamedTuple, Generic[W]):
    """What one pass came to."""

    admitted: list[Reservation[W]]
    waiting: list[W]
    """Who lined up since the last pass, and found no room in this one."""


@dataclass(frozen=True, slots=True)
class _Hold(Generic[W]):
    """That the room of a worker is kept for a workload that is too large for it now."""

    wish: Wish[W]
    worker: str
    place: Place = field(compare=False)
    """Where in line that stands, which is the same throughout a pass."""


class Admission(Generic[W]):
    """Keeps the account; every method is a matter of what changed, not of how much there is."""

    def __init__(self) -> None:
        self._rooms: dict[str, Room] = {}
        self._placed: dict[W, tuple[str, Amounts]] = {}
        self._wishes: dict[W, Wish[W]] = {}
        self._reserved: dict[W, str] = {}
        self._fresh: set[W] = set()
        """Those who line up since the last pass."""

        self._lines: dict[str, Line] = {}
        self._peers: dict[Terms, Peers[W]] = {}
        self._hopeful: set[Terms] = set()
        """Those who may find room; for the others there was none, and none has come since."""

        self._holds: dict[str, _Hold[W]] = {}
        """By queue."""

    # What changes

    def open(
        self,
        worker: str,
        *,
        max_load: int | None = None,
        capacity: Mapping[str, int] | None = None,
    ) -> None:
        """Take note that a worker takes work, and how much."""
        room = self._rooms.setdefault(worker, Room(worker))
        room.is_open, room.max_load, room.capacity = True, max_load, dict(capacity or {})
        self._wake(worker)

    def close(self, worker: str) -> None:
        """Take note that a worker takes no new work; who was to go there waits again."""
        room = self._rooms.setdefault(worker, Room(worker))
        room.is_open = False
        for workload in [each for each, where in self._reserved.items() if where == worker]:
            self._cancel(workload)

    def place(self, workload: W, worker: str, demand: Amounts) -> None:
        """Take note where a workload is placed, by the word of the hub, and what it needs there."""
        if self._placed.get(workload) == (worker, demand):
            return
        self.remove(workload)
        self._placed[workload] = worker, demand
        self._rooms.setdefault(worker, Room(worker)).take(demand)
        if self._reserved.get(workload) == worker:
            reserved = self._wishes.pop(workload).terms.demand
            del self._reserved[workload]
            self._rooms[worker].give_back(reserved)
            if reserved != demand:
                self._wake(worker)

    def remove(self, workload: W) -> None:
        """Take note that a workload is placed nowhere, or has ended."""
        found = self._placed.pop(workload, None)
        if found is not None:
            worker, demand = found
            self._rooms[worker].give_back(demand)
            self._wake(worker)

    def want(self, wish: Wish[W]) -> None:
        """Take note that a workload wants a worker, or wants another than before."""
        known = self._wishes.get(wish.workload)
        if known == wish:
            return
        reserved = self._reserved.get(wish.workload)
        if known and reserved in wish.terms.workers and known.terms.demand == wish.terms.demand:
            self._wishes[wish.workload] = wish
            return
        self.withdraw(wish.workload)
        self._line_up(wish)

    def withdraw(self, workload: W) -> None:
        """Take note that a workload wants no worker any more."""
        if workload in self._reserved:
            self._give_up(workload)
            del self._wishes[workload]
        elif (wish := self._wishes.pop(workload, None)) is not None:
            self._fresh.discard(workload)
            self._lines[wish.terms.queue].leave(wish)
            self._leave_peers(wish)

    def clear(self) -> None:
        """Forget who wants what."""
        for workload in list(self._wishes):
            self.withdraw(workload)

    # What follows

    def admit(self, now: Seconds) -> Outcome[W]:
        """Reserve what there is room for, in the order of the line; return what is new."""
        self._hold(now)
        made: list[Reservation[W]] = []
        first: list[tuple[Place, Terms]] = []
        while self._hopeful or first:
            for terms in self._hopeful:
                heappush(first, (self._place(self._peers[terms].first()), terms))
            self._hopeful.clear()
            place, terms = heappop(first)
            while (room := self._choose(terms, place)) is not None:
                peers = self._peers[terms]
                made.append(self._reserve(peers.first(), room))
                if not peers:
                    break
                place = self._place(peers.first())
                if self._hopeful or (first and first[0][0] < place):
                    heappush(first, (place, terms))  # somebody comes before the next of them
                    break
        waiting = [each for each in self._fresh if each not in self._reserved]
        self._fresh.clear()
        return Outcome(made, waiting)

    def reservation(self, workload: W) -> str | None:
        """Return the worker where a workload may be placed now."""
        return self._reserved.get(workload)

    def has(self, workload: W) -> bool:
        """Tell whether a workload waits, or may be placed."""
        return workload in self._wishes

    def workloads(self) -> list[W]:
        """Name all who wait, or may be placed."""
        return list(self._wishes)

    @property
    def has_news(self) -> bool:
        """Whether a pass may come to anything."""
        return bool(self._hopeful or self._fresh)

    def load(self, worker: str) -> int:
        """Return how many workloads a worker has, or is about to get."""
        room = self._rooms.get(worker)
        return room.load if room else 0

    def is_weighed(self, workload: W) -> bool:
        """Tell whether a pass has come to a workload, and there was no room for it."""
        return (
            workload in self._wishes
            and workload not in self._reserved
            and workload not in self._fresh
        )

    def lacks(self, workload: W) -> dict[str, Lack]:
        """Say of each worker that could take a workload that waits why it does not."""
        wish = self._wishes.get(workload)
        if wish is None or workload in self._reserved:
            return {}
        place = self._place(wish)
        return {
            worker: self._lack(worker, wish.terms, place)
            for worker in wish.terms.workers
            if worker in self._rooms
        }

    def turn(self, workload: W) -> tuple[int, int] | None:
        """Return which of its queue a workload is that waits, and of how many; the first is 1."""
        wish = self._wishes.get(workload)
        if wish is None or workload in self._reserved:
            return None
        line = self._lines[wish.terms.queue]
        return line.ahead(wish) + 1, len(line)

    def worker(self, workload: W) -> str | None:
        """Return where a workload is placed, by the word of the hub; None: nowhere."""
        found = self._placed.get(workload)
        return found[0] if found else None

    # Going together

    def split(self, workload: W, parts: Sequence[Wish[W]]) -> list[Reservation[W]]:
        """Make of the reservation for several one for each; together they need what it was made for."""
        worker = self._reserved.pop(workload)
        del self._wishes[workload]
        for part in parts:
            self._wishes[part.workload], self._reserved[part.workload] = part, worker
        return [Reservation(part.workload, worker) for part in parts]

    # Lining up

    def _line_up(self, wish: Wish[W]) -> None:
        terms = wish.terms
        self._wishes[wish.workload] = wish
        self._fresh.add(wish.workload)
        self._lines.setdefault(terms.queue, Line()).join(wish)
        peers = self._peers.get(terms)
        if peers is None:
            peers = self._peers[terms] = Peers(terms)
            peers.rooms = [self._rooms[each] for each in terms.workers if each in self._rooms]
        peers.add(wish)
        if peers.first() is wish:
            self._hopeful.add(terms)

    def _leave_peers(self, wish: Wish[W]) -> None:
        peers = self._peers[wish.terms]
        peers.discard(wish)
        if not peers:
            del self._peers[wish.terms]
            self._hopeful.discard(wish.terms)
        hold = self._holds.get(wish.terms.queue)
        if hold is not None and hold.wish is wish:
            del self._holds[wish.terms.queue]
            self._wake(hold.worker)

    def _place(self, wish: Wish[W]) -> Place:
        return self._lines[wish.terms.queue].place(wish)

    # Reserving

    def _reserve(self, wish: Wish[W], room: Room) -> Reservation[W]:
        self._lines[wish.terms.queue].admit(wish)
        self._reserved[wish.workload] = room.worker
        room.take(wish.terms.demand, wish.terms.size)
        self._leave_peers(wish)
        return Reservation(wish.workload, room.worker)

    def _cancel(self, workload: W) -> None:
        """Let a workload wait again that was to go somewhere."""
        self._give_up(workload)
        self._line_up(self._wishes[workload])

    def _give_up(self, workload: W) -> None:
        worker = self._reserved.pop(workload)
        self._rooms[worker].give_back(self._wishes[workload].terms.demand)
        self._wake(worker)

    def _choose(self, terms: Terms, place: Place) -> Room | None:
        """Return where the first of those who are alike goes, if there is room."""
        peers = self._peers.get(terms)
        if peers is None:
            return None
        kept = self._kept_from(place) if self._holds else ()
        while rooms := [each for each in peers.rooms if each.worker not in kept]:
            best = _BEST.get(terms.placement, _first)(rooms)
            if best.fits(terms.demand, terms.size):
                return best
            peers.rooms.remove(best)
        return None

    def _wake(self, worker: str) -> None:
        """Let those hope again who may go to a worker that has more room than before."""
        room = self._rooms[worker]
        for terms, peers in self._peers.items():
            if worker in peers.order and room.fits(terms.demand, terms.size):
                peers.hope_for(room)
                self._hopeful.add(terms)

    def _lack(self, worker: str, terms: Terms, place: Place) -> Lack:
        room = self._rooms[worker]
        if room.max_load is not None and room.load + terms.size > room.max_load:
            return Lack("load")
        if lacking := room.shortage(terms.demand):
            return Lack("amount", lacking)
        return Lack("kept" if worker in self._kept_from(place) else "turn")

    # Holding

    def _kept_from(self, place: Place) -> set[str]:
        """Return the workers whose room is kept for somebody who stands further in front."""
        return {hold.worker for hold in self._holds.values() if hold.place < place}

    def _hold(self, now: Seconds) -> None:
        """Keep the room of one worker for the first of each queue that was passed for too long."""
        before, self._holds = self._holds, {}
        overdue = self._overdue(now)
        first = sorted((self._place(wish), queue) for queue, wish in overdue.items())
        for place, queue in first:
            wish = overdue[queue]
            worker = self._worker_to_hold(wish, before.get(queue))
            if worker is not None:
                self._holds[queue] = _Hold(wish, worker, place)
        for queue, hold in before.items():
            if self._holds.get(queue) != hold:
                self._wake(hold.worker)

    def _overdue(self, now: Seconds) -> dict[str, Wish[W]]:
        """Find the first of each queue that has waited too long and could have room some time."""
        found: dict[str, Wish[W]] = {}
        for terms, peers in self._peers.items():
            wish = peers.first()
            if now - wish.own.since < HOLD_AFTER:
                continue
            first = found.get(terms.queue)
            if (first is None or wish.rank < first.rank) and any(self._possible(terms)):
                found[terms.queue] = wish
        return found

    def _possible(self, terms: Terms) -> Iterable[str]:
        return (
            worker
            for worker in terms.workers
            if worker in self._rooms and self._rooms[worker].could_fit(terms.demand, terms.size)
        )

    def _worker_to_hold(self, wish: Wish[W], before: _Hold[W] | None) -> str | None:
        """Choose the worker that comes nearest to having room; the same as before, as long as it can be."""
        taken = {hold.worker for hold in self._holds.values()}
        demand, size = wish.terms.demand, wish.terms.size
        is_same = before is not None and before.wish is wish and before.worker not in taken
        if is_same and before and self._rooms[before.worker].could_fit(demand, size):
            return before.worker
        free = [worker for worker in self._possible(wish.terms) if worker not in taken]
        return min(
            free, key=lambda worker: self._rooms[worker].missing(demand, size), default=None
        )


def _first(rooms: list[Room]) -> Room:
    return rooms[0]


def _emptiest(rooms: list[Room]) -> Room:
    return min(rooms, key=_load)


def _fullest(rooms: list[Room]) -> Room:
    return max(rooms, key=_load)


_load = attrgetter("load")
_BEST = {"Spread": _emptiest, "Pack": _fullest}
