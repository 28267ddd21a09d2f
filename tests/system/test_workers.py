"""Workers come and go, live: added, removed, lost, drained, wrong."""

from typing import Any

import pytest

from jobferry.clock import SystemClock, sleep
from jobferry.core import times
from jobferry.kube.calls import Scope
from jobferry.kube.informer import Informer
from jobferry.kube.items import Head
from jobferry.kube.resources import JOBS, NAMESPACES, PODS, SECRETS
from jobferry.objects import Obj
from jobferry.runtime import supervise
from jobferry.workers.resource import WORKERS
from tests.system.fleet import SYSTEM, WORKER, add_worker, secret
from tests.system.jobs import (
    FOREVER,
    Holds,
    complete,
    condition,
    count,
    counts,
    failed,
    holds,
    is_there,
    job,
    ready,
    runs,
)
from tests.system.lab import Lab
from tests.system.world import World, named, until_none

pytestmark = pytest.mark.kube

NORTH_FIRST: dict[str, Any] = {
    "placement": "Ordered",
    "workers": {"order": ["north", "south"]},
}
SOON: dict[str, Any] = {**NORTH_FIRST, "onWorkerLost": {"action": "Move", "afterSeconds": 1}}
WAITING: dict[str, Any] = {**NORTH_FIRST, "onWorkerLost": {"action": "Wait"}}


def lost(worker: Obj) -> bool:
    """Hold if a Worker is not connected any more."""
    return condition(worker, "Connected").get("status") == "False"


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


async def test_a_brief_drop_moves_nothing_and_nothing_is_missed(lab: Lab) -> None:
    world = lab.world
    await lab.add_workers()
    queue = await world.queue("north-first", **NORTH_FIRST)
    async with lab.dispatcher():
        await world.run(job("a", queue=queue, seconds=FOREVER), runs(1))

        await lab.proxies["north"].cut()
        await lab.worker("north", lost)
        await world.finish_pod("north", "a")
        await lab.proxies["north"].mend()

        done = await world.until("a", complete)
        assert condition(done, "Placed")["message"].startswith("attempt 1 on north")
        assert await world.pods("a") == {"north": 1}


async def test_other_workers_go_on_while_one_is_frozen(lab: Lab) -> None:
    world = lab.world
    await lab.add_workers()
    async with lab.dispatcher():
        lab.proxies["north"].freeze()

        names = [f"job-{number}" for number in range(6)]
        for name in names:
            await world.submit(job(name))

        there = [name for name in names if await world.where(name) == "south"]
        assert there
        for name in there:
            await world.until(name, complete)
        lab.proxies["north"].thaw()
        for name in names:
            await world.until(name, complete)
            assert sum((await world.pods(name)).values()) == 1


async def test_work_of_a_lost_worker_moves_with_what_it_has_earned(lab: Lab) -> None:
    world = lab.world
    await lab.add_workers()
    queue = await world.queue("soon", **SOON)
    spec = job("a", queue=queue, seconds=FOREVER, completions=3, parallelism=2, backoffLimit=4)
    async with lab.dispatcher():
        await world.run(spec, runs(2))
        await world.finish_pod("north", "a")
        before = await world.until("a", lambda obj: count(obj, "succeeded") == 1)

        await lab.proxies["north"].cut()
        moved = await world.mirror("a", runs(2), attempt=2)
        assert await world.where("a", attempt=2) == "south"
        assert moved["spec"]["completions"] == 2
        after = await world.until("a", runs(2))
        assert count(after, "succeeded") == 1
        assert after["status"]["startTime"] == before["status"]["startTime"]

        await lab.proxies["north"].mend()
        await until_none(world.workers["north"], named(JOBS, "a", world.namespace))
        for _ in range(2):
            await world.finish_pod("south", "a")
        assert count(await world.until("a", complete), "succeeded") == 3


async def test_what_a_lost_worker_has_left_of_the_limits_goes_with_its_work(
    lab: Lab,
) -> None:
    world = lab.world
    await lab.add_workers()
    queue = await world.queue("soon", **SOON)
    limits: dict[str, Any] = {"backoffLimit": 4, "activeDeadlineSeconds": 600}
    async with lab.dispatcher():
        await world.run(job("a", queue=queue, seconds=FOREVER, **limits), runs(1))

        await lab.proxies["north"].cut()

        moved = await world.mirror("a", attempt=2)
        assert moved["spec"]["backoffLimit"] == 4
        assert 570 < moved["spec"]["activeDeadlineSeconds"] < 600


