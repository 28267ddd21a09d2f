"""Single Pods with our gate, over a whole fleet: they run, end, leave, and go."""

from collections.abc import AsyncIterator

import pytest

from jobferry.core.placement_object import RESOURCE as PLACEMENTS
from tests.system.jobs import MANAGER, NORTH_FIRST, SOON, complete, is_there, job
from tests.system.kinds import trial
from tests.system.lab import Lab
from tests.system.pods import KIND, KINDS, pod, recorded, runs, where, with_pods
from tests.system.world import named, until_none

pytestmark = [pytest.mark.fleet, pytest.mark.timeout(120)]

OTHER_GATE = "example.com/hold"


@pytest.fixture
async def stage(lab: Lab) -> AsyncIterator[Lab]:
    """A lab with both workers, and a dispatcher that takes Pods."""
    async with with_pods(lab):
        await lab.add_workers()
        async with lab.dispatcher(kinds=KINDS):
            yield lab


async def test_the_pod_of_the_page_runs_on_a_worker_ends_and_goes(stage: Lab) -> None:
    found = trial(stage, KIND)
    uid = (await found.submit())["metadata"]["uid"]

    worker = await found.where()
    mirror = await found.on(worker)
    assert "schedulingGates" not in mirror["spec"]
    done = await found.until(found.ended())

    assert done["spec"]["schedulingGates"] == [{"name": MANAGER}]
    assert "nodeName" not in done["spec"]
    await found.delete()
    await found.gone_from(worker)
    await until_none(stage.world.hub, named(PLACEMENTS, uid, stage.world.namespace))


async def test_a_pod_that_runs_is_deleted_with_its_mirror(stage: Lab) -> None:
    found = pod(stage, "a")
    await found.submit()
    (worker,) = await where([found])

    await found.delete()

    await found.gone_from(worker)
    await until_none(stage.world.hub, found.scope())


async def test_a_pod_leaves_a_drained_worker_and_begins_anew(stage: Lab) -> None:
    queue = await stage.world.queue("north-first", **NORTH_FIRST)
    found = pod(stage, "a", queue=queue)
    await found.submit()
    assert await where([found]) == {"north"}

    await stage.edit_worker("north", drain="MoveAway")

    assert await where([found], attempt=2) == {"south"}
    await found.gone_from("north")


async def test_a_pod_of_a_lost_worker_moves_and_what_comes_back_is_deleted(stage: Lab) -> None:
    queue = await stage.world.queue("soon", **SOON)
    found = pod(stage, "a", queue=queue)
    await found.submit()
    assert await where([found]) == {"north"}

    await stage.proxies["north"].cut()
    assert await where([found], attempt=2) == {"south"}
    await stage.proxies["north"].mend()

    await found.gone_from("north")
    await found.on("south", runs)


async def test_a_pod_that_is_deleted_on_its_worker_has_failed(stage: Lab) -> None:
    """As one has that is killed on any cluster: whoever stops it there says so before it is gone."""
    found = pod(stage, "a")
    await found.submit()
    (worker,) = await where([found])

    client = stage.world.workers[worker]
    await client.delete(found.adapter.resource, found.name, stage.world.namespace)

    await found.until(found.ended("Failed"))
    await found.gone_from(worker)
    assert await found.where() == worker


async def test_a_pod_waits_until_all_other_gates_are_gone(stage: Lab) -> None:
    found = pod(stage, "a", gates=(MANAGER, OTHER_GATE))
    await found.submit()
    await stage.world.run(job("b"), complete)  # by then it could have been placed
    assert await recorded(stage) == set()

    await found.edit({"spec": {"schedulingGates": [{"name": MANAGER}]}})

    await where([found])


async def test_a_pod_without_our_gate_is_left_alone(stage: Lab) -> None:
    found = pod(stage, "a", gates=(OTHER_GATE,))
    await found.submit()
    await stage.world.run(job("b"), complete)

    assert await recorded(stage) == set()
    await found.until(is_there)
