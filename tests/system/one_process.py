"""A fleet in this process, on localkube, whose time passes as soon as nothing else is to be done."""

import asyncio
import io
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from random import Random
from typing import cast

from jobferry.kube import kubeconfig
from jobferry.kube.access import Access
from jobferry.localkube.apiserver.serving.audit import Audit
from jobferry.localkube.apiserver.storage.journal import NOTHING, Contents
from jobferry.localkube.controllers import manager
from jobferry.localkube.in_process import Cluster, in_process
from jobferry.runtime import supervise
from jobferry.testing.clock import ManualClock, SkewedClock
from tests.system.fleet import ADMIN, NAMES, Fleet, Network
from tests.system.wires import Wires

WITHOUT = ("scheduler", "nodes", "evictions", "cron-jobs", "accounts", "pod-gc", "quotas")
"""Controllers that are not wanted: the real clusters of these tests have none of them either, and all take time."""


class Plane:
    """A cluster, and the ways in."""

    def __init__(self, name: str, clock: ManualClock) -> None:
        self.url = f"https://{name}.test"
        self._clock = clock
        self.audit_log = io.BytesIO()
        self.contents = NOTHING

    def kubeconfig(self, user: str = ADMIN, *_: str) -> str:
        """Return a kubeconfig, whose token says who it is: see `wires`."""
        name = "test"
        return json.dumps(
            {
                "clusters": [{"name": name, "cluster": {"server": self.url}}],
                "users": [{"name": name, "user": {"token": f"test:{user}"}}],
                "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
                "current-context": name,
            }
        )

    def access(self, user: str = ADMIN, *groups: str) -> Access:
        """Return how to reach it."""
        config = kubeconfig.from_bytes(self.kubeconfig(user, *groups).encode(), self.url)
        return config.access(clock=self._clock)


class OneProcess(Fleet):
    """Clusters of a single test."""

    planes: dict[str, Plane]
    is_shared = False

    def __init__(self) -> None:
        super().__init__()
        self.clock = self._clock = ManualClock()
        self._wires = Wires()
        self.reach = self._wires.reach
        self.planes = {name: Plane(name, self._clock) for name in NAMES}
        self.clocks = {name: SkewedClock(self._clock) for name in NAMES}
        """What each cluster takes for the time of day."""

    def check(self) -> None:
        """Whatever ends the dispatcher or a kubelet ends the test, too."""

    def network(self, url: str) -> Network:
        """Lay another line to where a URL leads."""
        return self._wires.line(url)

    def audit_log(self, name: str) -> bytes:
        """Return what a cluster was asked so far, a line for each request."""
        return self.planes[name].audit_log.getvalue()

    @asynccontextmanager
    async def clusters(self) -> AsyncIterator[dict[str, Cluster]]:
        """Run the API servers during the block, and time."""
        async with AsyncExitStack() as stack:
            tasks = await stack.enter_async_context(supervise.tasks("fleet", clock=self._clock))
            found = {}
            for seed, (name, plane) in enumerate(self.planes.items()):
                found[name] = await stack.enter_async_context(
                    in_process(
                        self.clocks[name],
                        name=name,
                        random=Random(seed),
                        contents=plane.contents,
                        without_plugins={"ServiceAccount"},
                        audit=Audit(cast("io.RawIOBase", plane.audit_log), self.clocks[name]),
                    )
                )
                self._wires.add(plane.url, found[name].app)
            tasks.start("time", self._clock.flow)
            yield found

    async def run(self, ready: Callable[[], None]) -> None:
        """Run the fleet until cancelled."""
        if not _prepared:
            await _prepare()
        for name, contents in _prepared.items():
            self.planes[name].contents = contents
        async with self.clusters() as clusters, AsyncExitStack() as stack:
            for cluster in clusters.values():
                client = await stack.enter_async_context(cluster.client())
                await stack.enter_async_context(manager.running(client, without=WITHOUT))
            await self.serve(ready)


_prepared: dict[str, Contents] = {}
"""What is in the clusters of a fleet when a test begins; made by the first."""


async def _prepare() -> None:
    fleet = OneProcess()
    async with fleet.clusters() as clusters:
        await fleet.prepare()
        for name, cluster in clusters.items():
            _prepared[name] = await cluster.storage.snapshot()


@asynccontextmanager
async def one_process() -> AsyncIterator[OneProcess]:
    """Run a fleet during the block, in a task of its own: a fixture's setup and teardown are two."""
    fleet = OneProcess()
    ready = asyncio.Event()
    running = asyncio.ensure_future(fleet.run(ready.set))
    waiting = asyncio.ensure_future(ready.wait())
    await asyncio.wait([running, waiting], return_when=asyncio.FIRST_COMPLETED)
    if running.done():
        waiting.cancel()
        running.result()
    yield fleet
    running.cancel()
    await asyncio.wait([running])
    if not running.cancelled():
        running.result()
