"""Workers come and go, live: added, removed, wrong, given another kubeconfig."""

import pytest

from jobferry.kube.resources import NAMESPACES, SECRETS
from jobferry.objects.times import timestamp
from jobferry.workers.resource import WORKERS, finalizer
from tests.system.fleet import WORKER, add_worker, secret
from tests.system.jobs import (
    FOREVER,
    MANAGER,
    complete,
    holds,
    job,
    runs,
    tells,
)
from tests.system.lab import Lab
from tests.system.world import named, until_none

pytestmark = pytest.mark.fleet


async def test_a_worker_says_which_cluster_it_is(lab: Lab) -> None:
    await lab.add_workers()
    async with lab.dispatcher():
        worker = await lab.worker("south")

    kube_system = await lab.world.workers["south"].get(NAMESPACES, "kube-system")
    assert worker["status"]["clusterUID"] == kube_system["metadata"]["uid"]
    assert worker["status"]["serverVersion"].startswith("v1.")
    assert worker["status"]["kinds"] == ["Job.batch/v1"]
    assert worker["metadata"]["finalizers"] == [finalizer(MANAGER)]
    assert holds("Connected")(worker)
    assert not holds("DuplicateCluster")(worker)


async def test_a_worker_that_is_added_gets_the_work_that_waits(lab: Lab) -> None:
    async with lab.dispatcher():
        await lab.world.submit(job("a"))

        await lab.add_worker("south")

        await lab.world.until("a", complete)


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
        direct = lab.fleet.planes[lab.clusters["south"]].kubeconfig(WORKER)
        await world.hub.create(SECRETS, secret("direct", direct))

        await lab.edit_worker("south", kubeconfig={"secret": {"name": "direct"}})
        await lab.proxies["south"].cut()
        await world.finish_pod("south", "a")

        await world.until("a", complete)
        assert (await world.mirror("a"))["metadata"]["uid"] == mirror["metadata"]["uid"]


async def test_what_was_said_of_a_worker_too_late_by_who_led_before_is_put_right(
    lab: Lab,
) -> None:
    await lab.add_worker("south")
    async with lab.dispatcher():
        worker = await lab.worker("south")
        said = [{**each, "status": "False"} for each in worker["status"]["conditions"]]
        late = {"conditions": said, "lostSince": timestamp(lab.fleet.clock.now())}

        await lab.world.hub.patch(WORKERS, "south", {"status": late}, subresource="status")

        worker = await lab.worker("south")
        assert "lostSince" not in worker["status"]


@pytest.mark.timeout(60)
async def test_a_worker_says_how_much_work_all_dispatchers_have_there(lab: Lab) -> None:
    world, other = lab.world, "example.com/other"
    await lab.add_worker("south")
    async with lab.dispatcher(), lab.dispatcher(managed_by=(other,)):
        await world.run(job("a", seconds=FOREVER), runs(1))
        await world.run(job("b"), complete)
        await world.run(job("c", manager=other), complete)

        counts = {MANAGER: {"mirrors": 2, "active": 1}, other: {"mirrors": 1, "active": 0}}
        wanted = {"mirrors": 3, "active": 1, "dispatchers": counts}
        await lab.worker("south", lambda obj: obj["status"].items() >= wanted.items())
        for name in "abc":
            await world.delete(name)
        await lab.worker("south", lambda obj: obj["status"]["mirrors"] == 0)


async def test_workers_can_share_a_cluster_if_both_say_so(lab: Lab) -> None:
    world = lab.world
    order = {"placement": "Ordered", "workers": {"order": ["south", "twin"]}}
    queue = await world.queue("south-first", **order)
    await lab.add_worker("south", sharedCluster=True)
    await add_worker(world.hub, "twin", lab.kubeconfig("south"))
    async with lab.standby():
        await lab.worker("twin", holds("DuplicateCluster"))

        await lab.edit_worker("twin", sharedCluster=True)
        await lab.worker("twin")
        await world.run(job("a", queue=queue, seconds=FOREVER), runs(1))
        await lab.edit_worker("south", maxMirrors=1)
        await lab.worker("south", lambda obj: "maxMirrors" in obj["spec"])
        await world.run(job("b", queue=queue, seconds=FOREVER), runs(1))
        assert (await world.where("a"), await world.where("b")) == ("south", "twin")
        mirror = await world.on("south", "b")

        await world.hub.delete(WORKERS, "south")
        await until_none(world.hub, named(WORKERS, "south"))

        assert await world.where("a", attempt=2) == "twin"
        await world.on("south", "a", runs(1))
        again = await world.on("south", "b", runs(1))
        assert again["metadata"]["uid"] == mirror["metadata"]["uid"]
