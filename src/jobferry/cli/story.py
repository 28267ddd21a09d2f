"""Sees what happens to the Jobs of a cluster, and to the workers of a hub."""

from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager

from jobferry.cli import sights
from jobferry.clock import Seconds
from jobferry.kube.cache import Change
from jobferry.kube.calls import Scope
from jobferry.kube.client import Client
from jobferry.kube.informer import Informer
from jobferry.kube.items import Head
from jobferry.kube.resources import JOBS
from jobferry.runtime import supervise
from jobferry.workers.resource import WORKERS

Tell = Callable[[sights.Any], None]
Time = Callable[[], Seconds]


@asynccontextmanager
async def of_jobs(
    client: Client, names: Collection[str], tell: Tell, time: Time
) -> AsyncIterator[None]:
    """Tell within the block what becomes of some Jobs."""

    def hear(change: Change[Head]) -> None:
        name = change.item.key.name
        if name not in names:
            return
        if change.after is None:
            tell(sights.JobGone(at=time(), cluster=client.name, name=name))
        else:
            tell(sights.of_job(time(), client.name, change.after.object()))

    scope = Scope(resource=JOBS, namespace="default")
    async with _heard(client, Informer(client, scope, Head), hear):
        yield


@asynccontextmanager
async def of_workers(hub: Client, tell: Tell, time: Time) -> AsyncIterator[None]:
    """Tell within the block whether the hub reaches its workers."""

    def hear(change: Change[Head]) -> None:
        if change.after is not None:
            tell(sights.of_worker(time(), change.after.object()))

    async with _heard(hub, Informer(hub, Scope(resource=WORKERS), Head), hear):
        yield


@asynccontextmanager
async def _heard(
    client: Client, informer: Informer[Head], hear: Callable[[Change[Head]], None]
) -> AsyncIterator[None]:
    informer.listen(hear)
    async with supervise.tasks(f"story of {client.name}", clock=client.clock) as tasks:
        tasks.start("informer", informer.run)
        await informer.synced.wait()
        yield
