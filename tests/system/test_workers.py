"""Workers come and go, live: added, removed, wrong, given another kubeconfig."""

import pytest

from jobferry.kube.resources import NAMESPACES, SECRETS
from jobferry.workers.resource import WORKERS
from tests.system.fleet import SYSTEM, WORKER, add_worker, secret
from tests.system.jobs import (
    FOREVER,
    NORTH_FIRST,
    Holds,
    complete,
    condition,
    holds,
    job,
    lost,
    ready,
    runs,
)
from tests.system.lab import Lab

pytestmark = pytest.mark.kube


def tells(reason: str) -> Holds:
    """Hold if a Worker is not connected for that reason."""
    return lambda worker: lost(worker) and condition(worker, "Connected")["reason"] == reason


async def test_a_worker_says_which_cluster_it_is(lab: Lab) -> None:
    await lab.add_workers()
    async with lab.dispatcher():
        worker = await lab.worker("south")

    kube_system = await lab.world.workers["south"].get(NAMESPACES, "kube-system")
    assert worker["status"]["clusterUID"] == kube_system["metadata"]["uid"]
    assert worker["status"]["serverVersion"].startswith("v1.")
    assert holds("Connected")(worker)
    assert not holds("DuplicateCluster")(worker)


async def test_a_worker_that_is_added_gets_the_work_that_waits(lab: Lab) -> None:
    async with lab.dispatcher():
        await lab.world.submit(job("a"))

        await lab.add_worker("south")

        await lab.world.until("a", complete)


async def test_the_work_of_a_worker_that_is_removed_goes_elsewhere(lab: Lab) -> None:
    world = lab.world
    await lab.add_workers()
    queue = await world.queue("north-first", **NORTH_FIRST)
    async with lab.dispatcher():
        await world.run(job("a", queue=queue, seconds=FOREVER), runs(1))

        await world.hub.delete(WORKERS, "north")

        await world.mirror("a", runs(1), attempt=2)
        assert await world.where("a", attempt=2) == "south"


async def test_a_kubeconfig_that_makes_no_sense_is_told_on_the_worker_until_it_does(
    lab: Lab,
) -> None:
    hub = lab.world.hub
    async with lab.standby():
        await add_worker(hub, "south", "{}")
        worker = await lab.worker("south", lost)
        assert f"Secret {SYSTEM}/south" in condition(worker, "Connected")["message"]
        assert not ready(worker)

        await hub.patch(
            SECRETS, "south", secret("south", lab.kubeconfig("south")), namespace=SYSTEM
        )

        await lab.worker("south")
        await lab.world.run(job("a"), complete)


async def test_a_secret_that_is_missing_is_told_on_the_worker(lab: Lab) -> None:
    where = {"secret": {"namespace": SYSTEM, "name": "nothing"}}
    worker = {"metadata": {"name": "south"}, "spec": {"kubeconfig": where}}
    async with lab.standby():
        await lab.world.hub.create(WORKERS, worker)

        found = await lab.worker("south", tells("NotFound"))

    assert "nothing" in condition(found, "Connected")["message"]


async def test_a_server_that_cannot_be_trusted_is_told_on_the_worker(lab: Lab) -> None:
    mixed = lab.kubeconfig("south").replace(lab.proxies["south"].url, lab.proxies["north"].url)
    async with lab.standby():
        await add_worker(lab.world.hub, "south", mixed)

        await lab.worker("south", tells("Untrusted"))


async def test_a_worker_that_does_not_answer_is_told(lab: Lab) -> None:
    await lab.proxies["south"].cut()
    await lab.add_worker("south")
    async with lab.standby():
        await lab.worker("south", tells("Unreachable"))

        await lab.proxies["south"].mend()

        await lab.worker("south")


async def test_a_worker_can_be_given_another_kubeconfig_while_its_work_goes_on(
    lab: Lab,
) -> None:
    world = lab.world
    await lab.add_worker("south")
    async with lab.dispatcher():
        await world.run(job("a", seconds=FOREVER), runs(1))
        mirror = await world.mirror("a")
        direct = lab.fleet.planes["east"].kubeconfig(WORKER)
        await world.hub.create(SECRETS, secret("direct", direct))

        await lab.edit_worker("south", kubeconfig={"secret": {"name": "direct"}})
        await lab.proxies["south"].cut()
        await world.finish_pod("south", "a")

        await world.until("a", complete)
        assert (await world.mirror("a"))["metadata"]["uid"] == mirror["metadata"]["uid"]
