"""One account of room and order: what is reserved, in which order, and that nothing starves."""

import pytest

from jobferry.core.admission import HOLD_AFTER
from jobferry.core.room import Lack
from tests.unit.core.lines import CPU, NOW, YOUNG, admitted, confirm, fleet, wish

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
    assert admission.turn("1") == (1, 2)
    assert admission.turn("2") == (2, 2)


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
