from datetime import UTC, datetime

import pytest

from jobferry.core.marks import Marks
from jobferry.workers import removal
from jobferry.workers.cluster import Cluster
from jobferry.workers.link import State

NOW = datetime(2026, 1, 2, 12, tzinfo=UTC)
UP = State(is_up=True, reason="Connected")
LOST = State(reason="Unreachable", lost_since=NOW)


def hold(
    state: State,
    *,
    load: int = 0,
    hidden: int = 0,
    unseen: tuple[str, ...] = (),
    has_mirrors: bool = False,
    lost_for: float = 0,
    stuck: str = "",
) -> str | None:
    return removal.hold(
        state,
        load=load,
        hidden=hidden,
        unseen=unseen,
        has_mirrors=has_mirrors,
        lost_for=lost_for,
        patience=900,
        stuck=stuck,
    )


def test_a_worker_that_is_up_waits_for_its_mirrors_only() -> None:
    assert hold(UP, has_mirrors=True) == "waits until its mirrors are gone"
    # What was placed there and has nowhere else to go needs no Worker to wait.
    assert hold(UP, load=1) is None


def test_a_worker_waits_for_what_may_run_out_of_sight() -> None:
    assert hold(UP, unseen=("ml",)) == "waits until namespaces can be looked into: ml"
    assert (
        hold(UP, hidden=2) == "waits for 2 workloads in namespaces that are not watched there"
    )


def test_a_worker_that_waits_for_a_mirror_that_is_held_says_by_what() -> None:
    stuck = "ns/a is held"

    held = hold(UP, has_mirrors=True, stuck=stuck)
    assert held == "waits until its mirrors are gone: ns/a is held"
    assert hold(UP, stuck=stuck) is None


def test_nothing_is_known_before_the_first_try() -> None:
    assert hold(State()) == "waits until it is connected"


@pytest.mark.parametrize("lost_for", [0, 1000])
def test_work_on_a_worker_out_of_reach_is_waited_for(lost_for: float) -> None:
    assert "its work waits" in (hold(LOST, load=1, has_mirrors=True, lost_for=lost_for) or "")


def test_what_is_finished_is_waited_for_as_long_as_lost_workers_are() -> None:
    assert "finished mirrors" in (hold(LOST, has_mirrors=True, lost_for=899) or "")
    assert hold(LOST, has_mirrors=True, lost_for=900) is None
    assert hold(LOST) is None


def test_a_copy_of_a_mirror_is_none() -> None:
    marks = Marks(
        origin="o",
        dispatcher="d",
        worker="a",
        hub_uid="u",
        attempt=1,
        namespace="ns",
        name="x",
        hub_name="x",
    )
    mirror = marks.stamp({"metadata": {}})
    copy = {"metadata": {**mirror["metadata"], "name": "y"}}

    assert removal.is_mirror(mirror)
    assert not removal.is_mirror(copy)
    assert not removal.is_mirror({"metadata": {"name": "x", "namespace": "ns"}})


def test_what_may_be_left_on_a_lost_cluster_is_told_for_every_kind_that_it_serves() -> None:
    found = Cluster("uid", "v1.35.8", ("Job.batch/v1", "JobSet.jobset.x-k8s.io/v1alpha2"))

    assert removal.farewell(found, 2, "a=b").endswith(
        "kubectl delete jobs,jobsets.jobset.x-k8s.io -A -l a=b"
    )
