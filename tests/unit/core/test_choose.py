import pytest

from jobferry.core.choose import choose
from jobferry.core.view import Worker
from jobferry.kinds import job
from jobferry.objects import demand, quantities
from jobferry.objects.quantities import Quantity
from tests.unit.core.worlds import World, hub_job, lost, up


@pytest.mark.parametrize(
    ("placement", "chosen"), [("Spread", "b"), ("Pack", "c"), ("Ordered", "a")]
)
def test_a_policy_decides_among_those_that_are_able(placement: str, chosen: str) -> None:
    workers, loads = [up("a"), up("b"), up("c")], {"a": 2, "b": 1, "c": 3}
    world = World(workers=workers, loads=loads, policy={"placement": placement})

    choice = choose(world.view(), job)

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
    choice = choose(World(workers=[worker]).view(), job)

    assert choice.worker is None
    assert choice.reason == why


def test_a_worker_that_refused_this_workload_says_why() -> None:
    assert (
        choose(World(workers=[up("a")], refusals={"a": "no quota"}).view(), job).reason
        == "a: no quota"
    )


def test_a_worker_that_has_all_it_takes_says_so() -> None:
    world = World(workers=[up("a", max_load=2)], loads={"a": 2})

    assert choose(world.view(), job).reason == "a: it takes at most 2 workloads, and has them"
    world.loads["a"] = 1
    assert choose(world.view(), job).worker is not None


def test_a_queue_without_workers_says_so() -> None:
    assert choose(World(workers=[]).view(), job).reason == "the queue has no workers"


def amounts(**given: str) -> dict[str, Quantity]:
    return {name: quantities.parse(amount) for name, amount in given.items()}


def asking(parallelism: int, **requests: str) -> World:
    """A workload of so many pods, and a worker with four CPUs."""
    container = {"name": "c", "image": "i", "resources": {"requests": requests}}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    hub = hub_job(parallelism=parallelism, template=template)
    return World(hub, workers=[up("a", capacity=amounts(cpu="4"))])


@pytest.mark.parametrize(
    ("world", "used"),
    [
        (asking(4, cpu="1"), {}),
        (asking(1, cpu="500m"), {"cpu": "3500m"}),
        (asking(9, memory="1Ti"), {"cpu": "4"}),
        (asking(2), {"cpu": "9"}),
    ],
)
def test_a_worker_takes_what_fits_into_its_capacity(world: World, used: dict[str, str]) -> None:
    world.used["a"] = amounts(**used)

    assert choose(world.view(), job).worker is not None


def test_a_worker_without_room_says_so_in_the_same_words_whatever_else_it_has() -> None:
    world = asking(2, cpu="1500m")
    for used in ("1500m", "4"):
        world.used["a"] = amounts(cpu=used)

        assert (
            choose(world.view(), job).reason
            == "a: too little cpu is left of its 4: 3 is needed"
        )


def test_who_asks_for_more_than_can_be_counted_hears_of_it() -> None:
    world = asking(2, cpu="1e1500")
    world.used["a"] = amounts(cpu="1m")

    assert choose(world.view(), job).reason == "a: it asks for more cpu than any cluster has"


def test_what_fits_is_found_beside_a_workload_that_asks_for_absurdly_much() -> None:
    world = asking(1, cpu="1m")
    world.used["a"] = demand.of_pod(
        {"containers": [{"resources": {"limits": {"cpu": "1e99"}}}]}
    )

    assert choose(world.view(), job).reason.startswith("a: too little cpu is left of its 4")
