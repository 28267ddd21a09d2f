"""Gangs: workloads that go to one worker together, all or none. They line up as one, and are admitted as many.

One of a gang stands in line for all that are to go: with what they need together, for the workers that may run each of them.
It is as old as the youngest, for none could have gone before that came, and as urgent as the least urgent. Once it is
admitted, each has a reservation of its own on the same worker; from then on they are placed as any workload is.

Nothing of a gang goes before all of it is there. Once some of it is placed, that is where the others go, and no worker
else; how many there should be is not asked any more, since some may have ended, or been deleted, meanwhile. If
all that is placed is to leave, they line up again, for a place in common; once some have left for it, all have to.
"""

from collections.abc import Iterable, Mapping
from typing import Generic

from jobferry.clock import Seconds
from jobferry.core.admission import Admission, Outcome, Reservation
from jobferry.core.kind import Gang
from jobferry.core.line import Held, W, Wish
from jobferry.core.members import Members, Stand, combined
from jobferry.core.room import Amounts, Lack, total

Name = tuple[str, str]
"""Namespace and name of a gang."""


class Gangs(Generic[W]):
    """Keeps the account of order and room, as `Admission` does, with gangs in it; of others it adds nothing."""

    def __init__(self) -> None:
        self._line = Admission[W]()
        self._gangs: dict[Name, Members[W]] = {}
        self._of: dict[W, Name] = {}
        self._changed: dict[Name, None] = {}
        """Those whose line-up may be another by now."""

    # What changes

    def open(
        self,
        worker: str,
        *,
        max_load: int | None = None,
        capacity: Mapping[str, int] | None = None,
    ) -> None:
        """Take note that a worker takes work, and how much."""
        self._line.open(worker, max_load=max_load, capacity=capacity)

    def close(self, worker: str) -> None:
        """Take note that a worker takes no new work; who was to go there waits again."""
        for name, members in self._gangs.items():
            if worker in {self._line.reservation(each) for each in members.wishes}:
                self._cancel(name, worker)
        self._line.close(worker)

    def note(self, workload: W, gang: Gang | None, *, is_done: bool = False) -> bool:
        """Take note which gang a workload is of, and tell whether there is one, or was.

        None: it is of none, or counts no more, as it failed or is gone.
        """
        name = self._of.get(workload)
        if gang is None and name is None:
            return False  # as of most
        if name is not None and (gang is None or gang[:2] != name):
            self._part(workload, name)
        if gang is not None:
            self._join(workload, gang, is_done)
        return True

    def place(self, workload: W, worker: str, demand: Amounts) -> None:
        """Take note where a workload is placed, by the word of the hub, and what it needs there."""
        if (name := self._of.get(workload)) is not None:
            if self._line.reservation(workload) == worker:
                self._gangs[name].wishes.pop(workload, None)
            self._changed[name] = None
        self._line.place(workload, worker, demand)

    def remove(self, workload: W) -> None:
        """Take note that a workload is placed nowhere, or has ended."""
        if (name := self._of.get(workload)) is not None:
            self._changed[name] = None
        self._line.remove(workload)

    def want(self, wish: Wish[W]) -> None:
        """Take note that a workload wants a worker, or wants another than before."""
        workload = wish.workload
        self.note(workload, wish.gang)
        name = self._of.get(workload)
        if name is None:
            self._line.want(wish)
            return
        members = self._gangs[name]
        if (known := members.wishes.get(workload)) == wish:
            return
        members.wishes[workload] = wish
        worker = self._line.reservation(workload)
        if worker is not None and known is not None:
            if worker in wish.terms.workers and wish.terms.demand == known.terms.demand:
                self._line.want(wish)  # which keeps it
                return
            self._give_up(name, workload, worker)
        if workload in members.lined_up:
            self._stand_down(members)
        members.fresh.add(workload)
        self._changed[name] = None

    def withdraw(self, workload: W) -> None:
        """Take note that a workload wants no worker any more."""
        name = self._of.get(workload)
        if name is None:
            self._line.withdraw(workload)
            return
        members = self._gangs[name]
        if members.wishes.pop(workload, None) is None:
            return
        if workload in members.lined_up:
            self._stand_down(members)
        members.fresh.discard(workload)
        worker = self._line.reservation(workload)
        if worker is not None:
            self._give_up(name, workload, worker)
        self._changed[name] = None

    def clear(self) -> None:
        """Forget who wants what."""
        self._line.clear()
        for name, members in self._gangs.items():
            members.wishes.clear()
            members.fresh.clear()
            members.lined_up, members.held = {}, None
            self._changed[name] = None

    # What follows

    def admit(self, now: Seconds) -> Outcome[W]:
        """Reserve what there is room for, in the order of the line; return what is new."""
        told = self.gather()
        outcome = self._line.admit(now)
        if not self._of:
            return outcome
        made: list[Reservation[W]] = []
        for each in outcome.admitted:
            made += self._split(each)
        waiting = [each for first in outcome.waiting for each in self._with(first)]
        return Outcome(made, list(dict.fromkeys((*waiting, *told))))

    def gather(self) -> list[W]:
        """Have those line up, for a pass, that can go together; return who is to be told that it does not."""
        changed, self._changed = self._changed, {}
        for name in changed:
            self._reconsider(name)
        self._changed.clear()
        return [each for name in changed for each in self._line_up(self._gangs[name])]

    def are_mates(self, one: W, other: W) -> bool:
        """Tell whether two workloads are of one gang."""
        name = self._of.get(one)
        return name is not None and name == self._of.get(other)

    def reservation(self, workload: W) -> str | None:
        """Return the worker where a workload may be placed now."""
        return self._line.reservation(workload)

    def has(self, workload: W) -> bool:
        """Tell whether a workload waits, or may be placed."""
        members = self._members(workload)
        return self._line.has(workload) if members is None else workload in members.wishes

    def workloads(self) -> list[W]:
        """Name all who wait, or may be placed."""
        ganged = [each for members in self._gangs.values() for each in members.wishes]
        return list(dict.fromkeys((*self._line.workloads(), *ganged)))

    @property
    def has_news(self) -> bool:
        """Whether a pass may come to anything."""
        return bool(self._changed) or self._line.has_news

    def load(self, worker: str) -> int:
        """Return how many workloads a worker has, or is about to get."""
        return self._line.load(worker)

    def is_weighed(self, workload: W) -> bool:
        """Tell whether a pass has come to a workload, and there was no room for it or for its gang."""
        members = self._members(workload)
        if members is None:
            return self._line.is_weighed(workload)
        if workload not in members.wishes or self._line.reservation(workload) is not None:
            return False
        if workload in members.lined_up:
            return self._line.is_weighed(members.first)
        return workload not in members.fresh

    def lacks(self, workload: W) -> dict[str, Lack]:
        """Say of each worker that could take a workload that waits why it does not."""
        members = self._members(workload)
        if members is None:
            return self._line.lacks(workload)
        wish = members.wishes.get(workload)
        if wish is None or self._line.reservation(workload) is not None:
            return {}
        apart = Lack("apart", where=", ".join(sorted(self._stand(members).anchors)))
        found = dict.fromkeys(wish.terms.workers, apart)
        if workload in members.lined_up:
            demand = dict(total(members.wishes[each].terms.demand for each in members.lined_up))
            size = len(members.lined_up)
            for worker, lack in self._line.lacks(members.first).items():
                needed = demand.get(lack.resource, 0)
                found[worker] = lack._replace(together=needed, size=size)
        return found

    def held(self, workload: W) -> Held | None:
        """Say why a workload is not in line that waits for its gang; None: it is, or has a place."""
        members = self._members(workload)
        if members is None or workload in members.lined_up:
            return None
        wish, line = members.wishes.get(workload), self._line
        if wish is None or not wish.terms.workers:
            return None  # no worker may run it, however many they are
        is_nowhere = line.worker(workload) is None and line.reservation(workload) is None
        return members.held if is_nowhere else None

    def follows(self, workload: W) -> bool:
        """Tell whether a workload has to leave its worker, whatever happens there: some of its gang have gone ahead."""
        members, here = self._members(workload), self._line.worker(workload)
        if members is None or here is None or workload not in members.wishes:
            return False
        there = {
            self._line.worker(each) for each in members.sizes if each not in members.wishes
        }
        return not there <= {here, None}

    def turn(self, workload: W) -> tuple[int, int] | None:
        """Return which of its queue a workload is that waits, and of how many; the first is 1. A gang counts as one."""
        members = self._members(workload)
        if members is None:
            return self._line.turn(workload)
        return self._line.turn(members.first) if workload in members.lined_up else None

    # Who belongs together

    def _members(self, workload: W) -> Members[W] | None:
        name = self._of.get(workload)
        return None if name is None else self._gangs[name]

    def _with(self, workload: W) -> Iterable[W]:
        """Return those that a workload stands in line for."""
        members = self._members(workload)
        return (workload,) if members is None else members.lined_up

    def _join(self, workload: W, gang: Gang, is_done: bool) -> None:
        name = (gang.namespace, gang.name)
        members = self._gangs.get(name)
        if members is None:
            members = self._gangs[name] = Members(gang.name)
        if name != self._of.get(workload):
            self._line.withdraw(workload)  # from now on it lines up with the others
            self._of[workload] = name
            self._changed[name] = None
        size = None if is_done else gang.size
        if (workload in members.done, members.sizes.get(workload)) == (is_done, size):
            return
        self._changed[name] = None
        members.sizes.pop(workload, None)
        members.done.discard(workload)
        if is_done:
            self.withdraw(workload)
            members.done.add(workload)
        else:
            members.sizes[workload] = gang.size

    def _part(self, workload: W, name: Name) -> None:
        self.withdraw(workload)
        members = self._gangs[name]
        members.sizes.pop(workload, None)
        members.done.discard(workload)
        del self._of[workload]
        self._changed[name] = None
        if not members:
            del self._gangs[name], self._changed[name]

    # Lining up

    def _line_up(self, members: Members[W]) -> list[W]:
        """Have those stand in line that can go together; return who is to be told that it does not."""
        stand = self._stand(members)
        before, members.held = members.held, members.objection(stand)
        going = members.going(stand)
        if going:
            together = combined([members.wishes[each] for each in going], stand.anchors)
            first = together.workload
            if members.lined_up and members.first != first:
                self._stand_down(members)
            members.lined_up = dict.fromkeys((first, *going))
            self._line.want(together)
        else:
            self._stand_down(members)
        is_news = members.held is not None and (
            before is None or before.why != members.held.why
        )
        waiting = (*stand.new, *stand.leaving)
        idle = [each for each in waiting if each not in members.lined_up]
        told = [each for each in idle if is_news or each in members.fresh]
        members.fresh.clear()
        return told

    def _stand(self, members: Members[W]) -> Stand[W]:
        line, wishes = self._line, members.wishes
        anchors = {
            line.reservation(each) if each in wishes else line.worker(each)
            for each in members.sizes
        }
        waiting = sorted(
            (each for each in wishes if line.reservation(each) is None),
            key=lambda each: wishes[each].own,
        )
        return Stand(
            [each for each in waiting if line.worker(each) is None],
            [each for each in waiting if line.worker(each) is not None],
            frozenset(each for each in anchors if each is not None),
        )

    def _stand_down(self, members: Members[W]) -> None:
        """Leave the line: it is to be seen anew who goes."""
        if members.lined_up:
            self._line.withdraw(members.first)
            members.fresh.update(members.lined_up)
            members.lined_up = {}

    # Being admitted

    def _split(self, made: Reservation[W]) -> list[Reservation[W]]:
        """Give each of a gang its own part of what was reserved for all."""
        members = self._members(made.workload)
        if members is None:
            return [made]
        going, members.lined_up = members.lined_up, {}
        return self._line.split(made.workload, [members.wishes[each] for each in going])

    def _reconsider(self, name: Name) -> None:
        """Take back what is reserved for some of a gang that could not line up any more, and is placed nowhere."""
        members = self._gangs[name]
        for worker in {self._line.reservation(each) for each in members.wishes} - {None}:
            is_new = all(self._line.worker(each) is None for each in members.sizes)
            new = [*members.wishes]
            if worker and is_new and members.objection(Stand(new, [], frozenset())):
                self._cancel(name, worker)

    def _give_up(self, name: Name, workload: W, worker: str) -> None:
        """Take back what is reserved for one; and for all, unless some are there already."""
        self._line.withdraw(workload)
        if not self._is_begun(self._gangs[name], worker):
            self._cancel(name, worker)

    def _is_begun(self, members: Members[W], worker: str) -> bool:
        """Tell whether some of a gang are on a worker, and stay there."""
        return any(
            self._line.worker(each) == worker and each not in members.wishes
            for each in members.sizes
        )

    def _cancel(self, name: Name, worker: str) -> None:
        members = self._gangs[name]
        for each in members.wishes:
            if self._line.reservation(each) == worker:
                self._line.withdraw(each)
                members.fresh.add(each)
        self._changed[name] = None
