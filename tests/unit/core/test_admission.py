"""One account of room and order: what is reserved, in which order, and that nothing starves."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import count
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobferry.core.admission import HOLD_AFTER, Admission, Reservation
from jobferry.core.line import Place, Terms, Wish
from jobferry.core.room import Amounts, Lack

CPU = 10**9
NOW = 1_000_000.0
YOUNG = NOW - 10


def wish(
    name: str,
    *,
    since: float = YOUNG,
    queue: str = "q",
    priority: int = 0,
    cpu: int = 1,
    workers: tuple[str, ...] = ("a", "b"),
    placement: str = "Spread",
) -> Wish[Any]:
    terms = Terms(queue, workers, placement, (("cpu", cpu * CPU),))
    return Wish(name, Place(since, name), priority, terms)


def fleet(*wishes: Wish[Any], **cpus: int) -> Admission[Any]:
    admission = Admission[Any]()
    for worker, amount in cpus.items():
        admission.open(worker, capacity={"cpu": amount * CPU})
    for each in wishes:
        admission.want(each)
    return admission


def admitted(admission: Admission[Any], now: float = NOW) -> list[tuple[object, str]]:
    return [(each.workload, each.worker) for each in admission.admit(now).admitted]


def confirm(
    admission: Admission[Any], made: Iterable[Reservation[Any]], demand: Amounts
) -> None:
    for each in made:
        admission.place(each.workload, each.worker, demand)


# Order


def test_the_oldest_goes_first() -> None:
    admission = fleet(wish("new", since=2), wish("old", since=1), a=1)

    assert admitted(admission) == [("old", "a")]


def test_within_a_queue_priority_goes_before_age() -> None:
    admission = fleet(wish("old", since=1), wish("urgent", since=2, priority=5), a=1)

    assert admitted(admission) == [("urgent", "a")]


def test_a_priority_changes_nothing_for_other_queues() -> None:
    admission = fleet(
        wish("a-low", since=1),
        wish("b", since=3, queue="other"),
        wish("a-high", since=5, priority=9),
        a=3,
    )

    assert admitted(admission) == [("a-high", "a"), ("b", "a"), ("a-low", "a")]


def test_who_was_overtaken_within_its_queue_does_not_overtake_others() -> None:
    admission = fleet(wish("low", since=1), wish("high", since=5, priority=9), a=1)
    assert admitted(admission) == [("high", "a")]
    admission.want(wish("b", since=3, queue="other"))
    admission.open("a", capacity={"cpu": 2 * CPU})

    assert admitted(admission) == [("b", "a")]  # "high" took the place of "low" along


def test_one_that_goes_unadmitted_leaves_the_others_their_places() -> None:
    admission = fleet(
        wish("low", since=1),
        wish("high", since=5, priority=9),
        wish("b", since=3, queue="o"),
        a=0,
    )
    admission.withdraw("high")
    admission.open("a", capacity={"cpu": CPU})

    assert admitted(admission) == [("low", "a")]


def test_a_small_one_may_pass_a_large_one() -> None:
    admission = fleet(wish("large", since=YOUNG - 1, cpu=8), wish("small"), a=2)

    assert admitted(admission) == [("small", "a")]


def test_those_that_fit_nowhere_block_nobody() -> None:
    """Sixteen of them did, once."""
    tooth = [wish(f"large-{n}", since=n, cpu=100 + n) for n in range(100)]
    admission = fleet(*tooth, wish("small"), a=1, b=1)

    assert admitted(admission) == [("small", "a")]


@pytest.mark.parametrize(
    ("placement", "chosen"), [("Spread", "b"), ("Pack", "a"), ("Ordered", "c")]
)
def test_a_policy_decides_among_those_that_have_room(placement: str, chosen: str) -> None:
    admission = fleet(a=10, b=10, c=10)
    for name, worker in (("1", "a"), ("2", "a"), ("3", "c")):
        admission.place(name, worker, ())
    admission.want(wish("x", workers=("c", "b", "a"), placement=placement))

    assert admitted(admission) == [("x", chosen)]


# Room


def test_a_reservation_takes_room_until_it_is_placed_and_then_the_placement_does() -> None:
    admission = fleet(wish("first"), wish("second"), a=1)
    made = admission.admit(NOW).admitted
    assert admission.reservation("first") == "a"
    assert admitted(admission) == []

    confirm(admission, made, (("cpu", CPU),))
    assert admission.reservation("first") is None
    assert admission.load("a") == 1
    assert admitted(admission) == []

    admission.remove("first")
    assert admitted(admission) == [("second", "a")]


def test_as_many_leave_as_there_is_room_for_elsewhere() -> None:
    """A drain once stopped ten towards room for one."""
    admission = fleet(a=100, b=1)
    for n in range(10):
        admission.place(f"job-{n}", "a", (("cpu", CPU),))
        admission.want(wish(f"job-{n}", since=n, workers=("b",)))

    assert admitted(admission) == [("job-0", "b")]
    assert [admission.reservation(f"job-{n}") for n in range(1, 10)] == [None] * 9


def test_a_worker_that_closes_takes_back_what_was_reserved_there() -> None:
    admission = fleet(wish("x", workers=("a", "b"), placement="Ordered"), a=1, b=1)
    assert admitted(admission) == [("x", "a")]

    admission.close("a")

    assert admission.reservation("x") is None
    assert admission.load("a") == 0
    assert admitted(admission) == [("x", "b")]


def test_a_wish_that_changes_keeps_its_reservation_if_it_can() -> None:
    admission = fleet(wish("x", workers=("a", "b"), placement="Ordered"), a=1, b=1)
    admission.admit(NOW)

    admission.want(wish("x", workers=("a",)))
    assert admission.reservation("x") == "a"

    admission.want(wish("x", workers=("b",)))
    assert admission.reservation("x") is None
    assert admitted(admission) == [("x", "b")]


def test_a_worker_takes_no_more_workloads_than_it_says() -> None:
    admission = fleet(wish("1"), wish("2"), wish("3"))
    admission.open("a", max_load=2)

    assert len(admitted(admission)) == 2
    waiting = next(name for name in "123" if admission.reservation(name) is None)
    assert admission.lacks(waiting) == {"a": Lack("load")}


def test_it_says_why_not_and_how_many_come_before() -> None:
    admission = fleet(wish("1", cpu=3), wish("2", since=NOW - 1, cpu=3), a=2)
    admission.admit(NOW)

    assert admission.lacks("2") == {"a": Lack("amount", "cpu")}
    assert admission.ahead("2") == 1


def test_a_pass_tells_once_who_found_no_room() -> None:
    admission = fleet(wish("large", cpu=3), wish("small"), a=2)
    assert not admission.is_weighed("large")

    assert admission.admit(NOW).waiting == ["large"]
    assert admission.is_weighed("large")
    assert not admission.is_weighed("small")
    assert admission.admit(NOW).waiting == []


# Holding


def test_one_that_waited_too_long_has_room_kept_for_it() -> None:
    admission = fleet(a=4)
    for n in range(4):
        admission.place(n, "a", (("cpu", CPU),))
    admission.want(wish("large", since=NOW - HOLD_AFTER, cpu=4))
    admission.admit(NOW)
    for n in range(3):
        admission.remove(n)
        admission.want(wish(f"small-{n}"))
        assert admitted(admission) == []
    assert admission.lacks("small-0") == {"a": Lack("kept")}

    admission.remove(3)
    assert admitted(admission) == [("large", "a")]


def test_room_is_kept_on_one_worker_only() -> None:
    admission = fleet(a=4, b=4)
    for worker in "ab":
        admission.place(worker, worker, (("cpu", 2 * CPU),))
    admission.want(wish("large", since=NOW - HOLD_AFTER, cpu=4))
    admission.admit(NOW)
    admission.want(wish("small"))

    assert admitted(admission) == [("small", "b")]


def test_no_room_is_kept_for_what_never_fits() -> None:
    admission = fleet(wish("huge", since=NOW - 2 * HOLD_AFTER, cpu=40), a=1)
    admission.admit(NOW)
    admission.want(wish("small"))

    assert admitted(admission) == [("small", "a")]


def test_room_is_not_kept_from_those_who_come_first() -> None:
    admission = fleet(a=4)
    admission.place(0, "a", (("cpu", CPU),))
    admission.want(wish("large", since=NOW - HOLD_AFTER, cpu=4))
    admission.admit(NOW)
    admission.want(wish("older", since=NOW - HOLD_AFTER - 1, queue="other"))

    assert admitted(admission) == [("older", "a")]


def test_room_is_free_again_once_nobody_waits_for_it() -> None:
    admission = fleet(a=4)
    admission.place(0, "a", (("cpu", CPU),))
    admission.want(wish("large", since=NOW - HOLD_AFTER, cpu=4))
    admission.want(wish("small"))
    assert admitted(admission) == []

    admission.withdraw("large")

    assert admitted(admission) == [("small", "a")]


# Whatever happens

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
