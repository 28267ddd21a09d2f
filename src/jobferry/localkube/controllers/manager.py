"""All controllers of a cluster, built and run together.

    async with manager.running(client, root_ca=pem):
        ...                         # they work until the end of the block

Each is started again if it fails: one that is broken does not end the others.
"""

from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from functools import partial

from jobferry import log
from jobferry.clock import Seconds, sleep
from jobferry.errors import BadInput
from jobferry.kube.client import Client
from jobferry.kube.events import Record, Recorder
from jobferry.localkube.controllers.accounts import AccountController
from jobferry.localkube.controllers.collector import GarbageCollector
from jobferry.localkube.controllers.cron_jobs import CronJobController
from jobferry.localkube.controllers.everything import Everything
from jobferry.localkube.controllers.eviction import EvictionController
from jobferry.localkube.controllers.informers import Informers
from jobferry.localkube.controllers.job import controller as job
from jobferry.localkube.controllers.namespaces import NamespaceController
from jobferry.localkube.controllers.nodes import NodeController
from jobferry.localkube.controllers.pod_gc import PodCollector
from jobferry.localkube.controllers.quota import QuotaController
from jobferry.localkube.controllers.scheduler.scheduler import Scheduler
from jobferry.localkube.controllers.ttl import TtlController
from jobferry.runtime import supervise
from jobferry.runtime.backoff import Backoff
from jobferry.runtime.supervise import Run

BACKOFF = Backoff(first=1.0, cap=60.0)
"""A controller that fails at once is not tried all the time."""

HEALTHY: Seconds = 60.0
"""Who has run for so long has nothing to do with failures before."""

_log = log.get(__name__)


class Manager:
    """The controllers of one cluster; `services` says what there is to run, by name."""

    def __init__(self, client: Client, *, root_ca: str, without: Collection[str]) -> None:
        self.client = client
        self.informers = Informers(client)
        self.everything = Everything(client, self.informers)
        self.services: dict[str, Run] = {"everything": self.everything.run}
        self._root_ca = root_ca
        makers = self._makers()
        if unknown := sorted({*without} - makers.keys()):
            known = ", ".join(makers)
            raise BadInput(f"there is no controller {unknown[0]!r}; there are {known}")
        for name, make in makers.items():
            if name not in without:
                self.services[name] = make()

    def _makers(self) -> dict[str, Callable[[], Run]]:
        """Say how each controller is made: they ask for informers, which run before them."""
        client, informers, tell = self.client, self.informers, self._tell
        everything = self.everything
        return {
            "scheduler": lambda: Scheduler(client, informers, tell("default-scheduler")).run,
            "job": lambda: job.controller(client, informers, tell("job-controller")).run,
            "cron-jobs": lambda: (
                CronJobController(client, informers, tell("cronjob-controller")).run
            ),
            "ttl": lambda: TtlController(client, informers).run,
            "accounts": lambda: AccountController(client, informers, root_ca=self._root_ca).run,
            "nodes": lambda: NodeController(client, informers, tell("node-controller")).run,
            "evictions": lambda: (
                EvictionController(client, informers, tell("taint-eviction-controller")).run
            ),
            "pod-gc": lambda: PodCollector(client, informers).run,
            "namespaces": lambda: NamespaceController(client, informers, everything).run,
            "quotas": lambda: QuotaController(client, informers, everything).run,
            "garbage-collector": lambda: GarbageCollector(client, everything).run,
        }

    def _tell(self, component: str) -> Record:
        """Return what tells people something in the name of one of the controllers."""
        recorder = Recorder(self.client, component=component, instance=component)
        self.services[f"events of {component}"] = recorder.run
        return recorder.record

    async def restarted(self, name: str, run: Run) -> None:
        """Run a service, again whenever it fails."""
        failures = 0
        while True:
            began = self.client.clock.monotonic()
            try:
                await run()
            except Exception as error:  # noqa: BLE001 (whatever it is, the others go on)
                _log.failure("Controller failed", error, controller=name)
            lasted = self.client.clock.monotonic() - began
            failures = 1 if lasted > HEALTHY else failures + 1
            delay = BACKOFF.delay(failures, self.client.random.random())
            await sleep(self.client.clock, delay)


@asynccontextmanager
async def running(
    client: Client, *, root_ca: str = "", without: Collection[str] = ()
) -> AsyncIterator[Manager]:
    """Run all controllers during the block, but those that are named in `without`.

    `root_ca` is the certificate, in PEM, by which pods know the API server; empty: they are not told.
    """
    manager = Manager(client, root_ca=root_ca, without=without)
    async with supervise.tasks("controllers", clock=client.clock) as tasks:
        for name, run in manager.informers.runs().items():
            tasks.start(name, partial(manager.restarted, name, run))
        await manager.informers.whole()
        for name, run in manager.services.items():
            tasks.start(name, partial(manager.restarted, name, run))
        yield manager