async def test_a_job_whose_deadline_is_over_when_its_worker_is_lost_has_failed(
    lab: Lab,
) -> None:
    world = lab.world
    await lab.add_workers()
    lost_after = {"action": "Move", "afterSeconds": 4}
    queue = await world.queue("later", **NORTH_FIRST, onWorkerLost=lost_after)
    async with lab.dispatcher():
        brief = job("a", queue=queue, seconds=FOREVER, activeDeadlineSeconds=4)
        await world.run(brief, runs(1))

        await lab.proxies["north"].cut()

        done = await world.until("a", failed)
        assert condition(done, "Failed")["reason"] == "DeadlineExceeded"
        assert await world.pods("a") in ({}, {"north": 1})


async def test_nothing_moves_if_the_queue_says_to_wait(lab: Lab) -> None:
    world = lab.world
    await lab.add_workers()
    queue = await world.queue("waiting", **WAITING)
    async with lab.dispatcher():
        await world.run(job("a", queue=queue, seconds=FOREVER), runs(1))
        await lab.proxies["north"].cut()
        await lab.worker("north", lost)
        await world.run(job("b", queue=queue), complete)  # meanwhile it would have been seen to

        await lab.proxies["north"].mend()
        await world.finish_pod("north", "a")

        assert _attempt(await world.until("a", complete)) == 1


async def test_nothing_moves_if_most_workers_are_lost_at_once(lab: Lab) -> None:
    world = lab.world
    await lab.add_workers()
    queue = await world.queue("soon", **SOON)
    async with lab.dispatcher():
        await world.run(job("a", queue=queue, seconds=FOREVER), runs(1))
        for proxy in lab.proxies.values():
            await proxy.cut()
        for name in lab.proxies:
            await lab.worker(name, lost)
        await sleep(SystemClock(), 2)  # the time after which it would have moved

        await lab.proxies["north"].mend()
        await lab.proxies["south"].mend()
        await world.finish_pod("north", "a")

        assert _attempt(await world.until("a", complete)) == 1


async def test_the_time_starts_anew_when_we_are_not_cut_off_any_more(lab: Lab) -> None:
    world, clock = lab.world, SystemClock()
    await lab.add_workers()
    lost_after = {"action": "Move", "afterSeconds": 2}
    queue = await world.queue("later", **NORTH_FIRST, onWorkerLost=lost_after)
    async with lab.dispatcher():
        await world.run(job("a", queue=queue, seconds=FOREVER), runs(1))
        for proxy in lab.proxies.values():
            await proxy.cut()
        for name in lab.proxies:
            await lab.worker(name, lost)
        await sleep(clock, 2)

        await lab.proxies["south"].mend()
        await lab.worker("south")
        began = clock.monotonic()

        assert await world.where("a", attempt=2) == "south"
        assert clock.monotonic() - began > 1


async def test_several_dispatchers_agree_on_what_they_say_about_a_worker(lab: Lab) -> None:
    await lab.add_worker("south")
    await lab.proxies["south"].cut()
    hub, versions = lab.world.hub, []
    informer = Informer(hub, named(WORKERS, "south"), Head)
    informer.listen(lambda change: versions.append(change.item.head.metadata.resource_version))
    async with supervise.tasks("follow", clock=hub.clock) as tasks:
        tasks.start("informer", informer.run)
        async with lab.standby():
            await lab.worker("south", lost)
            await sleep(hub.clock, 1)  # the second one misses it later than the first
            async with lab.standby(managed_by=("example.com/other",)):
                await sleep(hub.clock, 1)
                assert len(versions) < 10


async def test_a_worker_that_is_lost_says_since_when(lab: Lab) -> None:
    await lab.add_workers()
    async with lab.dispatcher():
        before = SystemClock().now()
        await lab.proxies["north"].cut()

        worker = await lab.worker("north", lambda obj: obj["status"].get("lostSince"))

        since = times.instant(worker["status"]["lostSince"])
        assert abs((since - before).total_seconds()) < 3
        await lab.proxies["north"].mend()
        await lab.worker("north", lambda obj: not obj["status"].get("lostSince"))


