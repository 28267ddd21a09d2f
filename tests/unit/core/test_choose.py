import pytest

from jobferry.core.choose import choose
from jobferry.core.view import Worker
from tests.unit.core.worlds import World, lost, up


@pytest.mark.parametrize(
    ("placement", "chosen"), [("Spread", "b"), ("Pack", "c"), ("Ordered", "a")]
)
def test_a_policy_decides_among_those_that_are_able(placement: str, chosen: str) -> None:
    workers, loads = [up("a"), up("b"), up("c")], {"a": 2, "b": 1, "c": 3}
    world = World(workers=workers, loads=loads, policy={"placement": placement})

    choice = choose(world.view())

    assert choice.worker is not None
    assert choice.worker.name == chosen


@pytest.mark.parametrize(
    ("worker", "why"),
    [
        (lost("a", minutes=1), "a: not connected"),
        (up("a", refuses="it is drained"), "a: it is drained"),
    ],
)
def test_a_worker_that_cannot_take_it_says_why(worker: Worker, why: str) -> None:
    choice = choose(World(workers=[worker]).view())

    assert choice.worker is None
    assert choice.reason == why


def test_a_worker_that_refused_this_workload_says_why() -> None:
    assert (
        choose(World(workers=[up("a")], refusals={"a": "no quota"}).view()).reason
        == "a: no quota"
    )


def test_a_worker_that_has_all_it_takes_says_so() -> None:
    world = World(workers=[up("a", max_load=2)], loads={"a": 2})

    assert choose(world.view()).reason == "a: it has 2 workloads, and takes at most 2"
    world.loads["a"] = 1
    assert choose(world.view()).worker is not None


def test_a_queue_without_workers_says_so() -> None:
    assert choose(World(workers=[]).view()).reason == "the queue has no workers"
