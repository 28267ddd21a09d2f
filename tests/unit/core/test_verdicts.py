from datetime import timedelta
from typing import Any

import pytest

from jobferry.core import verdicts
from jobferry.core.decide import decide
from jobferry.core.line import Held
from jobferry.core.place import GATHERS_WITHIN
from jobferry.core.room import Lack
from jobferry.core.steps import Notice, Record, Rest, Want, WriteStatus
from jobferry.core.view import Worker
from jobferry.kinds.job.adapter import JOB
from jobferry.objects import demand, quantities
from jobferry.objects.quantities import Quantity
from jobferry.objects.times import timestamp
from tests.unit.core.worlds import NOW, World, hub_job, lost, silent, up


def reason(world: World) -> str | None:
    """Say why it waits; None: it does not."""
    step = world.next()
    return step.why.removeprefix("no worker can take it: ") if isinstance(step, Rest) else None


@pytest.mark.parametrize(
    ("placement", "chosen"), [("Spread", "b"), ("Pack", "c"), ("Ordered", "a")]
)
def test_a_policy_decides_among_those_that_are_able(placement: str, chosen: str) -> None:
    workers, loads = [up("a"), up("b"), up("c")], {"a": 2, "b": 1, "c": 3}
    world = World(workers=workers, loads=loads, policy={"placement": placement})

    step = world.next()

    assert isinstance(step, Record)
    assert [shard.worker for shard in step.placement.shards] == [chosen]


@pytest.mark.parametrize(
    ("worker", "why"),
    [
        (lost("a", minutes=1), "a: not connected"),
        (silent("a", seconds=6), "a: silent since 2026-01-02T11:59:54Z"),
        (up("a", refuses="it is drained"), "a: it is drained"),
    ],
)
def test_a_worker_that_cannot_take_it_says_why(worker: Worker, why: str) -> None:
    assert reason(World(workers=[worker])) == why


def test_a_worker_that_refused_this_workload_says_why() -> None:
    assert reason(World(workers=[up("a")], refusals={"a": "no quota"})) == "a: no quota"


def test_a_worker_that_has_all_it_takes_says_so() -> None:
    world = World(workers=[up("a", max_load=2)], loads={"a": 2})

    assert reason(world) == "a: it takes at most 2 workloads, and has them"
    world.loads["a"] = 1
    assert reason(world) is None


def test_a_queue_without_workers_says_so() -> None:
    assert reason(World(workers=[])) == "the queue has no workers"


@pytest.mark.parametrize(
    ("workers", "why"),
    [
        ([up("a", max_load=0)], "a: it takes at most 0 workloads, and has them"),
        ([], "the queue has no workers"),
    ],
)
def test_a_priority_that_does_not_count_is_told_to_those_who_wait(
    workers: list[Worker], why: str
) -> None:
    note = "its PriorityClass high counts as 0: it is in no Queue"

    assert reason(World(workers=workers, priority_note=note)) == f"{why}; {note}"
    assert reason(World(priority_note=note)) is None


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

    assert reason(world) is None


def test_a_worker_without_room_says_so_in_the_same_words_whatever_else_it_has() -> None:
    world = asking(2, cpu="1500m")
    for used in ("1500m", "4"):
        world.used["a"] = amounts(cpu=used)

        assert reason(world) == "a: too little cpu is left of its 4: 3 is needed"


def test_who_asks_for_more_than_can_be_counted_hears_of_it() -> None:
    world = asking(2, cpu="1e1500")
    world.used["a"] = amounts(cpu="1m")

    assert reason(world) == "a: it asks for more cpu than any cluster has"


def test_what_fits_is_found_beside_a_workload_that_asks_for_absurdly_much() -> None:
    world = asking(1, cpu="1m")
    world.used["a"] = demand.of_pod(
        {"containers": [{"resources": {"limits": {"cpu": "1e99"}}}]}
    )

    assert (reason(world) or "").startswith("a: too little cpu is left of its 4")


# Gangs


WAITS = Held(
    "it waits until all 3 pods of its group g are there",
    "it waits for 1 more pod of its group g (2 of 3 are there)",
)


def held(age: float, **policy: Any) -> World:
    """A world in which a workload of that age waits for its gang."""
    world = World(held=WAITS, lacks={}, policy=policy)
    made = NOW - timedelta(seconds=age)
    world.write({"metadata": {"creationTimestamp": timestamp(made)}})
    return world


def test_one_that_waits_for_its_gang_says_how_many_are_there() -> None:
    step = decide(held(age=60).view(), JOB)

    assert isinstance(step, Rest)
    assert step.why == WAITS.now
    assert step.wants == Want(("east", "west"))
    assert step.notices == (
        Notice("GroupWaits", "It waits until all 3 pods of its group g are there"),
    )


def test_nobody_is_told_while_the_others_are_just_being_made() -> None:
    step = decide(held(age=4).view(), JOB)

    assert isinstance(step, Rest)
    assert (step.why, step.notices) == (WAITS.now, ())
    assert step.after == pytest.approx(GATHERS_WITHIN - 4)


def test_one_that_waits_for_its_gang_for_too_long_is_given_up_as_any() -> None:
    step = decide(held(age=4, give_up_after=5.0).view(), JOB)
    assert isinstance(step, Rest)
    assert step.after == pytest.approx(1)

    step = decide(held(age=6, give_up_after=5.0).view(), JOB)
    assert isinstance(step, WriteStatus)
    assert step.end == "Failed"


@pytest.mark.parametrize(
    ("lack", "why"),
    [
        (Lack("apart", where="b"), "the others of its group are on b"),
        (Lack("apart"), "not all pods of its group may go there"),
        (Lack("amount", "cpu", 3 * 10**9), "too little cpu is left of its 2: 3 is needed"),
        (
            Lack("load", size=3),
            "it takes at most 2 workloads, and has no room for all of its group",
        ),
    ],
)
def test_a_worker_says_why_it_does_not_take_one_of_a_gang(lack: Lack, why: str) -> None:
    worker = up("a", max_load=2, capacity={"cpu": quantities.parse("2")})

    assert verdicts.verdict(World(workers=[worker]).view(), JOB, "a", lack) == why


def test_of_a_worker_that_can_take_it_only_now_nothing_is_told_before_a_pass() -> None:
    """It was in line for none, as where no worker served its kind; that is no turn of others."""
    world = World(lacks={})

    step = decide(world.view(), JOB)
    assert step == Rest("it waits for its turn", wants=Want(("east", "west")))

    world.workers = [up("east", refuses="it is drained"), lost("west", minutes=1)]
    step = decide(world.view(), JOB)
    assert isinstance(step, Rest)
    assert step.why == "no worker can take it: east: it is drained; west: not connected"
