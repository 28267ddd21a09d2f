"""Whatever a tenant writes, only his own work suffers from it."""

from typing import Any

import orjson
import pytest

from jobferry.core import placement
from jobferry.dispatch.queues import QUEUES
from jobferry.kube import errors
from jobferry.objects import Obj
from tests.system import audit
from tests.system.fleet import DISPATCHER
from tests.system.jobs import Holds, complete, condition, is_there, job, suspended
from tests.system.lab import Lab
from tests.system.world import named, until_one

pytestmark = pytest.mark.fleet


def greedy(name: str, cpu: str, **spec: Any) -> Obj:
    """Return a Job whose one pod asks for so much."""
    made = job(name, **spec)
    [container] = made["spec"]["template"]["spec"]["containers"]
    container["resources"] = {"requests": {"cpu": cpu}}
    return made


def forged(made: Obj, worker: str) -> Obj:
    """Return a Job that says of itself that it was placed."""
    shard = {"worker": worker, "cluster": "", "base": {}}
    claim = {"format": placement.FORMAT, "uid": "", "attempt": 1, "shards": [shard]}
    made["metadata"]["annotations"] = {placement.ANNOTATION: orjson.dumps(claim).decode()}
    return made


async def test_a_job_that_asks_for_absurdly_much_waits_alone(lab: Lab) -> None:
    world = lab.world
    await lab.add_worker("south", capacity={"cpu": "4"})
    await world.submit(forged(greedy("before", cpu="1e1500"), "south"))

    async with lab.dispatcher():
        await world.submit(forged(greedy("after", cpu="1e1500"), "south"))
        told = await world.event("after", "NoWorker")
        await world.run(greedy("modest", cpu="3"), complete)

    assert "south: it asks for more cpu than any cluster has" in told
    assert condition(await world.until("before", is_there), "Placed") == {}


async def test_a_forged_placement_takes_no_capacity_away(lab: Lab) -> None:
    world = lab.world
    await lab.add_worker("south", capacity={"cpu": "4"}, maxMirrors=1)

    async with lab.dispatcher():
        await world.run(forged(greedy("forged", cpu="3", suspend=True), "south"), suspended)
        await world.run(greedy("modest", cpu="3"), complete)


BAD = {"matchLabels": {"no such label!": "x"}}
"""What no schema can tell from a selector."""


def is_valid(status: str) -> Holds:
    """Hold for a Queue that can be heeded, or not."""
    return lambda queue: condition(queue, "Valid").get("status") == status


async def test_a_queue_that_makes_no_sense_holds_up_its_own_jobs_only(lab: Lab) -> None:
    world = lab.world
    await lab.add_worker("south", maxMirrors=1)
    before = await world.queue("before", workers={"selector": BAD})
    await world.submit(job("waits", queue=before))

    async with lab.dispatcher():
        told = await world.event("waits", "NoQueue")
        shown = await until_one(world.hub, named(QUEUES, before), is_valid("False"))
        after = await world.queue("after", workers={"selector": BAD})
        await world.submit(job("too", queue=after))
        # Each that ends lets the next in, for which all that wait are looked at.
        for name in ("a", "b"):
            await world.run(job(name), complete)
        await world.hub.patch(QUEUES, before, {"spec": {"workers": {"selector": None}}})
        await world.until("waits", complete)
        mended = await until_one(world.hub, named(QUEUES, before), is_valid("True"))

    assert f"the selector of Queue {before} makes no sense" in told
    assert condition(shown, "Valid")["reason"] == "BadSelector"
    assert "no such label!" in condition(shown, "Valid")["message"]
    assert condition(mended, "Valid")["observedGeneration"] == 2
    assert condition(await world.until("too", is_there), "Placed") == {}


async def test_what_is_said_on_a_queue_is_written_once(lab: Lab) -> None:
    world = lab.world
    await lab.add_worker("south")
    queue = await world.queue("good")
    async with lab.dispatcher():
        await until_one(world.hub, named(QUEUES, queue), is_valid("True"))
        await world.run(job("a", queue=queue), complete)
    async with lab.dispatcher():
        await world.run(job("b", queue=queue), complete)

    writes = [
        entry
        for entry in lab.fleet.audited("west", DISPATCHER)
        if audit.is_write(entry, "queues") and entry["objectRef"]["name"] == queue
    ]
    assert len(writes) == 1


@pytest.mark.parametrize(
    "expression",
    [
        {"key": "a b", "operator": "Exists"},
        {"key": "a/b/c", "operator": "Exists"},
        {"key": "a", "operator": "Near"},
        {"key": "a", "operator": "In", "values": ["b", "-"]},
        {"key": "a", "operator": "NotIn"},
        {"key": "a", "operator": "Exists", "values": ["b"]},
    ],
)
async def test_most_of_what_is_no_selector_is_refused_at_once(
    lab: Lab, expression: Obj
) -> None:
    with pytest.raises(errors.Invalid):
        await lab.world.queue("bad", workers={"selector": {"matchExpressions": [expression]}})
