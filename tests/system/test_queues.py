"""Which Queue a Job is in, and what the Queue makes of it."""

from typing import Any

import pytest

from jobferry.dispatch.queues import QUEUES
from tests.system.jobs import FOREVER, complete, condition, failed, is_there, job, runs
from tests.system.world import World

pytestmark = pytest.mark.fleet


def only(worker: str) -> dict[str, Any]:
    """Return the part of a Queue that says to use this worker alone."""
    return {"selector": {"matchLabels": {"name": worker}}}


@pytest.mark.parametrize("worker", ["east", "west"])
async def test_a_label_chooses_the_queue(world: World, worker: str) -> None:
    queue = await world.queue("chosen", workers=only(worker))

    await world.submit(job("a", queue=queue))

    assert await world.where("a") == worker


@pytest.mark.parametrize("worker", ["east", "west"])
async def test_a_namespace_chooses_the_queue(world: World, worker: str) -> None:
    await world.queue("ours", namespaces=[world.namespace], workers=only(worker))

    await world.submit(job("a"))

    assert await world.where("a") == worker


async def test_a_label_counts_more_than_the_namespace(world: World) -> None:
    await world.queue("ours", namespaces=[world.namespace], workers=only("east"))
    queue = await world.queue("chosen", workers=only("west"))

    await world.submit(job("a", queue=queue))

    assert await world.where("a") == "west"


async def test_a_job_in_a_queue_that_is_not_there_waits_until_it_is(world: World) -> None:
    queue = f"{world.namespace}-later"
    await world.submit(job("a", queue=queue))
    assert await world.event("a", "NoQueue") == f"there is no Queue {queue}"

    await world.queue("later", workers=only("east"))

    await world.until("a", complete)


async def test_a_namespace_that_two_queues_claim_is_reported(world: World) -> None:
    first = await world.queue("first", namespaces=[world.namespace])
    second = await world.queue("second", namespaces=[world.namespace])

    await world.submit(job("a"))

    message = await world.event("a", "NoQueue")
    assert f"several Queues claim namespace {world.namespace}: {first}, {second}" in message


@pytest.mark.parametrize("loss", ["deleted", "ambiguous"])
async def test_a_job_whose_queue_is_lost_while_it_runs_is_followed_to_its_end(
    world: World, loss: str
) -> None:
    namespaces = [world.namespace]
    kept = {"finishedMirrors": {"keepSeconds": 0}}
    queue = await world.queue("first", namespaces=namespaces, workers=only("east"), **kept)
    await world.run(
        job("a", queue=queue if loss == "deleted" else None, seconds=FOREVER), runs()
    )

    if loss == "deleted":
        await world.hub.delete(QUEUES, queue)
        await world.submit(job("waits", queue=queue))
    else:
        await world.queue("second", namespaces=namespaces)
        await world.submit(job("waits"))
    await world.event("waits", "NoQueue")
    await world.finish_pod("east", "a")

    await world.until("a", complete)
    await world.gone("a")  # its queue had said that finished mirrors do not stay
    assert condition(await world.until("waits", is_there), "Placed") == {}


async def test_ordered_takes_the_first_worker_that_can(world: World) -> None:
    queue = await world.queue("west", placement="Ordered", workers={"order": ["west", "east"]})

    for name in ("a", "b", "c"):
        await world.submit(job(name, queue=queue))

    assert {await world.where(name) for name in ("a", "b", "c")} == {"west"}


async def test_pack_keeps_jobs_together(world: World) -> None:
    queue = await world.queue("pack", placement="Pack")
    await world.run(job("first", queue=queue, seconds=FOREVER, parallelism=1), runs(1))

    for name in ("a", "b", "c"):
        await world.submit(job(name, queue=queue, seconds=FOREVER))

    together = await world.where("first")
    assert {await world.where(name) for name in ("a", "b", "c")} == {together}


async def test_spread_keeps_jobs_apart(world: World) -> None:
    queue = await world.queue("spread", placement="Spread")

    for number in range(4):
        await world.submit(job(f"job-{number}", queue=queue, seconds=FOREVER))

    used = [await world.where(f"job-{number}") for number in range(4)]
    assert set(used) == {"east", "west"}


async def test_a_job_that_fits_nowhere_waits_and_is_not_placed(world: World) -> None:
    queue = await world.queue("nowhere", workers=only("nobody"))
    await world.submit(job("a", queue=queue))

    await world.run(job("b"), complete)

    assert condition(await world.until("a", is_there), "Placed") == {}


async def test_a_job_that_fits_nowhere_for_too_long_fails(world: World) -> None:
    queue = await world.queue("brief", workers=only("nobody"), giveUpAfterSeconds=1)

    done = await world.run(job("a", queue=queue), failed)

    assert condition(done, "Failed")["reason"] == "NoWorker"
    assert condition(done, "Failed")["message"].startswith("No worker took it within 1 s")
