from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from jobferry.core import times
from jobferry.kinds import referred
from jobferry.objects import Obj, conditions
from jobferry.objects.times import timestamp
from jobferry.workers import status
from jobferry.workers.cluster import UNKNOWN, Cluster
from jobferry.workers.link import State
from jobferry.workers.looking import Door
from jobferry.workers.status import REFERENCES, Facts
from tests.unit.workers.heads import leaving, worker

NOW = datetime(2026, 1, 2, 12, tzinfo=UTC)
HERE = Cluster("uid-x", "v1.35.8", ("Job.batch/v1",))
UP = State(is_up=True, reason="Connected", message="Connected.", cluster=HERE)
LOST = State(reason="Unreachable", message="No way.", cluster=HERE, lost_since=NOW)
SILENT = replace(UP, reason="Silent", message="Not heard.", silent_since=NOW)
FINE = Facts(state=UP, lost_since=None, twin=None, held_by=None)
GONE = replace(FINE, state=LOST, lost_since=NOW)


def said(facts: Facts, was: Obj | None = None, **spec: Any) -> Obj:
    return status.standing(was or {}, worker("a", **spec).head, facts, NOW)


def told(found: Obj, type: str) -> tuple[str, str, str]:
    condition = conditions.find(found["conditions"], type)
    assert condition is not None
    return condition["status"], condition["reason"], condition["message"]


def test_a_worker_that_is_up_says_so_and_which_cluster_it_is() -> None:
    found = said(FINE)

    assert told(found, "Connected") == ("True", "Connected", "Connected.")
    assert told(found, "Ready") == ("True", "Ready", "Takes work.")
    assert told(found, "DuplicateCluster")[0] == "False"
    assert (found["clusterUID"], found["serverVersion"]) == ("uid-x", "v1.35.8")
    assert found["kinds"] == ["Job.batch/v1"]


def test_kinds_that_it_does_not_show_us_are_not_among_those_that_it_serves() -> None:
    served = Cluster("uid-x", "v1.35.8", ("Job.batch/v1", "Pod.v1", "RayJob.ray.io/v1"))
    state = replace(UP, cluster=served, hidden={"RayJob.ray.io": "w", "Pod": "w"})

    assert said(replace(FINE, state=state))["kinds"] == ["Job.batch/v1"]


def test_what_was_known_of_a_cluster_stays_until_it_is_reached() -> None:
    assert "clusterUID" not in said(replace(FINE, state=State(cluster=UNKNOWN)))


@pytest.mark.parametrize(
    ("facts", "spec", "reason"),
    [
        (GONE, {}, "Unreachable"),
        (replace(FINE, state=SILENT), {}, "Silent"),
        (replace(FINE, twin="b"), {}, "DuplicateCluster"),
        (FINE, {"drain": "NoNewWork"}, "Drained"),
    ],
)
def test_a_worker_that_takes_nothing_says_why(facts: Facts, spec: Obj, reason: str) -> None:
    found = said(facts, **spec)

    assert told(found, "Ready")[:2] == ("False", reason)


def test_a_worker_that_is_being_removed_says_what_it_waits_for() -> None:
    facts = replace(FINE, held_by="waits until its mirrors are gone")

    found = status.standing({}, leaving("a").head, facts, NOW)

    message = "It is being removed: waits until its mirrors are gone."
    assert told(found, "Ready") == ("False", "Removing", message)


def test_nothing_is_said_of_references_until_some_were_looked_for() -> None:
    assert conditions.find(said(FINE)["conditions"], REFERENCES) is None


def test_a_worker_says_whether_we_may_look_for_what_workloads_refer_to() -> None:
    secrets, maps = (Door(referred.RESOURCES["", kind], "") for kind in ("Secret", "ConfigMap"))

    assert told(said(replace(FINE, closed=())), REFERENCES)[:2] == ("True", "Allowed")
    holds, reason, message = told(said(replace(FINE, closed=(secrets, maps))), REFERENCES)

    assert (holds, reason) == ("False", "Forbidden")
    assert "`jobferry manifests worker --references Secret,ConfigMap` has the rights" in message


def test_it_names_the_namespaces_if_it_is_in_some_alone() -> None:
    doors = [Door(referred.SECRET, namespace) for namespace in ("ml", "vision")]

    _, _, message = told(said(replace(FINE, closed=doors)), REFERENCES)

    assert "look there for Secret in ml,vision:" in message
    assert "--references Secret --namespaces ml,vision`" in message


def test_of_several_dispatchers_the_most_patient_says_since_when_it_is_lost() -> None:
    earlier, later = (NOW + timedelta(minutes=minutes) for minutes in (-1, 1))

    for other, since in ((earlier, NOW), (later, later)):
        found = said(GONE, {"lostSince": timestamp(other)})
        assert times.instant(found["lostSince"]) == since
        assert times.instant(found["lostConfirmed"]) == NOW
    assert said(FINE)["lostSince"] is None


def test_only_what_one_of_ours_says_otherwise_is_put_right() -> None:
    for names, is_ours in ((["a"], True), (["a", "b"], False), ([], True)):
        was = {**said(GONE), "dispatchers": {name: {} for name in names}}
        assert status.is_contradicted(was, "a", said(FINE, was)) is is_ours
        assert not status.is_contradicted(was, "a", said(GONE, was))


class TestCounts:
    def test_those_of_all_dispatchers_are_added_up(self) -> None:
        others = {"b": {"mirrors": 3, "active": 1}, "a": {"mirrors": 9, "active": 9}}

        found = status.counts({"dispatchers": others}, "a", 2, 1)

        assert found == {
            "dispatchers": {"a": {"mirrors": 2, "active": 1}},
            "mirrors": 5,
            "active": 2,
        }

    def test_what_was_seen_last_is_remembered(self) -> None:
        assert status.mirrors(status.counts({}, "a", 2, 1), "a") == 2
        assert status.mirrors({}, "a") == 0


class TestRecall:
    def recalled(self, facts: Facts, *, later: float = 0, **change: Any) -> Any:
        found = {**said(facts), **change}
        return status.recall(found, worker("a").head, NOW + timedelta(seconds=later))

    def test_a_worker_that_was_lost_still_is_since_then(self) -> None:
        assert self.recalled(GONE) == (HERE, NOW)

    def test_time_in_which_nobody_looked_does_not_count(self) -> None:
        _, since = self.recalled(GONE, later=3600)

        assert since == NOW + timedelta(seconds=3600)

    def test_a_worker_that_was_up_is_not_lost(self) -> None:
        assert self.recalled(FINE) == (HERE, None)

    def test_nothing_counts_of_a_worker_that_was_changed_since(self) -> None:
        listed = conditions.set(
            [], {"type": "Connected", "status": "False", "observedGeneration": 0}, NOW
        )

        assert self.recalled(GONE, conditions=listed) == (UNKNOWN, None)

    def test_a_new_worker_has_nothing_to_recall(self) -> None:
        assert status.recall({}, worker("a").head, NOW) == (UNKNOWN, None)
