"""Gangs: all of them go to one worker, or none does, whatever happens meanwhile."""

from typing import Any

import pytest

from jobferry.core.admission import HOLD_AFTER
from jobferry.core.gangs import Gangs
from jobferry.core.line import Wish
from jobferry.core.room import Amounts, Lack
from tests.unit.core.lines import CPU, NOW, YOUNG, admitted, confirm, crew, gangs, wish

ONE: Amounts = (("cpu", CPU),)


def three(size: int = 3, **terms: Any) -> list[Wish[Any]]:
    """Wishes of p1, p2 and p3, of which each is a little younger than the one before."""
    return [
        wish(f"p{n}", since=YOUNG + n, gang=crew(size), **{"placement": "Ordered", **terms})
        for n in (1, 2, 3)
    ]


def placed(worker: str = "a", **cpus: int) -> Gangs[Any]:
    """Three of a gang that are placed on a worker."""
    account = gangs(**(cpus or {"a": 3, "b": 3}))
    for each in three():
        account.note(each.workload, each.gang)
        account.place(each.workload, worker, ONE)
    return account


def where(account: Gangs[Any]) -> list[str | None]:
    return [account.reservation(f"p{n}") for n in (1, 2, 3)]


def held(account: Gangs[Any], workload: str = "p1") -> str:
    found = account.held(workload)
    assert found is not None
    return found.now


# All or none


def test_all_go_to_one_worker_that_has_room_for_all() -> None:
    account = gangs(*three(), a=2, b=3)

    assert sorted(admitted(account)) == [("p1", "b"), ("p2", "b"), ("p3", "b")]
    assert account.load("b") == 3


def test_none_goes_where_there_is_room_for_some_and_others_pass() -> None:
    account = gangs(*three(), wish("other"), a=2, b=2)

    assert admitted(account) == [("other", "a")]
    assert where(account) == [None] * 3
    assert account.lacks("p2")["b"] == Lack("amount", "cpu", 3 * CPU, 3)


def test_a_worker_counts_every_one_of_them_against_the_most_it_takes() -> None:
    account = gangs(*three(workers=("a",)))
    account.open("a", max_load=2)
    assert admitted(account) == []
    assert account.lacks("p1") == {"a": Lack("load", size=3)}

    account.open("a", max_load=3)
    assert len(admitted(account)) == 3
    account.want(wish("other", workers=("a",)))
    assert admitted(account) == []


def test_nothing_goes_before_all_are_there() -> None:
    account = gangs(*three()[:2], wish("other"), a=3)

    outcome = account.admit(NOW)

    assert [each.workload for each in outcome.admitted] == ["other"]
    assert sorted(outcome.waiting) == ["p1", "p2"]
    assert account.is_weighed("p1")
    assert held(account) == "it waits for 1 more pod of its group g (2 of 3 are there)"
    assert account.admit(NOW).waiting == []

    account.withdraw("other")
    account.want(three()[2])
    assert {name for name, _ in admitted(account)} == {"p1", "p2", "p3"}
    assert account.held("p1") is None


def test_one_that_is_there_but_cannot_go_yet_holds_the_others() -> None:
    """As one with another gate is."""
    account = gangs(*three()[:2], a=3)
    account.note("p3", crew(3))

    assert admitted(account) == []
    assert "1 pod of its group g that is there, but cannot go yet" in held(account)


def test_gangs_of_one_name_in_two_namespaces_are_two() -> None:
    account = gangs(a=9)
    for n, namespace in enumerate(("x", "y")):
        account.want(wish(f"p{n}", gang=crew(2)._replace(namespace=namespace)))

    assert admitted(account) == []


def test_only_workers_that_may_run_each_of_them_count() -> None:
    account = gangs(*three()[:2], wish("p3", gang=crew(3), workers=("b", "c")), a=3, b=3, c=3)

    assert {worker for _, worker in admitted(account)} == {"b"}


