"""Where the demo plays: on localkube, or on real control planes."""

import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from jobferry.cli.handful import LOST_AFTER, WORKERS
from jobferry.clock import Clock
from jobferry.kube.client import Client
from jobferry.local import fleet
from jobferry.local.fleet import Fleet
from jobferry.local.layout import HUB, Layout
from jobferry.settings import DEFAULTS

SETTINGS = replace(DEFAULTS, listen=None, worker_lost_after=LOST_AFTER)


@dataclass(frozen=True, slots=True)
class Stage:
    """Clusters that are ready."""

    clients: Mapping[str, Client]
    fleet: Fleet | None = None
    """What they are, if they are ours: their pods do real work, and they can be killed."""


@asynccontextmanager
async def local(clock: Clock) -> AsyncIterator[Stage]:
    """Play on small clusters of our own."""
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="jobferry-demo-"))
        plan = fleet.Plan(layout=Layout(Path(folder)), workers=WORKERS, dispatcher=SETTINGS)
        running = await stack.enter_async_context(fleet.running(plan, clock, _unheard))
        clients = {
            name: await stack.enter_async_context(running.connect(name))
            for name in (HUB, *WORKERS)
        }
        yield Stage(clients, running)


def real(clock: Clock) -> AbstractAsyncContextManager[Stage]:
    """Play on real control planes."""
    from jobferry.cli import real_stage  # noqa: PLC0415 (hardly anybody has them)

    return real_stage.real(clock)


def _unheard(_: str) -> None:
    """Say nothing of clusters that end: who watches the demo sees it."""
