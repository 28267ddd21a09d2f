"""POST: create an object."""

from jobferry.localkube.apiserver.handlers import decoding, rendering, writing
from jobferry.localkube.apiserver.handlers.backend import Backend
from jobferry.localkube.apiserver.handlers.intent import Intent
from jobferry.localkube.apiserver.handlers.writing import Written
from jobferry.localkube.apiserver.requests.call import Answer, Call
from jobferry.localkube.apiserver.requests.options import write_options
from jobferry.localkube.apiserver.resource import Resource


async def create(backend: Backend, call: Call, resource: Resource) -> Answer:
    """Create what the body holds."""
    wanted = write_options(call.query, kind="CreateOptions")
    obj = await decoding.whole(backend, call, resource, wanted.validation)
    name = obj["metadata"].get("name", "")
    namespace = call.target.namespace
    if not namespace and (resource.group, resource.plural) == ("", "namespaces"):
        namespace = name
    intent = Intent(
        call=call,
        resource=resource,
        namespace=namespace,
        name=name,
        subresource="",
        options=wanted,
        now=backend.clock.now(),
    )
    written = await writing.create(backend, intent, obj)
    return await answer(backend, call, resource, written, 201)


async def answer(
    backend: Backend, call: Call, resource: Resource, written: Written, code: int
) -> Answer:
    """Answer with what a write led to."""
    if written.entry is not None:
        return await rendering.stored(backend, call, resource, code, written.entry)
    return rendering.one(call, resource, code, written.obj, backend.clock)
