"""Jobferry's own informer and client, with what is decoded of an object by default.

It lists in pages, as the others do; `jobferry_watchlist` has the first state sent as events instead.
"""

import asyncio
from pathlib import Path

from bench.jobs import NAMESPACE
from jobferry.clock import SystemClock
from jobferry.kube import kubeconfig, resources
from jobferry.kube.cache import Change
from jobferry.kube.calls import Scope
from jobferry.kube.client import Client, connect
from jobferry.kube.informer import Informer
from jobferry.kube.items import Head
from jobferry.kube.watch import Watching
from jobferry.objects import Obj


class Jobferry:
    """An informer, and the client that it uses."""

    def __init__(self, client: Client, watching: Watching) -> None:
        self._client = client
        scope = Scope(resource=resources.JOBS, namespace=NAMESPACE)
        self._informer = Informer(client, scope, Head, watching=watching)
        self._running: asyncio.Task[None] | None = None

    async def fill(self) -> None:
        self._running = asyncio.create_task(self._informer.run())
        await self._while_running(self._informer.synced)

    async def pause(self) -> None:
        assert self._running is not None  # noqa: S101 (the cache is filled first)
        self._running.cancel()
        await asyncio.wait({self._running})
        self._running = None

    async def follow(self, updates: int) -> None:
        if self._running is None:
            self._running = asyncio.create_task(self._informer.run())
        left = len(self._informer) + updates  # a listener is first told what is there
        over = asyncio.Event()

        def count(_: Change[Head]) -> None:
            nonlocal left
            left -= 1
            if not left:
                over.set()

        self._informer.listen(count)
        await self._while_running(over)

    def active(self) -> list[int]:
        return [item.object()["status"].get("active", 0) for item in self._informer]

    async def patch_status(self, name: str, body: Obj) -> None:
        await self._client.patch(
            resources.JOBS, name, body, namespace=NAMESPACE, subresource="status"
        )

    async def _while_running(self, event: asyncio.Event) -> None:
        """Wait for an event, but not for an informer that has given up."""
        assert self._running is not None  # noqa: S101 (the cache is filled first)
        waiting = asyncio.create_task(event.wait())
        await asyncio.wait({self._running, waiting}, return_when=asyncio.FIRST_COMPLETED)
        if self._running.done():
            waiting.cancel()
            self._running.result()

    async def close(self) -> None:
        if self._running is not None:
            self._running.cancel()
        await self._client.__aexit__()


async def open_(file: Path, *, initial_events: bool = False) -> Jobferry:
    clock = SystemClock()
    access = kubeconfig.from_file(file).access(clock=clock)
    client = connect(access, name="bench", clock=clock)
    return Jobferry(client, Watching(initial_events=initial_events))
