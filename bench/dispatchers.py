"""Who brings Jobs to workers: Jobferry, an ideal that thinks nothing, or nobody."""

import asyncio
import urllib.request
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from itertools import cycle

import msgspec

from bench import ideal
from bench.command import until
from bench.fleet import HUB, NAMES, SYSTEM, WORKER_NAMES, Fleet
from bench.processes import Child, child
from jobferry.clock import Seconds
from jobferry.kube import errors
from jobferry.kube.client import Client
from jobferry.kube.resources import LEASES
from jobferry.objects import Obj
from jobferry.settings import DEFAULTS
from jobferry.testing.component import free_port
from jobferry.testing.pods import RUN_SECONDS
from jobferry.testing.programs import ADDRESS

JOBFERRY, IDEAL, DIRECT = "jobferry", "ideal", "direct"
CONTENDERS = (JOBFERRY, IDEAL, DIRECT)

SETTLING: Seconds = 1.0
"""Nothing that a dispatcher still has to do takes longer to begin."""

MANAGERS = {JOBFERRY: DEFAULTS.managed_by[0], IDEAL: ideal.MANAGER}


def job(name: str, contender: str, seconds: Seconds) -> Obj:
    """Return a Job of one pod that runs for so long, for a contender to dispatch."""
    managed = {"managedBy": MANAGERS[contender]} if contender in MANAGERS else {}
    template = {
        "metadata": {"annotations": {RUN_SECONDS: str(seconds)}},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "none"}]},
    }
    return {"metadata": {"name": name}, "spec": {**managed, "template": template}}


def targets(contender: str, fleet: Fleet) -> Iterator[Client]:
    """Return where Jobs are created, one after the other."""
    return cycle(fleet.workers if contender == DIRECT else [fleet.hub])


@asynccontextmanager
async def running(contender: str, fleet: Fleet) -> AsyncIterator[Child | None]:
    """Run a dispatcher in a process of its own during the block; it has its workers by then."""
    if contender == JOBFERRY:
        async with jobferry(fleet) as dispatcher:
            await dispatcher.ready(WORKER_NAMES)
            yield dispatcher.process
    elif contender == IDEAL:
        files = msgspec.json.encode(
            {name: str(fleet.kubeconfig(name)) for name in NAMES}
        ).decode()
        with child(fleet.guard, fleet.log(IDEAL), "bench.ideal", files) as process:
            await process.ready()
            yield process
    else:
        yield None


class Jobferry:
    """A dispatcher, and what it tells about itself."""

    def __init__(self, fleet: Fleet, process: Child, lease: str, port: int) -> None:
        self.process = process
        self._fleet = fleet
        self._lease = lease
        self._port = port

    async def ready(self, workers: Iterable[str]) -> None:
        """Wait until it leads and is connected to these Workers."""
        connected = [f'jobferry_worker_connected{{worker="{name}"}}' for name in workers]

        async def is_ready() -> bool:
            self.process.check()
            metrics = await self.metrics()
            return all(metrics.get(each) for each in connected) and await self._leads()

        await until(is_ready, "jobferry leads and has its workers")

    async def metrics(self) -> dict[str, float]:
        """Return what it tells about itself, by name and labels."""
        page = await asyncio.to_thread(self._page)
        samples = (line.rpartition(" ") for line in page.splitlines() if line[:1] != "#")
        return {name: float(value) for name, _, value in samples}

    async def settled(self) -> None:
        """Wait until it has nothing left to look at, and posts no more Events."""
        states = [f'jobferry_queue_length{{state="{each}"}}' for each in ("waiting", "in_work")]
        posted = 'jobferry_events_total{outcome="posted"}'
        last = -1.0

        async def is_settled() -> bool:
            nonlocal last
            metrics = await self.metrics()
            before, last = last, metrics[posted]
            return before == last and not any(metrics[state] for state in states)

        await until(is_settled, "jobferry has nothing left to do", every=SETTLING)

    def _page(self) -> str:
        try:
            with urllib.request.urlopen(f"http://{ADDRESS}:{self._port}/metrics") as answer:
                return str(answer.read().decode())
        except OSError:
            return ""  # it does not listen yet

    async def _leads(self) -> bool:
        try:
            lease = await self._fleet.hub.get(LEASES, self._lease, SYSTEM)
        except errors.NotFound:
            return False
        return bool(lease["spec"].get("holderIdentity"))


@asynccontextmanager
async def jobferry(fleet: Fleet) -> AsyncIterator[Jobferry]:
    """Run `jobferry run` during the block."""
    log, port = fleet.log(JOBFERRY), free_port(ADDRESS)
    # Each has a Lease of its own: it is killed, and the next is not to wait until it runs out.
    lease = f"bench-{port}"
    flags = (
        "run",
        f"--kubeconfig={fleet.kubeconfig(HUB)}",
        f"--lease-name={lease}",
        f"--listen={ADDRESS}:{port}",
    )
    with child(fleet.guard, log, "jobferry", *flags) as process:
        yield Jobferry(fleet, process, lease, port)
