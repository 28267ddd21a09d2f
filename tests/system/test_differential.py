"""The same histories in virtual time, and on clusters as they are: their Jobs must end alike."""

import asyncio
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, nullcontext
from pathlib import Path
from typing import Any

import pytest

from jobferry.clock import Clock, Seconds, SystemClock, sleep
from jobferry.errors import Error
from jobferry.kube.calls import Scope
from jobferry.kube.client import Client
from jobferry.kube.resources import JOBS
from jobferry.objects import Obj
from jobferry.runtime import supervise
from jobferry.testing.simulation.events import Event, History
from jobferry.testing.simulation.playing import ACTIONS, play
from tests import needs
from tests.simulation import mild
from tests.system.fleet import DISPATCHER, Fleet
from tests.system.jobs import ended
from tests.system.lab import Lab
from tests.system.replicas import Replicas
from tests.system.test_kills import HUB
from tests.system.world import until

pytestmark = [pytest.mark.fleet("processes"), pytest.mark.timeout(180)]

CLOCK: Clock = SystemClock()
SEEDS = range(20 if needs.SOAK else 1)
DISPATCHERS = 2
WORKERS = {"w1": "north", "w2": "south"}


class Clusters:
    """As much of a simulated world as mild histories need, made of clusters and processes."""

    def __init__(self, lab: Lab, replicas: Replicas, tasks: supervise.Supervisor) -> None:
        self._lab = lab
        self._replicas = replicas
        self._tasks = tasks
        self._turns = {worker: asyncio.Lock() for worker in WORKERS.values()}

    async def happen(self, event: Event) -> None:
        """Let something happen; that it comes to nothing is as good an outcome as any."""
        args = self._here(event.args)
        if event.name in ("part", "freeze"):
            trouble = self._part if event.name == "part" else self._freeze
            self._tasks.start(event.name, lambda: trouble(args["cluster"], args["seconds"]))
            return
        try:
            await ACTIONS[event.name].run(self, **args)
        except Error:
            return

    def client(self, name: str) -> AbstractAsyncContextManager[Client]:
        """Return somebody who may do everything on the hub."""
        assert name == "hub"
        return nullcontext(self._lab.world.hub)

    def kill(self, who: str, seconds: Seconds) -> None:
        """End one of the dispatchers, which leads most likely, and start another after a while."""
        self._replicas.scale(1)  # it may be the second within that time
        self._replicas.kill()
        CLOCK.call_later(seconds, lambda: self._replicas.scale(DISPATCHERS))

    async def _part(self, worker: str, seconds: Seconds) -> None:
        """Cut a worker off from all dispatchers for a while."""
        async with self._turns[worker]:
            await self._lab.proxies[worker].cut()
            await sleep(CLOCK, seconds)
            await self._lab.proxies[worker].mend()

    async def _freeze(self, worker: str, seconds: Seconds) -> None:
        """Let a worker answer nothing for a while."""
        async with self._turns[worker]:
            self._lab.proxies[worker].freeze()
            await sleep(CLOCK, seconds)
            self._lab.proxies[worker].thaw()

    def _here(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """Name what the history means as it is named here."""
        known = {
            key: WORKERS.get(value, value) if isinstance(value, str) else value
            for key, value in args.items()
        }
        if "namespace" in known:
            known["namespace"] = self._lab.world.namespace
        return known


async def played(lab: Lab, history: History, replicas: Replicas) -> list[Obj]:
    """Play a history on clusters; return how its Jobs are in the end."""
    loop = asyncio.get_running_loop()
    async with supervise.tasks("history", clock=CLOCK) as tasks:
        clusters = Clusters(lab, replicas, tasks)
        began = loop.time()
        for event in history.events:
            await sleep(CLOCK, began + event.at - loop.time())
            await clusters.happen(event)
        scope = Scope(resource=JOBS, namespace=lab.world.namespace)
        return await until(lab.world.hub, scope, lambda jobs: all(map(ended, jobs)))


def endings(jobs: list[Obj]) -> dict[str, tuple[Any, ...]]:
    """Say of each Job how it ended, as far as that is not a matter of luck."""
    return {job["metadata"]["name"]: _ending(job["status"]) for job in jobs}


def _ending(status: Obj) -> tuple[Any, ...]:
    (end,) = (each for each in status["conditions"] if each["type"] in ("Complete", "Failed"))
    reached = {
        key: status.get(key) for key in ("succeeded", "completedIndexes", "active", "ready")
    }
    return end["type"], end["reason"], {key: value for key, value in reached.items() if value}


@pytest.mark.parametrize("seed", SEEDS)
async def test_jobs_end_as_they_do_in_a_simulation(
    fleet: Fleet, lab: Lab, tmp_path: Path, seed: int
) -> None:
    fleet.races.add(lab.world.namespace)
    history = mild.draw(seed)
    simulated = await asyncio.to_thread(play, history)
    assert not simulated.problems, f"{simulated.problems}\n{history}"

    await lab.add_workers()
    async with AsyncExitStack() as stack:
        kubeconfig = fleet.planes[HUB].kubeconfig(DISPATCHER)
        replicas = stack.enter_context(Replicas(kubeconfig, tmp_path))
        replicas.scale(DISPATCHERS)
        for worker in WORKERS.values():
            await lab.worker(worker)
        jobs = await played(lab, history, replicas)

    assert endings(jobs) == endings(simulated.jobs), str(history)
