"""One account of room and order, whatever happens: room, order, and that nothing starves."""

from dataclasses import dataclass, field
from itertools import count
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from jobferry.core.admission import HOLD_AFTER, Admission
from jobferry.core.line import Wish
from tests.unit.core.lines import CPU, NOW, admitted, fleet, wish

WORKERS = ("a", "b", "c")
QUEUES = ("p", "q")


@dataclass
class Model:
    """The same account, kept the slow way."""

    admission: Admission[Any] = field(default_factory=Admission)
    capacity: dict[str, int] = field(default_factory=dict)
    waiting: dict[str, Wish[Any]] = field(default_factory=dict)
    taken: dict[str, tuple[str, Wish[Any]]] = field(default_factory=dict)
    """Reserved or placed: where, and by which wish."""

    placed: set[str] = field(default_factory=set)

    def used(self, worker: str) -> int:
        return sum(
            wish.terms.demand[0][1] for where, wish in self.taken.values() if where == worker
        )

    def admit(self, now: float) -> None:
        for made in self.admission.admit(now).admitted:
            name = str(made.workload)
            assert made.worker in self.capacity  # it is open
            assert made.worker in self.waiting[name].terms.workers
            self.taken[name] = made.worker, self.waiting.pop(name)
            assert self.used(made.worker) <= self.capacity[made.worker]

    def check(self) -> None:
        for name in WORKERS:
            load = sum(where == name for where, _ in self.taken.values())
            assert self.admission.load(name) == load
        for name in self.waiting:
            assert self.admission.reservation(name) is None
        for name, (worker, _) in self.taken.items():
            assert self.admission.reservation(name) == (None if name in self.placed else worker)


moves = st.lists(
    st.tuples(
        st.sampled_from(["want", "want", "want", "place", "end", "close", "open", "withdraw"]),
        st.integers(0, 30),
        st.integers(1, 4),
        st.sampled_from(WORKERS),
        st.integers(0, 2),
    ),
    max_size=60,
)


@given(moves)
@settings(max_examples=300, deadline=None)
def test_room_is_never_exceeded_and_the_account_is_right(
    history: list[tuple[str, int, int, str, int]],
) -> None:
    model, clock = Model(), count(int(NOW))
    for action, number, size, worker, priority in history:
        _play(model, action, f"w{number}", size, worker, priority, since=float(next(clock)))
        model.admit(NOW + 10 * HOLD_AFTER * (number % 2))
        model.check()
    _nobody_waits_in_vain(model)


def _play(
    model: Model, action: str, name: str, size: int, worker: str, priority: int, *, since: float
) -> None:
    admission = model.admission
    if action == "want" and name not in model.taken:
        queue = QUEUES[size % 2]
        workers = WORKERS[: 1 + priority]
        model.waiting[name] = wish(
            name, since=since, queue=queue, priority=priority, cpu=size, workers=workers
        )
        admission.want(model.waiting[name])
    elif action == "place" and name in model.taken:
        where, wanted = model.taken[name]
        model.placed.add(name)
        admission.place(name, where, wanted.terms.demand)
    elif action == "end" and name in model.placed:
        model.placed.discard(name)
        del model.taken[name]
        admission.remove(name)
    elif action == "withdraw" and name not in model.placed:
        model.waiting.pop(name, None)
        model.taken.pop(name, None)
        admission.withdraw(name)
    elif action == "open":
        model.capacity[worker] = size * 2 * CPU
        admission.open(worker, capacity={"cpu": size * 2 * CPU})
    elif action == "close":
        model.capacity.pop(worker, None)
        admission.close(worker)
        for each, (where, wanted) in list(model.taken.items()):
            if where == worker and each not in model.placed:
                model.waiting[each] = wanted
                del model.taken[each]


def _nobody_waits_in_vain(model: Model) -> None:
    """Whoever waits finds no room, but for what is kept for one who comes before it."""
    model.admit(NOW)  # nobody is overdue: nothing is kept
    for waiting in model.waiting.values():
        for worker in waiting.terms.workers:
            if worker in model.capacity:
                need = waiting.terms.demand[0][1]
                assert model.used(worker) + need > model.capacity[worker]


@given(
    st.lists(st.tuples(st.integers(1, 4), st.integers(0, 2)), max_size=25), st.integers(1, 8)
)
@settings(max_examples=200, deadline=None)
def test_of_equals_the_one_in_front_goes_first(sizes: list[tuple[int, int]], room: int) -> None:
    wishes = [
        wish(f"w{n}", since=NOW + n, cpu=cpu, priority=priority, workers=("a",))
        for n, (cpu, priority) in enumerate(sizes)
    ]
    gone = {name for name, _ in admitted(fleet(*wishes, a=room))}

    for waiting in (each for each in wishes if each.workload not in gone):
        behind = (each for each in wishes if each.rank > waiting.rank)
        assert not any(each.terms == waiting.terms and each.workload in gone for each in behind)


@given(st.integers(0, 2**32))
@settings(max_examples=100, deadline=None)
def test_nothing_starves(seed: int) -> None:
    """Small ones come for ever; a large one that needs all of a worker gets it within the bound."""
    random, longest, pause = Random(seed), 60.0, 10.0
    admission, now, numbers = fleet(a=4, b=4), NOW, count()
    ends: dict[object, float] = {}
    sizes: dict[object, int] = {"large": 4}
    admission.want(wish("large", since=now, cpu=4))
    while "large" not in ends:
        now += pause
        for name in [each for each, end in ends.items() if end <= now]:
            del ends[name]
            admission.remove(name)
        for _ in range(random.randint(1, 4)):
            name = f"small-{next(numbers)}"
            sizes[name] = random.randint(1, 3)
            admission.want(wish(name, since=now, cpu=sizes[name]))
        for made in admission.admit(now).admitted:
            admission.place(made.workload, made.worker, (("cpu", sizes[made.workload] * CPU),))
            ends[made.workload] = now + random.uniform(1.0, longest)
        assert now - NOW <= HOLD_AFTER + longest + 2 * pause
