"""Waits until objects are as a test wants them, by watch: no polling, no sleeping."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress

import msgspec

from jobferry.kube import errors, watch
from jobferry.kube.calls import Scope
from jobferry.kube.client import Client
from jobferry.objects import Obj
from jobferry.objects.resource import Resource


async def until(
    client: Client,
    resource: Resource,
    name: str,
    namespace: str | None,
    holds: Callable[[Obj], bool],
) -> Obj:
    """Wait until there is such an object and `holds` says yes to it."""
    async with aclosing(states(client, resource, name, namespace)) as found:
        async for obj in found:
            if obj is not None and holds(obj):
                return obj
    raise AssertionError("a watch never ends by itself")


async def until_gone(
    client: Client, resource: Resource, name: str, namespace: str | None = None
) -> None:
    """Wait until there is no such object."""
    async with aclosing(states(client, resource, name, namespace)) as found:
        async for obj in found:
            if obj is None:
                return


async def states(
    client: Client, resource: Resource, name: str, namespace: str | None = None
) -> AsyncGenerator[Obj | None]:
    """Yield an object as it is and whenever it changes; None while there is none."""
    scope = Scope(resource=resource, namespace=namespace, fields=f"metadata.name={name}")
    while True:
        listing = await client.list(scope)
        yield listing.items[0] if listing.items else None
        batches = watch.batches(client, scope, listing.resource_version, watch.Watching())
        with suppress(errors.Expired):
            async with aclosing(batches):
                async for batch in batches:
                    for event in batch:
                        if event.type == "DELETED":
                            yield None
                        elif event.type != "BOOKMARK":
                            yield msgspec.json.decode(event.object)
