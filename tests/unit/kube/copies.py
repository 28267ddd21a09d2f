"""What the tests of the informer share: an informer on a stand-in for an API server."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random

from jobferry.clock import Clock, SystemClock
from jobferry.kube import calls
from jobferry.kube.cache import Change
from jobferry.kube.client import Client
from jobferry.kube.in_process import InProcessTransport
from jobferry.kube.informer import Informer
from jobferry.kube.items import Head, Item, Key
from jobferry.kube.resources import CONFIG_MAPS
from jobferry.runtime import supervise
from tests.unit.kube.collection import Collection

SCOPE = calls.Scope(resource=CONFIG_MAPS, namespace="ns")


def data(item: Item[Head]) -> str:
    found: str = item.object()["data"]["is"]
    return found


def state(informer: Informer[Head]) -> dict[str, str]:
    return {item.head.metadata.name: data(item) for item in informer}


def key(name: str) -> Key:
    return Key("ns", name)


def client_of(server: Collection, clock: Clock) -> Client:
    transport = InProcessTransport(server, clock)
    return Client(transport, name="east", clock=clock, random=Random(0))


@asynccontextmanager
async def following(
    informer: Informer[Head], clock: Clock
) -> AsyncIterator[list[Change[Head]]]:
    """Run an informer during the block, once it is synced; gives the list of changes it tells."""
    changes: list[Change[Head]] = []
    async with supervise.tasks("test", clock=SystemClock()) as tasks:
        tasks.start("informer", informer.run)
        await informer.synced.wait()
        informer.listen(changes.append)
        changes.clear()
        yield changes