def _attempt(obj: Obj) -> int:
    return int(condition(obj, "Placed")["message"].split()[1])


async def test_a_worker_that_takes_nothing_new_keeps_what_it_has(lab: Lab) -> None:
    world = lab.world
    await lab.add_workers()
    queue = await world.queue("north-first", **NORTH_FIRST)
    async with lab.dispatcher():
        await world.run(job("old", queue=queue, seconds=FOREVER), runs(1))

        await lab.edit_worker("north", drain="NoNewWork")
        await lab.worker("north", lambda obj: obj["spec"]["drain"] == "NoNewWork")
        await world.run(job("new", queue=queue), complete)

        assert await world.where("new") == "south"
        await world.finish_pod("north", "old")
        assert _attempt(await world.until("old", complete)) == 1


async def test_a_drained_worker_gives_its_work_away_and_pods_never_overlap(
    lab: Lab,
) -> None:
    world = lab.world
    await lab.add_workers()
    queue = await world.queue("north-first", **NORTH_FIRST)
    spec = job("a", queue=queue, seconds=FOREVER, completions=3, parallelism=2)
    async with lab.dispatcher(), Overlap(world) as overlap:
        await world.run(spec, runs(2))
        await world.finish_pod("north", "a")
        await world.until("a", counts(succeeded=1, ready=2))

        await lab.edit_worker("north", drain="MoveAway")

        moved = await world.mirror("a", runs(2), attempt=2)
        assert await world.where("a", attempt=2) == "south"
        assert moved["spec"]["completions"] == 2
        assert not overlap.seen
        await until_none(world.workers["north"], named(JOBS, "a", world.namespace))
        for _ in range(2):
            await world.finish_pod("south", "a")
        done = await world.until("a", complete)
        assert count(done, "succeeded") == 3
        assert count(done, "failed") == 0


class Overlap:
    """Watches the pods on all workers, and notes if they run on two of them at once."""

    def __init__(self, world: World) -> None:
        self.seen = False
        scope = Scope(resource=PODS, namespace=world.namespace)
        self._informers = [Informer(each, scope, Head) for each in world.workers.values()]
        for informer in self._informers:
            informer.listen(self._look)
        self._tasks = supervise.tasks("overlap", clock=world.hub.clock)

    async def __aenter__(self) -> "Overlap":
        tasks = await self._tasks.__aenter__()
        for informer in self._informers:
            tasks.start("informer", informer.run)
            await informer.synced.wait()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._tasks.__aexit__(None, None, None)

    def _look(self, _: object) -> None:
        busy = [
            any(map(_is_busy, (item.object() for item in each))) for each in self._informers
        ]
        self.seen |= sum(busy) > 1


def _is_busy(pod: Obj) -> bool:
    return pod["status"]["phase"] in {"Pending", "Running"}


async def test_the_only_worker_keeps_its_work_though_it_is_drained(lab: Lab) -> None:
    world = lab.world
    await lab.add_worker("north")
    async with lab.dispatcher():
        await world.run(job("a", seconds=FOREVER), runs(1))

        await lab.edit_worker("north", drain="MoveAway")
        await world.submit(job("b"))
        await world.finish_pod("north", "a")

        assert _attempt(await world.until("a", complete)) == 1
        assert condition(await world.until("b", is_there), "Placed") == {}


async def test_a_worker_holds_no_more_than_it_may(lab: Lab) -> None:
    world = lab.world
    await lab.add_worker("north", maxMirrors=1)
    await lab.add_worker("south")
    queue = await world.queue("north-first", **NORTH_FIRST)
    async with lab.dispatcher():
        await world.run(job("a", queue=queue, seconds=FOREVER), runs(1))
        await world.run(job("b", queue=queue), complete)
        assert await world.where("a") == "north"
        assert await world.where("b") == "south"

        await world.finish_pod("north", "a")
        await world.until("a", complete)

        await world.run(job("c", queue=queue), complete)
        assert await world.where("c") == "north"


async def test_an_api_server_that_is_slow_to_answer_delays_nothing_for_good(
    lab: Lab,
) -> None:
    world = lab.world
    await lab.add_worker("south")
    async with lab.dispatcher():
        lab.proxies["south"].freeze()
        await world.submit(job("a"))
        await world.where("a")

        lab.proxies["south"].thaw()

        await world.until("a", complete)
        assert await world.pods("a") == {"south": 1}
