"""Gangs beside others, whatever happens: room, all or none, one worker, and that nobody waits in vain."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from jobferry.core.admission import HOLD_AFTER
from jobferry.core.gangs import Gangs
from jobferry.core.kind import Gang
from jobferry.core.line import Wish
from tests.unit.core.lines import CPU, NOW, crew, gangs, wish

WORKERS = ("a", "b", "c")
SIZES = {"g": 2, "h": 3}
CREWS = {gang: tuple(f"{gang}{n}" for n in range(size)) for gang, size in SIZES.items()}
LONERS = ("x0", "x1", "x2")
NAMES = (*CREWS["g"], *CREWS["h"], *LONERS)


@dataclass
class Model:
    """The same account, kept the slow way."""

    account: Gangs[Any] = field(default_factory=Gangs)
    capacity: dict[str, int] = field(default_factory=dict)
    wishes: dict[str, Wish[Any]] = field(default_factory=dict)
    """Of those that wait, are to leave, or have a reservation."""

    reserved: dict[str, str] = field(default_factory=dict)
    placed: dict[str, tuple[str, int]] = field(default_factory=dict)
    """Where, and how much it needs there."""

    known: set[str] = field(default_factory=set)
    """Those that were made, and not deleted."""

    clock: Iterator[int] = field(default_factory=lambda: count(int(NOW)))

    def used(self, worker: str) -> int:
        here = [cpu for where, cpu in self.placed.values() if where == worker]
        reserved = [name for name, where in self.reserved.items() if where == worker]
        return sum(here) + sum(cpus(self.wishes[name]) for name in reserved)

    def mates(self, name: str) -> tuple[str, ...]:
        return CREWS.get(name[0], (name,))

    def staying(self, gang: str) -> set[str]:
        """Where those of a gang are that do not leave, or are about to be."""
        at = {self.reserved[each] for each in CREWS[gang] if each in self.reserved}
        stay = [each for each in CREWS[gang] if each in self.placed and each not in self.wishes]
        return at | {self.placed[each][0] for each in stay}

    def waiting(self) -> list[str]:
        return [name for name in self.wishes if name not in self.reserved]

    def admit(self, now: float) -> None:
        for gang in CREWS:
            self.reconsider(gang)
        before = {gang: self.staying(gang) for gang in CREWS}
        waiting, made = self.waiting(), self.account.admit(now).admitted
        for each in made:
            assert each.worker in self.capacity
            assert each.worker in self.wishes[each.workload].terms.workers
            assert each.workload in waiting
            self.reserved[each.workload] = each.worker
        for worker, amount in self.capacity.items():
            if worker in {each.worker for each in made}:
                assert self.used(worker) <= amount
        went = {each.workload for each in made}
        for gang, members in CREWS.items():
            self.check_gang(gang, before[gang], went & {*members})

    def reconsider(self, gang: str) -> None:
        """Forget the reservations of a gang of which nothing is placed, and some do not want to go."""
        members = CREWS[gang]
        is_new = not any(each in self.placed for each in members)
        if is_new and not all(each in self.wishes for each in members):
            for each in members:
                self.reserved.pop(each, None)

    def check_gang(self, gang: str, before: set[str], went: set[str]) -> None:
        """All that wait go, or none; to one worker, which is where others are."""
        if not went:
            return
        (worker,) = {self.reserved[each] for each in went}
        members = CREWS[gang]
        if before:
            assert before == {worker}
        elif any(each in self.placed for each in members):
            assert went == {each for each in members if each in self.wishes}
        else:
            assert went == {*members}

    def check(self) -> None:
        for name in WORKERS:
            load = sum(where == name for where, _ in self.placed.values())
            reserved = sum(where == name for where in self.reserved.values())
            assert self.account.load(name) == load + reserved
        for name in NAMES:
            assert self.account.reservation(name) == self.reserved.get(name)
            assert self.account.has(name) == (name in self.wishes)
        assert {*self.account.workloads()} == self.wishes.keys()
        for gang in CREWS:
            assert len(self.staying(gang)) <= 1

    # What happens

    def want(self, name: str, size: int, worker: str) -> None:
        """Let one wait, or leave the worker that it is on."""
        if name in self.wishes:
            return
        self.known.add(name)
        there = self.placed.get(name)
        self.wishes[name] = wish(
            name,
            since=float(next(self.clock)),
            cpu=there[1] if there else size,
            workers=tuple(each for each in WORKERS if not there or each != there[0])[:size],
            gang=gang_of(name),
        )
        self.account.want(self.wishes[name])

    def place(self, name: str, size: int, worker: str) -> None:
        if name in self.reserved:
            where, cpu = self.reserved.pop(name), cpus(self.wishes.pop(name))
            self.placed[name] = where, cpu
            self.account.place(name, where, (("cpu", cpu * CPU),))

    def rally(self, name: str, size: int, worker: str) -> None:
        """Let all of a gang wait, or leave."""
        for each in self.mates(name):
            self.want(each, size, worker)

    def settle(self, name: str, size: int, worker: str) -> None:
        """Place all of a gang that have a reservation."""
        for each in self.mates(name):
            self.place(each, size, worker)

    def end(self, name: str, size: int, worker: str) -> None:
        """Have one deleted, wherever it is."""
        self.known.discard(name)
        self.give_up(name)
        if self.placed.pop(name, None):
            self.account.remove(name)
        self.account.note(name, None)
        self.account.withdraw(name)

    def withdraw(self, name: str, size: int, worker: str) -> None:
        """Let one wait no more, or stay; unless others have gone ahead."""
        if self.account.follows(name):
            return
        self.give_up(name)
        self.account.withdraw(name)

    def give_up(self, name: str) -> None:
        """Forget a wish; and the reservations of a gang, if none of it has been placed there."""
        self.wishes.pop(name, None)
        where = self.reserved.pop(name, None)
        mates = [each for each in self.mates(name) if each != name]
        there = [each for each in mates if each in self.placed and each not in self.wishes]
        if where and not any(self.placed[each][0] == where for each in there):
            for each in mates:
                self.reserved.pop(each, None)

    def open(self, name: str, size: int, worker: str) -> None:
        self.capacity[worker] = size * 2
        self.account.open(worker, capacity={"cpu": size * 2 * CPU})

    def close(self, name: str, size: int, worker: str) -> None:
        self.capacity.pop(worker, None)
        self.account.close(worker)
        self.reserved = {key: where for key, where in self.reserved.items() if where != worker}


def gang_of(name: str) -> Gang | None:
    return crew(SIZES[name[0]], name[0]) if name[0] in SIZES else None


def cpus(wanted: Wish[Any]) -> int:
    return wanted.terms.demand[0][1] // CPU


ACTIONS = ("rally", "rally", "settle", "want", "place", "end", "close", "open", "withdraw")

moves = st.lists(
    st.tuples(
        st.sampled_from(ACTIONS),
        st.sampled_from(NAMES),
        st.integers(1, 3),
        st.sampled_from(WORKERS),
    ),
    min_size=8,
    max_size=40,
)


@given(moves)
@settings(max_examples=400, deadline=None)
def test_room_is_never_exceeded_and_a_gang_is_never_apart(
    history: list[tuple[str, str, int, str]],
) -> None:
    model = Model()
    for worker in WORKERS:
        model.open("", 3, worker)
    for action, name, size, worker in history:
        getattr(model, action)(name, size, worker)
        model.admit(NOW + 10 * HOLD_AFTER * (size % 2))
        model.check()
    model.admit(NOW)  # nobody is overdue: nothing is kept
    for name in model.waiting():
        _finds_no_room(model, name)
    _is_as_if_new(model)


def _finds_no_room(model: Model, name: str) -> None:
    """Nobody waits in vain: whoever could go, with all that go along, finds no room."""
    gang = name[0] if name[0] in CREWS else ""
    together = [each for each in model.mates(name) if each in model.waiting()]
    anchors: set[str] = model.staying(gang) if gang else set()
    is_leaving = any(each in model.placed for each in together)
    if gang and not anchors and not is_leaving and len(together) < SIZES[gang]:
        assert model.account.held(name) is not None
        return
    if anchors:
        together = [
            each
            for each in together
            if each not in model.placed or anchors & {*model.wishes[each].terms.workers}
        ]
    able = set.intersection(
        *({*model.wishes[each].terms.workers} for each in together), {*WORKERS}
    )
    need = sum(cpus(model.wishes[each]) for each in together)
    for worker in (able & anchors if anchors else able) if together else ():
        if worker in model.capacity:
            assert model.used(worker) + need > model.capacity[worker]


def _is_as_if_new(model: Model) -> None:
    """An account that begins anew, with what is placed and what waits, comes to the same or to more."""
    fresh = gangs()
    for worker, amount in model.capacity.items():
        fresh.open(worker, capacity={"cpu": amount * CPU})
    for name in model.known:
        fresh.note(name, gang_of(name))
    for name, (worker, cpu) in model.placed.items():
        fresh.place(name, worker, (("cpu", cpu * CPU),))
    for each in model.wishes.values():
        fresh.want(each)
    fresh.admit(NOW)
    for name in model.waiting():
        assert fresh.held(name) == model.account.held(name) or fresh.reservation(name)
