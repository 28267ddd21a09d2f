"""A worker whose API server is frozen (SIGSTOP), as a process that swaps or a hypervisor that stops it would be."""

import asyncio

import pytest

from jobferry.clock import sleep
from jobferry.core import times
from jobferry.kube.heartbeat import LOST_AFTER, SUSPECT_AFTER
from jobferry.kube.resources import JOBS
from jobferry.objects import Obj
from jobferry.testing.control_plane import JOB_CONTROLLERS, ControlPlane
from tests.system.fleet import HUB_VERSION, WORKER, add_worker, prepare
from tests.system.impostor import granted, user
from tests.system.jobs import FOREVER, Holds, complete, condition, is_there, job, lost
from tests.system.lab import Lab
from tests.system.world import named, until_none, until_one

pytestmark = pytest.mark.fleet("processes")

SLACK = 2.5
"""The last answer may have been two seconds before; and machines are busy."""

MOVE_AFTER = 16.0


def is_silent(worker: Obj) -> bool:
    """Hold if a Worker gets no new work since it is silent."""
    return condition(worker, "Ready").get("reason") == "Silent"


@pytest.mark.timeout(120)
async def test_a_frozen_api_server_costs_its_own_work_only_and_that_no_longer_than_said(
    lab: Lab,
) -> None:
    world, clock = lab.world, lab.fleet.clock
    moving = {"action": "Move", "afterSeconds": MOVE_AFTER}
    order = {"placement": "Ordered", "workers": {"order": ["extra", "south"]}}
    queue = await world.queue("any", **order, onWorkerLost=moving)
    only = {"workers": {"selector": {"matchLabels": {"name": "south"}}}}
    others = await world.queue("others", **only)
    extra_plane = ControlPlane(version=HUB_VERSION, controllers=JOB_CONTROLLERS)
    async with extra_plane as plane, lab.connect(plane) as extra:
        await prepare(extra)
        kubeconfig = plane.kubeconfig(WORKER)
        await add_worker(world.hub, "extra", kubeconfig, namespaces={"create": True})
        await lab.add_worker("south")
        async with (
            granted(extra, "jobferry-worker-namespaces", user(WORKER), "namespaces"),
            lab.dispatcher(),
        ):
            await world.submit(job("a", queue=queue, seconds=FOREVER))
            await until_one(extra, named(JOBS, "a", world.namespace), is_there)
            usual = await took(lab, "before", others)

            plane.freeze()
            frozen, frozen_at = clock.monotonic(), clock.now()

            async def at(wanted: Holds) -> float:
                await lab.worker("extra", wanted)
                return clock.monotonic() - frozen

            async def steady() -> list[float]:
                found: list[float] = []
                while clock.monotonic() - frozen < MOVE_AFTER:
                    found.append(await took(lab, f"b-{len(found)}", others))
                    await sleep(clock, 0.5)
                return found

            steadily = asyncio.ensure_future(steady())
            assert SUSPECT_AFTER - SLACK <= await at(is_silent) <= SUSPECT_AFTER + SLACK
            await world.run(job("c", queue=queue), complete)
            assert await world.where("c") == "south"
            assert LOST_AFTER - SLACK <= await at(lost) <= LOST_AFTER + SLACK
            worker = await lab.worker("extra", lost)
            since = times.instant(worker["status"]["lostSince"])
            assert -SLACK - 1 <= (since - frozen_at).total_seconds() <= 1

            assert await world.where("a", attempt=2) == "south"
            moved = clock.monotonic() - frozen
            assert MOVE_AFTER - SLACK <= moved <= MOVE_AFTER + SLACK
            assert max(await steadily) < usual + 1

            plane.thaw()
            await lab.worker("extra")
            await until_none(extra, named(JOBS, "a", world.namespace))


async def took(lab: Lab, name: str, queue: str) -> float:
    """Run a Job; return how long it was until its mirror was there."""
    began = lab.fleet.clock.monotonic()
    await lab.world.submit(job(name, queue=queue))
    await lab.world.on("south", name)
    return lab.fleet.clock.monotonic() - began
