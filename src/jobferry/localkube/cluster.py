"""A whole cluster in the process of its API server: the controllers, and a node that runs pods."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from jobferry.localkube.apiserver.nodes import Nodes
from jobferry.localkube.apiserver.server import Server
from jobferry.localkube.controllers import manager
from jobferry.localkube.in_process import Cluster
from jobferry.localkube.runner import image_options, leftovers, running
from jobferry.localkube.runner.settings import Settings
from jobferry.localkube.runner.simulated import simulating


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What there is in a cluster, besides its API server."""

    name: str
    """That of its node."""
    folder: Path
    """Where the node keeps what belongs to pods."""
    images: Sequence[str] = ()
    """What images mean there: see `image_options`."""
    simulated: int = 0
    """How many nodes it has instead on which pods only seem to run."""
    without: frozenset[str] = frozenset()
    """Controllers to leave out: see `manager`."""


@asynccontextmanager
async def inhabited(plan: Plan, server: Server, nodes: Nodes) -> AsyncIterator[None]:
    """Run the controllers of a cluster and its node within the block; at its end all pods end."""
    images = image_options.read(plan.images)
    authority = server.keys.authority.read_text()
    async with AsyncExitStack() as stack:
        served = Cluster(plan.name, server)
        client = await stack.enter_async_context(served.client())
        await stack.enter_async_context(
            manager.running(client, root_ca=authority, without=plan.without)
        )
        if plan.simulated:
            names = [f"{plan.name}-{number}" for number in range(1, plan.simulated + 1)]
            await stack.enter_async_context(simulating(client, names))
        elif images is not None:
            settings = Settings(
                node=plan.name,
                folder=plan.folder / "node",
                images=images,
                host=server.host,
                port=server.port,
                authority=authority,
            )
            stack.push_async_callback(leftovers.end, settings, client.clock)
            await stack.enter_async_context(running.running(client, settings, nodes))
        yield
