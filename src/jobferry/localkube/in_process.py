"""A cluster's API in the same process: no socket, no keys, no folder; for tests and simulations.

    async with in_process(clock, random=Random(7)) as cluster:
        async with cluster.client() as admin, cluster.client(User("ann")) as ann:
            await admin.create(JOBS, job)

With a clock that is moved by hand and numbers from a seed, the same calls have the same answers each time: nothing is left
to threads, so long work (YAML, CRDs) holds up the others.
"""

from collections.abc import AsyncIterator, Sequence, Set
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from random import Random

from jobferry.clock import Clock
from jobferry.kube.client import Client
from jobferry.kube.in_process import InProcessTransport
from jobferry.localkube.apiserver.admission.plugin import Plugin
from jobferry.localkube.apiserver.core import Core, core
from jobferry.localkube.apiserver.execution import Execution
from jobferry.localkube.apiserver.handlers.backend import Backend
from jobferry.localkube.apiserver.identity.user import MASTERS, User
from jobferry.localkube.apiserver.nodes import Nodes
from jobferry.localkube.apiserver.serving.app import IN_PROCESS, App
from jobferry.localkube.apiserver.serving.audit import Audit
from jobferry.localkube.apiserver.storage.journal import NOTHING, Contents
from jobferry.localkube.apiserver.storage.store import Storage, open_storage
from jobferry.localkube.apiserver.timeouts import TIMEOUTS, Timeouts

ADMIN = User("kubernetes-admin", groups=(MASTERS,))
"""May do everything."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """An API server that is ready; `name` is what error messages call it."""

    name: str
    core: Core

    @property
    def app(self) -> App:
        """The ASGI application."""
        return self.core.app

    @property
    def backend(self) -> Backend:
        """What it works with: the store, the clock, and so on."""
        return self.core.backend

    @property
    def storage(self) -> Storage:
        """Where the objects are: to take snapshots, and to wait for writes under way."""
        return self.core.storage

    def transport(self, user: User = ADMIN) -> InProcessTransport:
        """Return a way in for somebody; what they may do is up to RBAC."""
        return InProcessTransport(self.app, self.backend.clock, {IN_PROCESS: user})

    def client(self, user: User = ADMIN) -> Client:
        """Return a client for somebody, to be used as a block."""
        return Client(
            self.transport(user),
            name=self.name,
            clock=self.backend.clock,
            random=Random(self.backend.random.getrandbits(64)),  # noqa: S311 (spreads retries)
        )


@asynccontextmanager
async def in_process(
    clock: Clock,
    *,
    name: str = "localkube",
    random: Random | None = None,
    storage: Storage | None = None,
    nodes: Nodes | None = None,
    timeouts: Timeouts = TIMEOUTS,
    contents: Contents = NOTHING,
    without_plugins: Set[str] = frozenset(),
    plugins: Sequence[Plugin] = (),
    audit: Audit | None = None,
) -> AsyncIterator[Cluster]:
    """Run an API server within the block, over `storage`, or else over one that it keeps in memory.

    That one begins with `contents`, the snapshot of another. `plugins` have their say where webhooks would.
    """
    async with AsyncExitStack() as stack:
        if storage is None:
            storage = await stack.enter_async_context(
                open_storage(None, clock=clock, contents=contents)
            )
        running = await stack.enter_async_context(
            core(
                storage,
                clock,
                random=random,
                nodes=nodes,
                timeouts=timeouts,
                # Threads have a time of their own, which nobody can repeat.
                execution=Execution(inline=True),
                without_plugins=without_plugins,
                plugins=plugins,
                audit=audit,
            )
        )
        yield Cluster(name, running)
