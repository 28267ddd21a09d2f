"""What the dispatcher costs as work grows: more Jobs, more of others' Jobs, more workers (`make bench`).

The clusters have no Job controllers, so that 10,000 Jobs fit on a small machine: the bench itself says of each
mirror that it is complete. What counts is the CPU time and memory of the dispatcher's process.
"""

import argparse
import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench import bursts, command, dispatchers, jobs, scale_report
from bench.command import Found, say
from bench.dispatchers import DIRECT, JOBFERRY, Jobferry
from bench.fleet import HUB, NAMES, WORKER_NAMES, Fleet, add_worker, fleet
from bench.observer import Observer, observer
from jobferry.clock import Seconds, SystemClock
from jobferry.kube.client import Client
from jobferry.kube.resources import JOBS
from jobferry.objects import Obj
from jobferry.objects.times import timestamp
from jobferry.workers.resource import WORKERS

SHARED = {"sharedCluster": True}
"""What a Worker says that stands for the same cluster as another."""

Figures = dict[str, float]
"""What was measured at one size, by the keys of bench.scale_report."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How much is measured."""

    jobs: tuple[int, ...] = (100, 1_000, 10_000)
    foreign: int = 10_000
    """Jobs of others on the hub."""

    workers: tuple[int, ...] = (2, 20, 100)
    some: int = 1_000
    """Jobs to see what those of others, and many workers, cost."""

    idle: Seconds = 10.0


FULL = Sizes()
QUICK = Sizes(jobs=(5,), foreign=20, workers=(3,), some=10, idle=1.0)


class Bench:
    """Measures a dispatcher, fresh for each size, on one fleet."""

    def __init__(self, fleet: Fleet, observer: Observer, sizes: Sizes) -> None:
        self._fleet = fleet
        self._observer = observer
        self._sizes = sizes
        self._workers = list(WORKER_NAMES)

    async def run(self) -> Found:
        """Measure everything."""
        found = {"jobs": [await self._life(count) for count in self._sizes.jobs]}
        async with self._foreign_jobs():
            found["foreign"] = [await self._life(self._sizes.some)]
        found["workers"] = [await self._with_workers(count) for count in self._sizes.workers]
        return found

    async def _life(self, count: int) -> Figures:
        """Measure what it takes to lead so many Jobs through their life."""
        say(f"{count} Jobs on {len(self._workers)} workers.")
        namespace = await bursts.new_namespace(self._fleet)
        found: Figures = {"jobs": count, "workers": len(self._workers)}
        async with self._dispatcher() as dispatcher:
            cost = partial(_cost, dispatcher)
            found["place"] = await cost(self._place(namespace, count))
            found["idle"] = await cost(asyncio.sleep(self._sizes.idle)) / self._sizes.idle
            found["reconnect"] = await cost(self._reconnect(dispatcher))
            peak = dispatcher.process.usage().peak
        async with self._dispatcher() as dispatcher:
            await dispatcher.settled()
            found["start"] = dispatcher.process.usage().cpu
            cost = partial(_cost, dispatcher)
            found["finish"] = await cost(self._finish(namespace, count))
            found["memory"] = dispatcher.process.usage().memory
            found["remove"] = await cost(self._remove(namespace, count))
            found["peak"] = max(peak, dispatcher.process.usage().peak)
        return found

    @asynccontextmanager
    async def _dispatcher(self) -> AsyncIterator[Jobferry]:
        async with dispatchers.jobferry(self._fleet) as dispatcher:
            await dispatcher.ready(self._workers)
            yield dispatcher

    async def _place(self, namespace: str, count: int) -> None:
        await bursts.create(jobs.names(count), JOBFERRY, 0, namespace, self._fleet)
        await self._observer.there(WORKER_NAMES, namespace, count)

    async def _reconnect(self, dispatcher: Jobferry) -> None:
        """Let a worker's API server go, and come back."""
        await asyncio.to_thread(self._fleet.planes[WORKER_NAMES[0]].restart)
        await dispatcher.ready(self._workers)

    async def _finish(self, namespace: str, count: int) -> None:
        """Say of every mirror that it is complete, as a Job controller would."""
        body = _complete()
        for client in self._fleet.workers:

            async def finish(name: str, client: Client = client) -> None:
                await client.patch(JOBS, name, body, namespace=namespace, subresource="status")

            seen = self._observer[client.name].appeared
            names = [key.name for key in seen if key.namespace == namespace]
            await jobs.each(names, finish, at_once=bursts.WRITERS)
        await self._observer.ended([HUB], namespace, count)

    async def _remove(self, namespace: str, count: int) -> None:
        """Delete the Jobs on the hub, and wait until they are gone everywhere."""
        delete = partial(
            self._fleet.hub.delete, JOBS, namespace=namespace, propagation="Background"
        )
        await jobs.each(jobs.names(count), delete, at_once=bursts.WRITERS)
        await self._observer.there(NAMES, namespace, 0)

    @asynccontextmanager
    async def _foreign_jobs(self) -> AsyncIterator[None]:
        """Have Jobs on the hub that are not ours."""
        say(f"Creating {self._sizes.foreign} Jobs of others.")
        namespace = await bursts.new_namespace(self._fleet)
        hub = self._fleet.hub

        async def make(name: str) -> None:
            await hub.create(JOBS, dispatchers.job(name, DIRECT, 0), namespace=namespace)

        await jobs.each(jobs.names(self._sizes.foreign), make, at_once=bursts.WRITERS)
        yield
        await self._remove(namespace, self._sizes.foreign)

    async def _with_workers(self, count: int) -> Figures:
        """Measure with so many workers: the same two clusters under several names."""
        for name in WORKER_NAMES:
            await self._fleet.hub.patch(WORKERS, name, {"spec": SHARED})
        for number in range(len(self._workers), count):
            name, cluster = f"worker-{number}", WORKER_NAMES[number % len(WORKER_NAMES)]
            await add_worker(self._fleet, name, cluster, **SHARED)
            self._workers.append(name)
        return await self._life(self._sizes.some)


async def _cost(dispatcher: Jobferry, doing: Awaitable[object]) -> Seconds:
    """Return the CPU that a dispatcher takes for something, until it has settled."""
    before = dispatcher.process.usage()
    await doing
    await dispatcher.settled()
    return dispatcher.process.usage().cpu - before.cpu


def _complete() -> Obj:
    now = timestamp(SystemClock().now())
    conditions = [
        {"type": type, "status": "True", "lastTransitionTime": now}
        for type in ("SuccessCriteriaMet", "Complete")
    ]
    status = {"startTime": now, "completionTime": now, "succeeded": 1, "conditions": conditions}
    return {"status": status}


async def measure(sizes: Sizes) -> Found:
    """Start the clusters, measure at each size, and return everything there is to know."""
    async with fleet(controllers=()) as clusters, observer(clusters.clients) as seen:
        found = await Bench(clusters, seen, sizes).run()
        return {
            "kubernetes": clusters.planes[HUB].version,
            "foreign": sizes.foreign,
            "sizes": found,
        }


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench.scale")
    add = parser.add_argument
    add("--quick", action="store_true", help="small sizes: does it work at all")
    add("--json", type=Path, metavar="FILE", help="write every figure there")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print; fails only if something did not work, whatever the figures are."""
    arguments = _arguments(argv)
    sizes = QUICK if arguments.quick else FULL
    return command.run(lambda: measure(sizes), scale_report.shown, arguments.json)


if __name__ == "__main__":
    sys.exit(main())