def test_what_two_of_them_have_in_common_may_be_nothing() -> None:
    account = gangs(*three(workers=("a",))[:2], wish("p3", gang=crew(3), workers=("b",)))
    account.open("a")
    account.open("b")

    assert admitted(account) == []
    assert account.lacks("p3") == {"b": Lack("apart")}


# Order


def test_a_gang_is_as_old_as_its_youngest() -> None:
    """Else one cheap pod, made early, would keep a place in line for many that come late."""
    account = gangs(*three(), wish("between", since=YOUNG + 2.5, cpu=2), a=3)

    assert admitted(account) == [("between", "a")]


def test_a_gang_is_as_urgent_as_its_least_urgent() -> None:
    members = [wish(f"p{n}", since=n, gang=crew(2), priority=9 * n) for n in (0, 1)]
    account = gangs(*members, wish("urgent", priority=5), a=2)

    assert admitted(account) == [("urgent", "a")]


def test_room_is_kept_for_a_gang_that_waited_too_long() -> None:
    account = gangs(a=3)
    account.place("runs", "a", ONE)
    for n in (1, 2, 3):
        account.want(wish(f"p{n}", since=NOW - HOLD_AFTER, gang=crew(3)))
    account.want(wish("small"))
    assert admitted(account) == []
    assert account.lacks("small") == {"a": Lack("kept")}

    account.remove("runs")
    assert len(admitted(account)) == 3


def test_it_says_of_each_where_in_line_its_gang_is() -> None:
    account = gangs(wish("first", cpu=9, since=1), *three(), a=2)
    account.admit(NOW)

    assert [account.turn(f"p{n}") for n in (1, 2, 3)] == [(2, 2)] * 3
    assert all(account.is_weighed(f"p{n}") for n in (1, 2, 3))
    assert all(account.has(f"p{n}") for n in (1, 2, 3))
    assert sorted(account.workloads()) == ["first", "p1", "p2", "p3"]


# Nonsense


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ((3, 4, 3), "do not agree how many they are: 3 or 4"),
        ((2, 2, 2), "has more pods than the 2 that it says: 3 are there"),
    ],
)
def test_a_gang_that_contradicts_itself_waits_and_blocks_nobody(
    sizes: tuple[int, ...], said: str
) -> None:
    members = [wish(f"p{n}", since=1, gang=crew(size)) for n, size in enumerate(sizes, 1)]
    account = gangs(*members, wish("other"), a=9)

    assert admitted(account) == [("other", "a")]
    assert said in held(account, "p2")


def test_those_of_a_gang_that_are_in_two_queues_wait() -> None:
    account = gangs(*three()[:2], wish("p3", gang=crew(3), queue="other"), a=9)

    assert admitted(account) == []
    assert "different queues" in held(account)


def test_one_more_than_there_should_be_does_not_move_those_that_run() -> None:
    account = placed(a=9, b=9)
    account.want(wish("p4", gang=crew(3)))

    assert admitted(account) == []
    assert "more pods" in held(account, "p4")

    for each in three(workers=("b",)):
        account.want(each)
    assert sorted(admitted(account)) == [("p1", "b"), ("p2", "b"), ("p3", "b")]


# Between reservation and placement


def test_each_has_an_ordinary_reservation_until_it_is_placed() -> None:
    account = gangs(*three(), a=3)
    made = account.admit(NOW).admitted
    assert where(account) == ["a"] * 3

    confirm(account, made[:1], ONE)
    assert where(account).count("a") == 2
    assert account.load("a") == 3
    confirm(account, made, ONE)

    assert where(account) == [None] * 3
    assert not any(account.has(f"p{n}") for n in (1, 2, 3))
    assert account.load("a") == 3
    assert admitted(account) == []


