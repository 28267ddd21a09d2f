from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

import pytest

from jobferry.kube.cache import Change
from jobferry.kube.items import Item
from jobferry.workers.cluster import Cluster
from jobferry.workers.link import State
from jobferry.workers.resource import WorkerHead
from jobferry.workers.roster import Roster, is_news
from tests.unit.workers.heads import leaving, worker

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def up(cluster: str = "") -> State:
    return State(is_up=True, reason="Connected", message="Connected.", cluster=Cluster(cluster))


def lost(minutes: float = 1) -> State:
    return State(reason="Unreachable", lost_since=NOW - timedelta(minutes=minutes))


class Told:
    """A roster, and of whom it tells."""

    def __init__(self) -> None:
        self.roster = Roster()

    def update(
        self, items: list[Item[WorkerHead]], states: dict[str, State], now: datetime = NOW
    ) -> list[str]:
        """Return of whom it tells now."""
        return sorted(turn.name for turn in self.roster.update(items, states, now))


@pytest.fixture
def told() -> Told:
    return Told()


def test_a_worker_is_told_of_when_it_comes_changes_or_goes(told: Told) -> None:
    states = {"a": up("x")}

    assert told.update([worker("a"), worker("b")], states) == ["a", "b"]
    assert told.update([worker("a"), worker("b")], states) == []
    assert told.update([worker("a"), worker("b", drain="MoveAway")], states) == ["b"]
    assert told.update([worker("b", drain="MoveAway")], {"a": lost()}) == ["a"]
    assert list(told.roster.views) == ["b"]


def test_what_placement_does_not_care_about_is_not_told(told: Told) -> None:
    warned = State(
        is_up=True, reason="RenewalFailed", message="old", cluster=Cluster("x", "v1")
    )
    told.update([worker("a")], {"a": up("x")})

    assert told.update([worker("a", status={"mirrors": 7})], {"a": warned}) == []


@pytest.mark.parametrize("spec", [{"namespaces": {"create": True}}, {"maxMirrors": 3}])
def test_what_a_worker_takes_is_told(told: Told, spec: dict[str, Any]) -> None:
    told.update([worker("a")], {})

    assert told.update([worker("a", **spec)], {}) == ["a"]


@pytest.mark.parametrize("amount", ["1e1500", "lots"])
def test_a_worker_whose_capacity_makes_no_sense_takes_nothing_and_disturbs_nobody(
    told: Told, amount: str
) -> None:
    nonsense = worker("a", capacity={"cpu": amount})

    assert told.update([nonsense, worker("b")], {"a": up("x"), "b": up("y")}) == ["a", "b"]
    assert "its capacity makes no sense" in str(told.roster.views["a"].refuses)
    assert told.roster.views["a"].capacity == {}
    assert told.roster.views["b"].refuses is None


DEAF = replace(up("x"), reason="Silent", silent_since=NOW)


@pytest.mark.parametrize(
    ("spec", "state", "is_silence", "is_for_others"),
    [
        ({}, DEAF, True, False),
        ({}, lost(), False, False),
        ({"maxMirrors": 3}, up("x"), False, False),
        ({"maxMirrors": 3}, DEAF, False, False),
        ({"namespaces": {"create": True}}, up("x"), False, False),
        ({"namespaces": {"deny": ["web"]}}, up("x"), False, True),
        ({}, replace(up("x"), watched={"Job.batch": frozenset({"ml"})}), False, True),
        ({}, replace(up("x"), watched={"Job.batch": None}), False, True),
    ],
)
def test_a_turn_says_whether_it_is_only_silence_and_whether_others_may_go_there(
    spec: dict[str, Any], state: State, is_silence: bool, is_for_others: bool
) -> None:
    roster = Roster()
    roster.update([worker("a")], {"a": up("x")}, NOW)

    (there,) = roster.update([worker("a", **spec)], {"a": state}, NOW)
    (back,) = roster.update([worker("a")], {"a": up("x")}, NOW)

    assert (there.is_silence, there.is_for_others) == (is_silence, is_for_others)
    assert (back.is_silence, back.is_for_others) == (is_silence, is_for_others)


def test_a_worker_that_comes_or_goes_is_more_than_silence() -> None:
    roster = Roster()

    (come,) = roster.update([worker("a")], {}, NOW)
    (gone,) = roster.update([], {}, NOW)

    assert (come.is_silence, come.is_for_others) == (False, True)
    assert (gone.is_silence, gone.is_for_others) == (False, True)


def test_a_worker_that_is_being_removed_takes_nothing_new(told: Told) -> None:
    told.update([leaving("a")], {"a": up("x")})

    seen = told.roster.views["a"]
    assert (seen.is_being_removed, seen.refuses) == (True, "it is being removed")


