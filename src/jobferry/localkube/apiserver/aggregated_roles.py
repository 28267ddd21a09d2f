"""Keeps ClusterRoles that are made of others filled, as a controller does in a whole cluster."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from jobferry import log
from jobferry.localkube.apiserver import inside
from jobferry.localkube.apiserver.access import aggregation
from jobferry.localkube.apiserver.access.rbac import GROUP
from jobferry.localkube.apiserver.handlers.backend import Backend
from jobferry.localkube.apiserver.status import StatusError
from jobferry.localkube.apiserver.storage.errors import Closed, CommitFailed

_log = log.get(__name__)


@asynccontextmanager
async def filled(backend: Backend) -> AsyncIterator[None]:
    """Do so within the block."""
    resource = backend.registry.get(GROUP, "v1", "clusterroles")
    storage, woken = backend.storage, asyncio.Event()
    with storage.watch(resource.prefix, after=storage.revision, notify=woken.set) as watch:

        async def fill() -> None:
            while True:
                await woken.wait()
                woken.clear()
                with suppress(Closed):
                    watch.take()
                roles = {
                    entry.object["metadata"]["name"]: entry.object
                    for entry in storage.range(resource.prefix).entries
                }
                for name, rules in aggregation.outdated(roles.values()).items():
                    try:
                        role = {**roles[name], "rules": rules}
                        agent = aggregation.CONTROLLER
                        await inside.replace(backend, resource, role, agent=agent)
                    except (StatusError, CommitFailed) as error:
                        # Somebody may have changed it at the same moment: that change wakes us again.
                        _log.failure("A ClusterRole could not be filled", error, role=name)

        async with asyncio.TaskGroup() as tasks:
            task = tasks.create_task(fill())
            yield
            task.cancel()
