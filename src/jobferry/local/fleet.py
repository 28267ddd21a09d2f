"""A hub, its workers and the dispatcher, from start to end."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from jobferry.clock import Clock
from jobferry.dispatch import hub_checks
from jobferry.kube import kubeconfig
from jobferry.kube.calls import Scope
from jobferry.kube.client import Client, connect
from jobferry.kube.informer import Informer
from jobferry.kube.items import Head, Key
from jobferry.local import contexts
from jobferry.local.layout import HUB, Layout
from jobferry.local.processes import Cluster
from jobferry.objects import conditions
from jobferry.runtime import supervise
from jobferry.settings import Settings
from jobferry.workers.resource import WORKERS


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a fleet is made of."""

    layout: Layout
    workers: Sequence[str]
    images: Sequence[str] = ()
    """What the pods of its clusters run in: see localkube.runner."""

    dispatcher: Settings


@dataclass(frozen=True, slots=True)
class Fleet:
    """A fleet that is ready."""

    layout: Layout
    clusters: Mapping[str, Cluster]
    clock: Clock

    def connect(self, name: str) -> Client:
        """Return a client of a cluster that may do everything."""
        access = kubeconfig.from_file(self.layout.kubeconfig).access(name, clock=self.clock)
        return connect(access, name=name, clock=self.clock)


@asynccontextmanager
async def running(
    plan: Plan, clock: Clock, tell: Callable[[str], None]
) -> AsyncIterator[Fleet]:
    """Run a fleet within the block; what nobody asked for is told in words."""
    with plan.layout.owned():
        names = (HUB, *plan.workers)
        options = [f"--images={each}" for each in plan.images]
        clusters = {
            name: Cluster(name, plan.layout.cluster(name), clock=clock, options=options)
            for name in names
        }
        try:
            await _start(clusters.values())
            contexts.write(
                plan.layout.kubeconfig, {name: _kubeconfig(plan, name) for name in names}
            )
            fleet = Fleet(plan.layout, clusters, clock)
            async with supervise.tasks("fleet", clock=clock) as tasks:
                for cluster in clusters.values():
                    tasks.start(cluster.name, partial(cluster.watch, tell))
                config = plan.layout.kubeconfig
                tasks.start(
                    "dispatcher", partial(dispatch, plan.dispatcher, config, plan.workers)
                )
                await _until_connected(fleet, plan.workers, tell)
                yield fleet
        finally:
            async with asyncio.TaskGroup() as ending:
                for cluster in clusters.values():
                    ending.create_task(cluster.stop())


async def _start(clusters: Iterable[Cluster]) -> None:
    try:
        async with asyncio.TaskGroup() as starting:
            for cluster in clusters:
                starting.create_task(cluster.start())
            starting.create_task(_load())  # the last, when all processes run
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from None  # the others were cancelled for it


async def _load() -> None:
    """Load the dispatcher: this process has nothing else to do while the others start."""
    from jobferry import app  # noqa: F401, PLC0415


async def _until_connected(
    fleet: Fleet, names: Sequence[str], tell: Callable[[str], None]
) -> None:
    """Wait until the dispatcher has all workers; tell of those that it knows from an earlier fleet."""
    async with fleet.connect(HUB) as hub:
        await hub_checks.served(hub)
        informer = Informer(hub, Scope(resource=WORKERS), Head)
        changed = asyncio.Event()
        informer.listen(lambda _: changed.set())
        async with supervise.tasks("workers", clock=fleet.clock) as tasks:
            tasks.start("informer", informer.run)
            await informer.synced.wait()
            while not all(_is_ready(informer, name) for name in names):
                changed.clear()
                await changed.wait()
    if others := sorted({item.key.name for item in informer} - {*names}):
        listed = ", ".join(others)
        tell(
            f"Not started: {listed}, known from before. Work there waits; `--workers` starts them,"
            f" `kubectl delete worker {' '.join(others)}` gives them up."
        )


def _is_ready(informer: Informer[Head], name: str) -> bool:
    item = informer.get(Key("", name))
    status = (item.object().get("status") or {}) if item else {}
    return conditions.is_true(status.get("conditions"), "Ready")


def _kubeconfig(plan: Plan, name: str) -> str:
    return (plan.layout.cluster(name) / "kubeconfig").read_text()


async def dispatch(settings: Settings, config: Path, workers: Sequence[str]) -> None:
    """Run the dispatcher of the hub in a kubeconfig, with a Worker for each of these contexts."""
    from jobferry import app  # noqa: PLC0415 (see _load)

    await app.dispatch_by_kubeconfig(
        settings,
        kubeconfig=config,
        context=HUB,
        workers={name: name for name in workers},
        install_crds=True,
    )
