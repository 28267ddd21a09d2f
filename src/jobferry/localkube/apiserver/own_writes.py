"""Writes of the server itself: they go the way of every write, in its own name."""

from copy import deepcopy

from jobferry.localkube.apiserver.handlers import rendering, writing
from jobferry.localkube.apiserver.handlers.backend import Backend
from jobferry.localkube.apiserver.handlers.intent import Intent
from jobferry.localkube.apiserver.handlers.writing import Written
from jobferry.localkube.apiserver.identity.user import ALL_AUTHENTICATED, MASTERS, User
from jobferry.localkube.apiserver.requests.call import Call
from jobferry.localkube.apiserver.requests.options import WriteOptions
from jobferry.localkube.apiserver.requests.target import Target
from jobferry.localkube.apiserver.resource import Resource
from jobferry.localkube.apiserver.storage.entry import Entry
from jobferry.objects import Obj

USER = User("system:apiserver", groups=(MASTERS, ALL_AUTHENTICATED))
AGENT = "kube-apiserver"


async def create(backend: Backend, resource: Resource, obj: Obj) -> Written:
    """Create an object."""
    decoded = resource.codec.decode(obj).obj
    decoded.setdefault("metadata", {})
    resource.strategy.default(decoded)
    return await writing.create(backend, intent(backend, resource, decoded, ""), decoded)


async def replace(
    backend: Backend, resource: Resource, obj: Obj, subresource: str = "", agent: str = AGENT
) -> Written:
    """Replace an object, if it still has the version that `obj` has; `agent` owns what changes."""
    way = intent(backend, resource, obj, subresource, agent)

    def transform(entry: Entry | None) -> Obj:
        # A copy: what is decoded is changed, and callers take parts of it from what is stored.
        decoded = resource.codec.decode(deepcopy(obj)).obj
        resource.strategy.default(decoded)
        live = None if entry is None else rendering.current(resource, entry)
        writing.set_managed_fields(live, decoded, way)
        return decoded

    return await writing.update(backend, way, transform)


def intent(
    backend: Backend, resource: Resource, obj: Obj, subresource: str, agent: str = AGENT
) -> Intent:
    """Return a write of the server itself to an object."""
    meta = obj["metadata"]
    name = meta.get("name", "")
    is_namespace = (resource.group, resource.plural) == ("", "namespaces")
    namespace = name if is_namespace else meta.get("namespace", "")
    target = Target(
        "update",
        "",
        is_resource=True,
        group=resource.group,
        version=resource.version,
        resource=resource.plural,
        subresource=subresource,
        namespace=namespace,
        name=name,
    )
    call = Call(
        method="PUT",
        query={},
        headers={"user-agent": agent},
        body=b"",
        target=target,
        user=USER,
    )
    return Intent(
        call=call,
        resource=resource,
        namespace=namespace,
        name=name,
        subresource=subresource,
        options=WriteOptions(),
        now=backend.clock.now(),
    )
