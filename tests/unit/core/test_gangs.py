"""Gangs: all of them go to one worker, or none does, in their turn."""

import pytest

from jobferry.core.admission import HOLD_AFTER
from jobferry.core.room import Lack
from tests.unit.core.crews import ONE, held, placed, three, where
from tests.unit.core.lines import CPU, NOW, YOUNG, admitted, crew, gangs, wish

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