def test_one_that_is_deleted_before_any_is_placed_takes_the_reservations_of_all_along() -> None:
    account = gangs(*three(), a=3)
    account.admit(NOW)

    account.note("p2", None)

    assert where(account) == [None] * 3
    assert account.load("a") == 0
    assert admitted(account) == []
    assert "2 of 3" in held(account)


def test_one_that_is_deleted_after_another_was_placed_takes_none_along() -> None:
    account = gangs(*three(), a=3)
    account.admit(NOW)
    account.place("p1", "a", ONE)

    account.note("p2", None)

    assert where(account) == [None, None, "a"]


def test_one_that_is_held_by_another_gate_meanwhile_takes_the_reservations_back() -> None:
    account = gangs(*three(), a=3)
    account.admit(NOW)

    account.withdraw("p3")

    assert where(account) == [None] * 3
    account.want(three()[2])
    assert len(admitted(account)) == 3


def test_a_worker_that_closes_before_any_is_placed_is_left_for_another_by_all() -> None:
    account = gangs(*three(), a=3, b=3)
    account.admit(NOW)

    account.close("a")

    assert where(account) == [None] * 3
    assert account.load("a") == 0
    assert sorted(admitted(account)) == [("p1", "b"), ("p2", "b"), ("p3", "b")]


def test_a_worker_that_closes_after_one_was_placed_is_waited_for() -> None:
    account = gangs(*three(), a=3, b=3)
    account.admit(NOW)
    account.place("p1", "a", ONE)

    account.close("a")
    assert admitted(account) == []
    assert account.lacks("p2")["b"] == Lack("apart", where="a")

    account.open("a", capacity={"cpu": 3 * CPU})
    assert sorted(admitted(account)) == [("p2", "a"), ("p3", "a")]


def test_those_that_were_to_follow_one_to_a_worker_go_elsewhere_with_it() -> None:
    account = gangs(*three(), a=3, b=3)
    account.admit(NOW)
    account.place("p1", "a", ONE)
    account.close("a")

    account.want(three(workers=("b",))[0])  # it was never told of it, or is lost

    assert sorted(admitted(account)) == [("p1", "b"), ("p2", "b"), ("p3", "b")]


def test_one_that_may_not_go_where_all_were_to_go_has_all_go_elsewhere() -> None:
    account = gangs(*three(), a=3, b=3)
    account.admit(NOW)
    assert where(account) == ["a"] * 3

    account.want(three(workers=("b",))[1])

    assert where(account) == [None] * 3
    assert sorted(admitted(account)) == [("p1", "b"), ("p2", "b"), ("p3", "b")]


def test_a_wish_that_still_goes_with_a_reservation_keeps_it() -> None:
    account = gangs(*three(), a=3, b=3)
    account.admit(NOW)

    account.want(three(workers=("a",))[1])

    assert where(account) == ["a"] * 3


# Where some are already


def test_one_that_comes_in_place_of_another_goes_where_the_others_are() -> None:
    account = placed(a=3, b=9)
    account.remove("p2")
    account.note("p2", None)
    account.want(wish("p4", gang=crew(3)))

    assert admitted(account) == [("p4", "a")]


def test_it_waits_for_room_there_though_there_is_room_elsewhere() -> None:
    account = placed(a=3, b=9)
    account.remove("p2")
    account.note("p2", None)
    account.place("other", "a", ONE)
    account.want(wish("p4", gang=crew(3)))

    assert admitted(account) == []
    assert account.lacks("p4") == {
        "a": Lack("amount", "cpu", CPU),
        "b": Lack("apart", where="a"),
    }
    account.remove("other")
    assert admitted(account) == [("p4", "a")]


def test_those_that_are_left_after_a_crash_follow_the_one_that_was_placed() -> None:
    account = gangs(*three()[1:], a=3, b=9)
    account.note("p1", crew(3))
    account.place("p1", "a", ONE)

    assert sorted(admitted(account)) == [("p2", "a"), ("p3", "a")]


