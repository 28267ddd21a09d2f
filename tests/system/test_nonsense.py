"""Whatever a tenant writes, only his own work suffers from it."""

from typing import Any

import orjson
import pytest

from jobferry.core import placement
from jobferry.objects import Obj
from tests.system.jobs import complete, condition, is_there, job, suspended
from tests.system.lab import Lab

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
