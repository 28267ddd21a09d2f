"""A cluster of one node that runs real processes, in the process of a test."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jobferry.clock import SystemClock
from jobferry.kube import calls
from jobferry.kube.cache import Change
from jobferry.kube.calls import Scope
from jobferry.kube.client import Client
from jobferry.kube.informer import Informer
from jobferry.kube.items import Head
from jobferry.kube.resources import EVENTS, PODS
from jobferry.localkube.apiserver.nodes import Nodes
from jobferry.localkube.in_process import in_process
from jobferry.localkube.runner import processes
from jobferry.localkube.runner.images import HOST, Images
from jobferry.localkube.runner.running import running
from jobferry.localkube.runner.settings import Settings
from jobferry.objects import Obj
from jobferry.runtime import supervise
from jobferry.testing.wait import until, until_gone

NODE = "here"

# What scripts of pods may use is what every machine has that can run these tests: no sleep, stat or true.
WAIT = "exec tail -f /dev/null"
"""A script that does not end by itself."""

SLEEP = f"{sys.executable} -c 'import sys, time; time.sleep(float(sys.argv[1]))'"
"""A command that takes so many seconds as it is told."""


@dataclass(frozen=True)
class World:
    """A cluster, and what tests ask of it."""

    client: Client
    nodes: Nodes
    folder: Path

    @asynccontextmanager
    async def runner(self, **settings: Any) -> AsyncIterator[None]:
        """Run pods during the block."""
        images: Images = settings.pop("images", HOST)
        made = Settings(node=NODE, folder=self.folder, images=images, **settings)
        async with running(self.client, made, self.nodes):
            yield

    async def create(self, pod: Obj) -> Obj:
        return await self.client.create(PODS, pod)

    async def until(self, name: str, holds: Callable[[Obj], bool]) -> Obj:
        """Wait until a pod is so."""
        return await until(self.client, PODS, name, "default", holds)

    async def until_over(self, name: str) -> Obj:
        """Wait until a pod has ended; returns its status."""
        status: Obj = (await self.until(name, is_over))["status"]
        return status

    async def run(self, pod: Obj) -> Obj:
        """Run a pod to its end; returns its status."""
        await self.create(pod)
        return await self.until_over(pod["metadata"]["name"])

    async def until_told(self, reason: str) -> str:
        """Wait for an event with that reason; returns its message."""
        informer = Informer(self.client, Scope(resource=EVENTS, namespace="default"), Head)
        found: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        def look(change: Change[Head]) -> None:
            event = change.item.object()
            if event["reason"] == reason and not found.done():
                found.set_result(event["message"])

        informer.listen(look)
        async with supervise.tasks("events", clock=self.client.clock) as tasks:
            tasks.start("informer", informer.run)
            return await found

    async def until_gone(self, name: str) -> None:
        await until_gone(self.client, PODS, name, "default")

    async def delete(self, name: str, **options: Any) -> None:
        await self.client.delete(PODS, name, "default", **options)

    async def log(self, name: str, **options: Any) -> str:
        """Read the log of a pod's container."""
        answer = await self.client.send(calls.logs(PODS, name, "default", **options))
        return answer.body.decode()


@asynccontextmanager
async def world(folder: Path) -> AsyncIterator[World]:
    """Run a cluster without a node."""
    nodes = Nodes()
    async with (
        in_process(SystemClock(), nodes=nodes, without_plugins={"ServiceAccount"}) as cluster,
        cluster.client() as client,
    ):
        yield World(client, nodes, folder)
    # What still runs would outlive its runner, as it should.
    await end_all(Settings(node=NODE, folder=folder))


async def end_all(settings: Settings) -> None:
    """End all processes that runners have left in their folder, and remove what is kept of them."""
    async with processes.running(settings, SystemClock()) as left:
        for uid in left.uids():
            await left.remove(uid)


def pod(name: str, *command: str, **spec: Any) -> Obj:
    """Return a pod of one container `main`; words that belong to that come as `container`."""
    container = {"name": "main", "image": "any", "command": list(command)}
    container |= spec.pop("container", {})
    meta = {"name": name, "namespace": "default", "annotations": spec.pop("annotations", {})}
    whole = {
        "nodeName": NODE,
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 30,
        "containers": [container],
    }
    return {"metadata": meta, "spec": whole | spec}


def shell(name: str, script: str, **spec: Any) -> Obj:
    """Return a pod of one container that runs a script."""
    return pod(name, "sh", "-c", script, **spec)


def is_over(pod: Obj) -> bool:
    return pod.get("status", {}).get("phase") in {"Succeeded", "Failed"}


def is_running(pod: Obj) -> bool:
    return bool(pod.get("status", {}).get("phase") == "Running")


def ended(status: Obj, container: int = 0) -> Obj:
    """Return how a container ended."""
    state: Obj = status["containerStatuses"][container]["state"]["terminated"]
    return state


class Gate:
    """A place where a pod and its test wait for each other."""

    def __init__(self, folder: Path, name: str = "gate") -> None:
        self.path = folder / name
        os.mkfifo(self.path)

    def __str__(self) -> str:
        return str(self.path)

    async def read(self) -> str:
        """Wait until somebody has written a line."""
        # Open for both ways, neither side waits for the other; and no thread is left behind by a test that fails.
        descriptor = os.open(self.path, os.O_RDWR | os.O_NONBLOCK)
        loop, ready = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(descriptor, ready.set)
        try:
            text = b""
            while not text.endswith(b"\n"):
                await ready.wait()
                text += os.read(descriptor, 1024)
            return text.decode()
        finally:
            loop.remove_reader(descriptor)
            os.close(descriptor)

    @contextmanager
    def open(self) -> Iterator[Callable[[str], int]]:
        """Let somebody read what is written in the block, whenever they do."""
        descriptor = os.open(self.path, os.O_RDWR | os.O_NONBLOCK)
        try:
            yield lambda text: os.write(descriptor, text.encode())
        finally:
            os.close(descriptor)


def is_gone(pid: int) -> bool:
    """Tell whether a process has ended."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True
    return stat.rpartition(")")[2].split()[0] in {"Z", "X"}


async def until_ended(pid: int) -> None:
    """Wait until a process has ended."""
    over = asyncio.Event()
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    loop = asyncio.get_running_loop()
    loop.add_reader(descriptor, over.set)
    try:
        await over.wait()
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)