def test_one_that_has_ended_well_is_there_and_one_that_failed_is_not() -> None:
    account = gangs(*three()[:2], a=9)
    account.note("p3", crew(3), is_done=True)
    assert len(admitted(account)) == 2

    account = gangs(*three()[:2], a=9)
    account.note("p3", None)
    assert admitted(account) == []


def test_a_gang_that_has_ended_well_is_not_run_again_bit_by_bit() -> None:
    account = gangs(a=9)
    for n in (1, 2, 3):
        account.note(f"p{n}", crew(3), is_done=True)
    account.want(wish("again", gang=crew(3)))

    assert admitted(account) == []
    assert "more pods" in held(account, "again")


# Leaving


def test_all_leave_together_or_none_does() -> None:
    account = placed(a=3, b=2)
    for each in three(workers=("b",)):
        account.want(each)
    assert admitted(account) == []

    account.open("b", capacity={"cpu": 3 * CPU})
    assert sorted(admitted(account)) == [("p1", "b"), ("p2", "b"), ("p3", "b")]


def test_one_does_not_leave_those_that_stay() -> None:
    account = placed(a=3, b=9)
    account.want(three(workers=("b",))[0])

    assert admitted(account) == []
    assert account.is_weighed("p1")
    assert account.lacks("p1") == {"b": Lack("apart", where="a")}


def test_those_that_are_left_of_a_gang_may_leave_though_others_ended_or_were_deleted() -> None:
    account = placed(a=3, b=9)
    account.note("p1", crew(3), is_done=True)
    account.remove("p1")
    account.note("p2", None)
    account.remove("p2")
    account.want(three(workers=("b",))[2])

    assert admitted(account) == [("p3", "b")]


def test_one_that_is_new_goes_with_those_that_leave() -> None:
    account = placed(a=3, b=9)
    account.remove("p3")
    account.note("p3", None)
    account.want(wish("p4", gang=crew(3)))
    for each in three(workers=("b",))[:2]:
        account.want(each)

    assert sorted(admitted(account)) == [("p1", "b"), ("p2", "b"), ("p4", "b")]


def test_those_that_come_later_follow_the_ones_that_left_first() -> None:
    account = placed(a=3, b=3)
    for each in three(workers=("b",)):
        account.want(each)
    account.admit(NOW)
    account.place("p1", "b", ONE)

    assert where(account) == [None, "b", "b"]
    account.place("p2", "b", ONE)
    account.place("p3", "b", ONE)
    assert (account.load("a"), account.load("b")) == (0, 3)


# Coming and going


def test_one_that_leaves_its_gang_lines_up_alone() -> None:
    account = gangs(*three()[:2], a=9)
    assert admitted(account) == []

    account.want(wish("p1"))

    assert admitted(account) == [("p1", "a")]
    assert "1 of 3" in held(account, "p2")


def test_one_that_joins_a_gang_has_no_place_of_its_own_any_more() -> None:
    account = gangs(wish("p1"), a=9)
    assert admitted(account) == [("p1", "a")]

    account.want(wish("p1", gang=crew(2)))

    assert account.reservation("p1") is None
    assert account.load("a") == 0
    account.want(wish("p2", gang=crew(2)))
    assert len(admitted(account)) == 2


def test_nothing_is_left_of_a_gang_that_is_gone() -> None:
    account = gangs(*three(), a=9)
    account.admit(NOW)
    for n in (1, 2, 3):
        account.note(f"p{n}", None)

    assert account.load("a") == 0
    assert account.workloads() == []
    assert not account.has("p1")
    account.admit(NOW)
    assert not account.has_news


def test_who_acts_no_more_forgets_who_waits_but_not_who_is_there() -> None:
    account = gangs(*three(), a=9)
    account.admit(NOW)

    account.clear()

    assert (account.load("a"), account.workloads()) == (0, [])
    for each in three()[:2]:
        account.want(each)
    assert admitted(account) == []
    account.want(three()[2])
    assert len(admitted(account)) == 3
