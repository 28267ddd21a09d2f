"""Which Queue a Job is in, and what the Queue makes of it."""

from typing import Any

import pytest

from jobferry.dispatch import hub_checks
from jobferry.dispatch.queues import QUEUES
from jobferry.kube.calls import Scope
from jobferry.kube.resources import EVENTS
from tests.system.fleet import DISPATCHER, RESOURCES, SYSTEM
from tests.system.jobs import FOREVER, complete, condition, failed, is_there, job, runs
from tests.system.lab import Lab
from tests.system.world import World, until_one

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


# Who goes first

FULL = "north: it takes at most 1 workloads, and has them"


async def told(world: World, name: str, why: str) -> None:
    """Wait until people are told why a Job waits, in just these words."""
    about = f"involvedObject.name={name},reason=NoWorker"
    scope = Scope(resource=EVENTS, namespace=world.namespace, fields=about)
    message = f"No worker can take it: {why}"
    await until_one(world.hub, scope, lambda event: event["message"] == message)


async def test_the_highest_priority_in_a_queue_goes_first(lab: Lab) -> None:
    world = lab.world
    await lab.add_worker("north", maxMirrors=1)
    queue = await world.queue("line")
    names = {"low": 1, "mid": 2, "high": 3}
    classes = {name: await world.priority_class(name, value) for name, value in names.items()}
    async with lab.dispatcher():
        await world.run(job("first", queue=queue, seconds=FOREVER), runs())
        for name, priority in classes.items():
            await world.submit(job(name, queue=queue, priority=priority, seconds=FOREVER))
            await told(world, name, FULL)

        for before, name in [("first", "high"), ("high", "mid"), ("mid", "low")]:
            await world.finish_pod("north", before)
            await world.until(name, runs())  # and so it has the one place that there is


async def test_a_class_that_comes_later_counts_from_then_on(lab: Lab) -> None:
    world = lab.world
    await lab.add_worker("north", maxMirrors=1)
    queue, later = await world.queue("line"), f"{world.namespace}-later"
    async with lab.dispatcher():
        await world.run(job("first", queue=queue, seconds=FOREVER), runs())
        for name in ("a", "b", "c"):
            await world.submit(job(name, queue=queue, seconds=FOREVER))
            await told(world, name, FULL)
        await world.submit(job("urgent", queue=queue, priority=later, seconds=FOREVER))
        note = f"its PriorityClass {later} counts as 0: the hub has none of that name"
        await told(world, "urgent", f"{FULL}; {note}")

        await world.priority_class("later", 10)
        await told(world, "urgent", FULL)
        await world.finish_pod("north", "first")

        await world.until("urgent", runs())
        for name in ("a", "b", "c"):
            assert condition(await world.until(name, is_there), "Placed") == {}


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({}, "its Queue does not honour those of the system"),
        ({"priorityClasses": ["other"]}, "its Queue does not honour it"),
        (None, "it is in no Queue"),
    ],
)
async def test_a_class_that_is_not_honoured_is_told_to_who_names_it(
    lab: Lab, spec: dict[str, Any] | None, why: str
) -> None:
    world, critical = lab.world, "system-node-critical"
    queue = None if spec is None else await world.queue("line", **spec)
    async with lab.dispatcher():
        await world.submit(job("a", queue=queue, priority=critical))

        note = f"its PriorityClass {critical} counts as 0: {why}"
        await told(world, "a", f"the queue has no workers; {note}")


@pytest.mark.fleet("one process")
async def test_without_the_right_to_read_classes_all_count_as_0_and_it_says_so(
    lab: Lab, caplog: pytest.LogCaptureFixture
) -> None:
    world, roles = lab.world, RESOURCES["ClusterRole"]
    await lab.add_worker("north", maxMirrors=1)
    queue, high = await world.queue("line"), await world.priority_class("high", 10)
    rules = (await world.hub.get(roles, "jobferry-dispatcher"))["rules"]
    fewer = [rule for rule in rules if rule["resources"] != ["priorityclasses"]]
    await world.hub.patch(roles, "jobferry-dispatcher", {"rules": fewer})
    async with lab.fleet.client("west", DISPATCHER) as hub:
        await hub_checks.check(hub, SYSTEM)  # it is fit all the same
    async with lab.dispatcher():
        await world.run(job("first", queue=queue, seconds=FOREVER), runs())
        await world.submit(job("low", queue=queue))
        await told(world, "low", FULL)
        await world.submit(job("high", queue=queue, priority=high))
        unread = "PriorityClasses could not be read on the hub"
        await told(world, "high", f"{FULL}; its PriorityClass {high} counts as 0: {unread}")

        await world.hub.patch(roles, "jobferry-dispatcher", {"rules": rules})

        await told(world, "high", FULL)
        said = "PriorityClasses cannot be read: every priority counts as 0"
        assert caplog.messages.count(said) == 1
