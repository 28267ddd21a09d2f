from contextlib import suppress

import pytest

from jobferry.core.key import WorkloadKey
from jobferry.dispatch.heads import JobHead, WorkloadHead, WorkloadMetadata
from jobferry.dispatch.meters import Meters
from jobferry.kube import events
from jobferry.kube.cache import Change
from jobferry.kube.items import Item
from jobferry.runtime import reconcile, workqueue
from jobferry.testing.clock import ManualClock

KEY = WorkloadKey("Job.batch", "ns", "train")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def meters(clock: ManualClock) -> Meters:
    return Meters(clock)


def read(meters: Meters, name: str) -> dict[str, float]:
    """Return the samples whose names begin like this, without it."""
    lines = meters.registry.render().decode().splitlines()
    pairs = (line.rsplit(" ", 1) for line in lines if line.startswith(name))
    return {key.removeprefix(name): float(value) for key, value in pairs}


def latency(meters: Meters, name: str) -> tuple[float, float]:
    """Return how often it was measured, and the sum."""
    found = read(meters, f"jobferry_{name}_latency_seconds")
    return found["_count"], found["_sum"]


def job() -> Item[WorkloadHead]:
    metadata = WorkloadMetadata(
        name=KEY.name, namespace=KEY.namespace, resource_version="1", uid="u"
    )
    return Item(JobHead(metadata=metadata), b"{}")


def see(
    meters: Meters, *, was: bool = True, there: bool = True, is_placed: bool = False
) -> None:
    change = Change(job() if was else None, job() if there else None)
    meters.see(KEY, change, is_placed=is_placed)


def test_every_name_says_whose_it_is_and_counters_end_in_total(meters: Meters) -> None:
    lines = meters.registry.render().decode().splitlines()
    kinds = dict(line.split()[2:] for line in lines if line.startswith("# TYPE "))

    assert len(kinds) == 10
    assert all(name.startswith("jobferry_") for name in kinds)
    for name, kind in kinds.items():
        assert name.endswith("_total") == (kind == "counter")


def test_requests_are_counted_by_cluster_method_and_code(meters: Meters) -> None:
    for code, took in ((200, 0.02), (409, 0.03), (200, 0.01), (0, 30.0)):
        meters.observe("hub", "PATCH", code, took)

    assert read(meters, "jobferry_requests_total") == {
        '{cluster="hub",method="PATCH",code="200"}': 2,
        '{cluster="hub",method="PATCH",code="409"}': 1,
        '{cluster="hub",method="PATCH",code="0"}': 1,
    }
    durations = read(meters, "jobferry_request_duration_seconds")
    assert durations['_bucket{cluster="hub",method="PATCH",le="0.025"}'] == 2
    assert durations['_count{cluster="hub",method="PATCH"}'] == 4


def test_placements_are_counted_by_worker(meters: Meters) -> None:
    meters.place(["east", "west"])
    meters.place(["east"])

    assert read(meters, "jobferry_placements_total") == {
        '{worker="east"}': 2,
        '{worker="west"}': 1,
    }


def test_a_mirror_is_timed_from_the_sight_of_its_workload(
    meters: Meters, clock: ManualClock
) -> None:
    see(meters, was=False)
    clock.advance(1)
    see(meters)
    clock.advance(1)

    with meters.mirroring.stopping(KEY):
        clock.advance(0.5)

    assert latency(meters, "mirror") == (1, 2.5)
    with meters.mirroring.stopping(KEY):
        clock.advance(9)
    assert latency(meters, "mirror") == (1, 2.5)


def test_a_workload_that_was_placed_before_or_has_gone_is_not_timed(meters: Meters) -> None:
    see(meters, was=False, is_placed=True)
    assert len(meters.mirroring) == 0

    see(meters, was=False)
    assert len(meters.mirroring) == 1
    see(meters, there=False)
    assert len(meters.mirroring) == 0


def test_a_write_that_fails_is_timed_with_the_one_that_does_not(
    meters: Meters, clock: ManualClock
) -> None:
    meters.reporting.start(KEY)

    with suppress(TimeoutError), meters.reporting.stopping(KEY):
        clock.advance(2)
        raise TimeoutError
    assert latency(meters, "status") == (0, 0)
    with meters.reporting.stopping(KEY):
        clock.advance(1)

    assert latency(meters, "status") == (1, 3)


def test_news_during_a_write_is_timed_by_itself(meters: Meters, clock: ManualClock) -> None:
    meters.reporting.start(KEY)
    with meters.reporting.stopping(KEY):
        clock.advance(2)
        meters.reporting.start(KEY)

    with meters.reporting.stopping(KEY):
        clock.advance(1)

    assert latency(meters, "status") == (2, 3)


def test_news_that_asks_for_nothing_is_not_timed(meters: Meters, clock: ManualClock) -> None:
    meters.reporting.start(KEY)
    meters.reporting.drop(KEY)
    meters.reporting.drop(KEY)

    with meters.reporting.stopping(KEY):
        clock.advance(1)

    assert latency(meters, "status") == (0, 0)


def test_what_was_seen_before_we_act_is_not_timed(meters: Meters) -> None:
    see(meters, was=False)
    meters.reporting.start(KEY)

    meters.begin()

    assert len(meters.mirroring) == len(meters.reporting) == 0


def test_queue_and_passes_are_read_from_those_who_know(
    meters: Meters, clock: ManualClock
) -> None:
    queue: workqueue.WorkQueue[WorkloadKey] = workqueue.WorkQueue(clock)
    passes = reconcile.Stats(done=5, again=4, error=3)
    meters.follow(queue=queue.stats, passes=lambda: passes, links=list)

    queue.add(KEY)
    clock.advance(3)

    assert read(meters, "jobferry_queue_length") == {
        '{state="waiting"}': 1,
        '{state="delayed"}': 0,
        '{state="in_work"}': 0,
    }
    assert read(meters, "jobferry_queue_oldest_seconds") == {"": 3}
    assert read(meters, "jobferry_passes_total") == {
        '{outcome="done"}': 5,
        '{outcome="again"}': 4,
        '{outcome="error"}': 3,
    }


def test_events_that_were_dropped_are_counted(meters: Meters) -> None:
    meters.follow_events(lambda: events.Stats(waiting=1, posted=7, dropped=2))

    assert read(meters, "jobferry_events_total") == {
        '{outcome="posted"}': 7,
        '{outcome="dropped"}': 2,
    }
