"""A request or its answer is lost, or the process is killed, at each write: the end is the same."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from typing import Literal

import pytest

from jobferry.clock import Seconds
from jobferry.kube import errors
from jobferry.kube.client import Client
from jobferry.kube.resources import CONFIG_MAPS, JOBS, NAMESPACES, PODS, SECRETS
from jobferry.kube.wire import Answer, Request, Stream, Transport
from jobferry.localkube.controllers import manager
from jobferry.localkube.controllers.cron_jobs import CRON_JOBS
from jobferry.objects import Obj, owners
from jobferry.testing.clock import settle
from tests.unit.localkube.controllers import test_cron_jobs, test_quota, test_ttl
from tests.unit.localkube.controllers.world import ROOT_CA, World, admin, server

pytestmark = pytest.mark.timeout(120)

Fault = Literal["request lost", "answer lost", "killed"]
MOST_WRITES = 60
DULL = re.compile(r"GET|.*/events|DELETE .*/namespaces/[a-z]+/(?!configmaps|pods)[a-z]+$")
"""What changes nothing, Events, and deletes of whole collections: there are dozens in a namespace, all alike."""

NOT_RUN = frozenset({"job"})


class Faulty:
    """Goes wrong once, at a certain write."""

    def __init__(self, transport: Transport, at: int, fault: Fault) -> None:
        self._transport = transport
        self._left = at
        self._fault = fault
        self.is_armed = False

    @property
    def kills(self) -> bool:
        """Whether nothing goes on afterwards."""
        return self._fault == "killed"

    @property
    def has_failed(self) -> bool:
        """Whether it has gone wrong."""
        return self._left <= 0

    async def send(self, request: Request, *, within: Seconds) -> Answer:
        """Send, unless this is the one that goes wrong."""
        if not self._is_due(request):
            return await self._transport.send(request, within=within)
        if self._fault != "request lost":
            await self._transport.send(request, within=within)
        if self.kills:
            await asyncio.Event().wait()
        raise errors.Unreachable("the line is cut")

    def stream(
        self, request: Request, *, within: Seconds
    ) -> AbstractAsyncContextManager[Stream]:
        """Send, whatever it is."""
        return self._transport.stream(request, within=within)

    async def close(self) -> None:
        """Close the transport below."""
        await self._transport.close()

    def _is_due(self, request: Request) -> bool:
        if not self.is_armed or DULL.match(f"{request.method} {request.target}"):
            return False
        self._left -= 1
        return self._left == 0


async def cron(world: World) -> None:
    await test_cron_jobs.make(world, concurrencyPolicy="Replace")
    await world.pass_time(125)


async def check_cron(world: World) -> None:
    jobs = await world.names(JOBS)
    found = await world.find(CRON_JOBS, "c")
    assert found
    assert len(jobs) == 1
    assert {each["name"] for each in found["status"]["active"]} == jobs


async def owned(world: World) -> None:
    def of(owner: Obj, name: str) -> Obj:
        reference = owners.owner_reference(owner, controller=False)
        return {
            "metadata": {"name": name, "namespace": "default", "ownerReferences": [reference]}
        }

    top = await world.client.create(
        CONFIG_MAPS, {"metadata": {"name": "top", "namespace": "default"}}
    )
    middle = await world.client.create(CONFIG_MAPS, of(top, "middle"))
    await world.client.create(CONFIG_MAPS, of(middle, "bottom"))
    lost = await world.client.create(
        CONFIG_MAPS, {"metadata": {"name": "lost", "namespace": "default"}}
    )
    await world.client.create(SECRETS, of(lost, "kept"))
    await world.settle()
    await world.client.delete(CONFIG_MAPS, "top", "default", propagation="Foreground")
    await world.client.delete(CONFIG_MAPS, "lost", "default", propagation="Orphan")
    await world.pass_time(10)


async def check_owned(world: World) -> None:
    assert await world.names(CONFIG_MAPS) == {"kube-root-ca.crt"}
    kept = await world.find(SECRETS, "kept")
    assert kept
    assert "ownerReferences" not in kept["metadata"]


async def place(world: World) -> None:
    await world.namespace("old")
    await world.client.create(CONFIG_MAPS, {"metadata": {"name": "x", "namespace": "old"}})
    await world.client.delete(NAMESPACES, "old")
    await world.namespace("new")
    await test_ttl.finished(world, "j", ttlSecondsAfterFinished=5)
    await world.pass_time(10)


async def check_place(world: World) -> None:
    assert await world.find(NAMESPACES, "old") is None
    assert await world.names(CONFIG_MAPS, "new") == {"kube-root-ca.crt"}
    assert await world.names(JOBS) == set()


async def pods(world: World) -> None:
    await test_quota.limit(world, hard={"pods": "9"})
    for name in ("a", "b"):
        await world.add_pod(name, requests={"cpu": "3"})
    await world.add_node("n")
    await world.add_node("cordoned", unschedulable=True)
    await world.pass_time(10)


async def check_pods(world: World) -> None:
    found = {
        pod["metadata"]["name"]: pod["spec"].get("nodeName") for pod in await world.all(PODS)
    }
    assert sorted(found.values(), key=str) == [None, "n"]
    assert await test_quota.used(world) == {"pods": "2"}


Act = Callable[[World], Awaitable[None]]


async def survives(
    folder: Path, line: Callable[[Transport], Faulty], act: Act, check: Act
) -> bool:
    """Let controllers act over a line that fails once; return whether it came to that.

    Afterwards they are started anew, on a line that is sound.
    """
    async with (
        server(folder) as (app, clock),
        Client(admin(app, clock), name="local", clock=clock) as client,
    ):
        faulty = line(admin(app, clock))
        unlucky = Client(faulty, name="unlucky", clock=clock)
        async with (
            unlucky,
            manager.running(unlucky, root_ca=ROOT_CA, without=NOT_RUN) as controllers,
        ):
            world = World(client, clock, controllers)
            await settle()
            faulty.is_armed = True
            await act(world)
            if not faulty.kills:
                await world.pass_time(35)
                await check(world)
        async with manager.running(client, root_ca=ROOT_CA, without=NOT_RUN):
            await world.pass_time(35)
            await check(world)
        return faulty.has_failed


@pytest.mark.parametrize("fault", ["request lost", "answer lost", "killed"])
@pytest.mark.parametrize(
    ("act", "check"),
    [(cron, check_cron), (owned, check_owned), (place, check_place), (pods, check_pods)],
)
async def test_whatever_write_goes_wrong_the_end_is_the_same(
    tmp_path: Path, act: Act, check: Act, fault: Fault
) -> None:
    for at in range(1, MOST_WRITES):
        line = partial(Faulty, at=at, fault=fault)
        if not await survives(tmp_path / str(at), line, act, check):
            assert at > 2
            return
    raise AssertionError("there are more writes than that")
