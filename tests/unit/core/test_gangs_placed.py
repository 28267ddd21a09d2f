"""Gangs of which some have a place already: the others follow them, or all go elsewhere."""

from jobferry.core.room import Lack
from tests.unit.core.crews import ONE, held, placed, three, where
from tests.unit.core.lines import CPU, NOW, admitted, confirm, crew, gangs, wish

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


def test_the_rest_has_no_place_any_more_once_all_that_were_placed_are_deleted() -> None:
    account = gangs(*three(), a=3)
    account.admit(NOW)
    account.place("p1", "a", ONE)
    account.withdraw("p2")
    assert where(account) == [None, None, "a"]

    account.remove("p1")
    account.note("p1", None)

    assert admitted(account) == []
    assert where(account) == [None] * 3
    assert "2 of 3" in held(account, "p3")


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


def test_those_that_a_crash_left_behind_follow_the_ones_that_have_left() -> None:
    account = placed(a=3, b=3)
    account.place("p1", "b", ONE)
    for each in three(workers=("b",))[1:]:
        account.want(each)

    assert sorted(admitted(account)) == [("p2", "b"), ("p3", "b")]


def test_once_some_have_left_all_have_to() -> None:
    account = placed(a=3, b=3)
    for each in three(workers=("b",)):
        account.want(each)
    account.admit(NOW)
    assert not any(account.follows(f"p{n}") for n in (1, 2, 3))

    account.place("p1", "b", ONE)

    assert [account.follows(f"p{n}") for n in (1, 2, 3)] == [False, True, True]
    assert not account.follows("another")


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
