"""Workers whose API server hangs: connections stay open, and nothing comes back."""

from secrets import token_hex
from typing import Any

import pytest

from jobferry.clock import sleep
from jobferry.core import times
from jobferry.kube.heartbeat import LOST_AFTER, SUSPECT_AFTER
from jobferry.kube.resources import JOBS
from jobferry.objects import Obj
from jobferry.runtime import supervise
from jobferry.testing.clock import ManualClock
from tests.system.fleet import add_worker
from tests.system.impostor import granted, user
from tests.system.jobs import (
    FOREVER,
    NORTH_FIRST,
    Holds,
    attempt,
    complete,
    condition,
    job,
    lost,
    runs,
    tells,
)
from tests.system.lab import Lab
from tests.system.world import named, until_none

pytestmark = pytest.mark.fleet

SLACK = 2.0
"""By how much the last answer may be older than a freeze, and by how much real clusters may be late."""

MOVE_AFTER = 20.0


def is_not_ready(reason: str) -> Holds:
    """Hold if a Worker gets no new work, for that reason."""

    def judge(worker: Obj) -> bool:
        ready = condition(worker, "Ready")
        return (ready.get("status"), ready.get("reason")) == ("False", reason)

    return judge


def moving(seconds: float) -> dict[str, Any]:
    return {**NORTH_FIRST, "onWorkerLost": {"action": "Move", "afterSeconds": seconds}}


@pytest.mark.timeout(90)
async def test_all_is_counted_from_the_last_answer(lab: Lab) -> None:
    world, clock = lab.world, lab.fleet.clock
    await lab.add_workers()
    queue = await world.queue("later", **moving(MOVE_AFTER))
    async with lab.dispatcher():
        await world.run(job("a", queue=queue, seconds=FOREVER), runs(1))
        lab.proxies["north"].freeze()
        frozen, frozen_at = clock.monotonic(), clock.now()

        def passed() -> float:
            return clock.monotonic() - frozen

        worker = await lab.worker("north", is_not_ready("Silent"))
        assert SUSPECT_AFTER - SLACK <= passed() <= SUSPECT_AFTER + SLACK
        assert condition(worker, "Connected")["status"] == "True"
        await world.run(job("b", queue=queue), complete)
        assert await world.where("b") == "south"

        worker = await lab.worker("north", lost)
        assert LOST_AFTER - SLACK <= passed() <= LOST_AFTER + SLACK
        assert condition(worker, "Connected")["reason"] == "Silent"
        since = times.instant(worker["status"]["lostSince"])
        assert -SLACK - 1 <= (since - frozen_at).total_seconds() <= 1

        assert await world.where("a", attempt=2) == "south"
        assert MOVE_AFTER - SLACK <= passed() <= MOVE_AFTER + SLACK

        lab.proxies["north"].thaw()
        await lab.worker("north")
        assert passed() <= MOVE_AFTER + 2 * SLACK
        await until_none(world.workers["north"], named(JOBS, "a", world.namespace))


@pytest.mark.timeout(90)
async def test_jobs_for_others_are_not_late_and_those_never_sent_move_at_once(lab: Lab) -> None:
    world, clock = lab.world, lab.fleet.clock
    await lab.add_workers()
    names = [f"job-{number}" for number in range(30)]
    async with lab.dispatcher(passes=4, requests_in_flight=2):
        lab.proxies["north"].freeze()
        began = clock.monotonic()
        for name in names:
            await world.submit(job(name))
        first = {name: await world.where(name) for name in names}
        for name in (name for name in names if first[name] == "south"):
            await world.until(name, complete)
        late = clock.monotonic() - began
        assert late < (1 if isinstance(clock, ManualClock) else SUSPECT_AFTER - SLACK)

        # Of those that were to go to north it has heard of two at most, who wait for it as they must.
        sent = [name for name in names if first[name] == "north"][:2]
        for name in names:
            if name not in sent:
                await world.until(name, complete)
        assert clock.monotonic() - began < LOST_AFTER

        lab.proxies["north"].thaw()
        for name in names:
            done = await world.until(name, complete)
            assert attempt(done) == (1 if name in sent or first[name] == "south" else 2)
            assert sum((await world.pods(name)).values()) == 1


@pytest.mark.timeout(60)
async def test_a_short_silence_moves_nothing_and_nothing_is_missed(lab: Lab) -> None:
    world = lab.world
    await lab.add_workers()
    queue = await world.queue("later", **moving(60))
    async with lab.dispatcher():
        await world.run(job("a", queue=queue, seconds=FOREVER), runs(1))
        lab.proxies["north"].freeze()
        await lab.worker("north", lost)
        await world.finish_pod("north", "a")

        lab.proxies["north"].thaw()

        done = await world.until("a", complete)
        assert attempt(done) == 1
        await lab.worker("north")


@pytest.mark.timeout(90)
async def test_a_worker_that_refuses_us_says_so_and_keeps_its_work_as_long_as_a_lost_one(
    lab: Lab,
) -> None:
    world, clock, somebody = lab.world, lab.fleet.clock, f"somebody-{token_hex(4)}"
    north, role = world.workers["north"], "jobferry-worker"
    await lab.add_worker("south")
    await add_worker(world.hub, "north", lab.kubeconfig("north", somebody))
    queue = await world.queue("later", **moving(MOVE_AFTER))
    async with lab.standby():
        async with granted(north, role, user(somebody), f"{somebody}-1"):
            await lab.worker("north")
            await lab.worker("south")
            await world.run(job("a", queue=queue, seconds=FOREVER), runs(1))
        began, began_at = clock.monotonic(), clock.now()

        worker = await lab.worker("north", tells("Forbidden"))
        assert clock.monotonic() - began <= 2 * SLACK
        since = times.instant(worker["status"]["lostSince"])
        assert -SLACK - 1 <= (since - began_at).total_seconds() <= SLACK
        await world.run(job("b", queue=queue), complete)
        assert await world.where("b") == "south"

        assert await world.where("a", attempt=2) == "south"
        assert MOVE_AFTER - SLACK <= clock.monotonic() - began <= MOVE_AFTER + 2 * SLACK

        async with granted(north, role, user(somebody), f"{somebody}-2"):
            await lab.worker("north")
            await until_none(north, named(JOBS, "a", world.namespace))


@pytest.mark.timeout(60)
async def test_a_hub_that_was_silent_is_followed_as_soon_as_it_is_back(lab: Lab) -> None:
    world, clock = lab.world, lab.fleet.clock
    await lab.add_workers()
    async with lab.network() as network, supervise.tasks("test", clock=clock) as tasks:
        tasks.start("dispatcher", lambda: lab.replica(network=network))
        await lab.worker("north")
        await lab.worker("south")

        network.freeze()
        await sleep(clock, LOST_AFTER + SLACK)
        await world.submit(job("a"))
        network.strand()
        began = clock.monotonic()

        await world.until("a", complete)
        # A watch that nobody let go of would be taken for alive for another minute.
        assert clock.monotonic() - began < 15