def test_a_worker_that_is_silent_is_not_up_but_neither_lost(told: Told) -> None:
    told.update([worker("a")], {"a": up("x")})

    changed = told.update([worker("a")], {"a": replace(up("x"), silent_since=NOW)})

    seen = told.roster.views["a"]
    assert changed == ["a"]
    assert (seen.is_up, seen.silent_since, seen.lost_since) == (False, NOW, None)


class TestClusters:
    SAME: ClassVar = {"a": up("x"), "b": up("x"), "c": up("x")}

    def test_only_the_oldest_worker_of_a_cluster_takes_work(self, told: Told) -> None:
        told.update([worker("a", age=1), worker("b", age=2), worker("c")], self.SAME)

        assert told.roster.twins == {"a": "b", "c": "b"}
        assert told.roster.views["b"].refuses is None
        assert told.roster.views["a"].refuses == "it is the same cluster as Worker b"
        assert told.roster.views["a"].is_up

    def test_those_that_share_it_all_take_work(self, told: Told) -> None:
        shared = [worker("a", age=2, sharedCluster=True), worker("b", sharedCluster=True)]
        told.update([*shared, worker("c", age=1)], self.SAME)

        assert told.roster.twins == {"c": "a"}

    def test_nobody_shares_the_cluster_of_one_that_does_not(self, told: Told) -> None:
        shared = [worker("a", sharedCluster=True), worker("b", sharedCluster=True)]
        told.update([*shared, worker("c", age=1)], self.SAME)

        assert told.roster.twins == {"a": "c", "b": "c"}

    def test_those_never_reached_are_not_the_same(self, told: Told) -> None:
        told.update([worker("a"), worker("b")], {})

        assert told.roster.twins == {}


class TestLost:
    ALL: ClassVar = [worker("a"), worker("b"), worker("c")]

    def since(self, told: Told, name: str) -> datetime | None:
        return told.roster.views[name].lost_since

    def test_the_time_is_that_of_the_link(self, told: Told) -> None:
        told.update(self.ALL, {"a": lost(5), "b": up(), "c": up()})

        assert self.since(told, "a") == NOW - timedelta(minutes=5)

    def test_it_starts_anew_once_we_are_not_cut_off_any_more(self, told: Told) -> None:
        told.update(self.ALL, {"a": lost(5), "b": lost(), "c": up()})
        assert self.since(told, "a") == NOW - timedelta(minutes=5)

        changed = told.update(self.ALL, {"a": lost(5), "b": up(), "c": up()})

        assert changed == ["a", "b"]
        assert self.since(told, "a") == NOW
        later = NOW + timedelta(minutes=1)
        assert told.update(self.ALL, {"a": lost(5), "b": up(), "c": up()}, later) == []

    def test_those_not_connected_yet_are_not_lost(self, told: Told) -> None:
        told.update(self.ALL, {"a": lost(5)})

        told.update(self.ALL, {"a": lost(5), "b": up(), "c": up()})

        assert self.since(told, "a") == NOW - timedelta(minutes=5)


def test_only_the_status_of_a_worker_is_no_news() -> None:
    before = worker("a")

    assert not is_news(Change(before, worker("a", status={"mirrors": 1})))
    assert is_news(Change(None, before))
    assert is_news(Change(before, None))
    assert is_news(Change(before, leaving("a")))


def test_a_worker_says_which_namespaces_go_there(told: Told) -> None:
    told.update([worker("a", namespaces={"allow": ["ml", "web"], "deny": ["web"]})], {})

    bounds = told.roster.views["a"].bounds
    assert [each for each in ("ml", "web", "db") if bounds.let(each)] == ["ml"]


@pytest.mark.parametrize(
    ("only", "linked", "watched"),
    [
        ([], None, None),
        (["ml", "web"], {"ml", "web"}, {"ml", "web"}),
        (["ml", "web"], {"ml"}, {"ml"}),  # "web" is out of sight
        (["ml"], None, {"ml"}),  # the link is still as it was before
        ([], {"ml"}, {"ml"}),
        (["ml"], {"web"}, set()),
    ],
)
def test_only_what_should_be_seen_and_is_counts_as_watched(
    told: Told, only: list[str], linked: set[str] | None, watched: set[str] | None
) -> None:
    seen = None if linked is None else frozenset(linked)
    sight = None if seen is None else {"Job.batch": seen}

    told.update([worker("a", namespaces={"only": only})], {"a": replace(up(), watched=sight)})

    assert told.roster.of_kind("Job.batch")["a"].watched == (
        None if watched is None else frozenset(watched)
    )
    again = told.update([worker("a", namespaces={"only": only})], {"a": up()})
    assert again == ([] if seen is None else ["a"])
