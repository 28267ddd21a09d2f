"""Keeps ClusterRoles that are made of others filled, as a controller does in a whole cluster."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from jobferry.localkube.apiserver import own_writes
from jobferry.localkube.apiserver.access import aggregation
from jobferry.localkube.apiserver.access.rbac import GROUP
from jobferry.localkube.apiserver.handlers.backend import Backend
from jobferry.localkube.apiserver.storage.following import follow
from jobferry.localkube.apiserver.upkeep import Upkeep

_ALL = ""


@asynccontextmanager
async def filled(backend: Backend) -> AsyncIterator[None]:
    """Do so within the block."""
    resource = backend.registry.get(GROUP, "v1", "clusterroles")

    async def fill(name: str) -> None:
        entries = backend.door.newest_below(resource.prefix)
        roles = {entry.object["metadata"]["name"]: entry.object for entry in entries}
        outdated = aggregation.outdated(roles.values())
        if name == _ALL:
            for each in outdated:
                upkeep.ask(each)
        elif name in outdated:
            role = {**roles[name], "rules": outdated[name]}
            await own_writes.replace(backend, resource, role, agent=aggregation.CONTROLLER)

    upkeep = Upkeep(fill, backend.clock, failure="A ClusterRole could not be filled")
    upkeep.ask(_ALL)
    changes = follow(
        backend.storage,
        resource.prefix,
        lambda _: upkeep.ask(_ALL),
        after=backend.storage.revision,
    )
    with changes:
        async with upkeep.running():
            yield
