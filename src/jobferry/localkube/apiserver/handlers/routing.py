"""Which handler serves a request for a resource."""

from collections.abc import Awaitable, Callable, Mapping

from jobferry.localkube.apiserver import status
from jobferry.localkube.apiserver.handlers import (
    creating,
    deleting,
    patching,
    reading,
    updating,
    watching,
)
from jobferry.localkube.apiserver.handlers.backend import Backend
from jobferry.localkube.apiserver.requests.call import Answer, Call
from jobferry.localkube.apiserver.requests.target import PROXY
from jobferry.localkube.apiserver.resource import Resource
from jobferry.localkube.apiserver.validation import names

Handler = Callable[[Backend, Call, Resource], Awaitable[Answer]]

SpecialKey = tuple[str, str, str, str]
"""Group, resource, subresource ("" for the resource itself) and verb."""


_GENERIC: Mapping[str, Handler] = {
    "get": reading.get,
    "list": reading.list_objects,
    "watch": watching.watch,
    "create": creating.create,
    "update": updating.update,
    "patch": patching.patch,
    "delete": deleting.delete,
    "deletecollection": deleting.delete_collection,
}
_OF_SUBRESOURCES = frozenset({"get", "update", "patch"})
_OF_COLLECTIONS = frozenset({"list", "create", "deletecollection"})


def find(
    backend: Backend, call: Call, special: Mapping[SpecialKey, Handler]
) -> tuple[Handler, Resource]:
    """Return what serves a request; refuse paths and verbs that nothing serves."""
    resource = backend.registry.get(
        call.target.group, call.target.version, call.target.resource
    )
    if resource.deprecation:
        call.warn(resource.deprecation)
    _check_place(call, resource)
    handler = _handler(call, resource, special)
    if call.method == "HEAD":
        raise status.method_not_allowed()
    _check_name(call)
    return handler, resource


async def serve(handler: Handler, backend: Backend, call: Call, resource: Resource) -> Answer:
    """Have a request handled; a write is refused for what is durable only, as it is answered."""
    try:
        return await handler(backend, call, resource)
    except status.StatusError:
        if call.method not in ("GET", "HEAD"):
            await backend.door.settled()
        raise


def only_answers(call: Call, resource: Resource) -> bool:
    """Tell whether what is posted there is answered and never stored: reviews, tokens, bindings, evictions."""
    is_question = resource.verbs == ("create",)
    return is_question or (call.target.verb == "create" and bool(call.target.subresource))


def _handler(call: Call, resource: Resource, special: Mapping[SpecialKey, Handler]) -> Handler:
    target = call.target
    if target.verb == PROXY or (target.rest and not target.subresource):
        raise status.unknown_path()
    handler = special.get(
        (target.group, target.resource, target.subresource, target.verb)
    ) or special.get(("*", "*", target.subresource, target.verb))
    if not target.subresource:
        if target.verb not in resource.verbs or not _fits(call, resource):
            raise status.method_not_allowed()
        return handler or _GENERIC[target.verb]
    subresource = resource.subresources.get(target.subresource)
    if subresource is None or target.rest:
        raise status.unknown_path()
    if target.verb not in subresource.verbs:
        raise status.method_not_allowed()
    if handler is None:
        if target.verb not in _OF_SUBRESOURCES or subresource.strategy is None:
            raise status.method_not_allowed()
        handler = _GENERIC[target.verb]
    return handler


def _check_name(call: Call) -> None:
    """Refuse a name that no object can have: it would be part of a path elsewhere."""
    if call.target.name_in_path and (problem := names.lookup_problem(call.target.name)):
        raise status.bad_request(problem)


def _check_place(call: Call, resource: Resource) -> None:
    """Refuse a namespace in the path of what is in none, and a name in no namespace."""
    target = call.target
    is_namespace = (resource.group, resource.plural) == ("", "namespaces")
    is_itself = is_namespace and target.name_in_path and target.name == target.namespace
    if target.namespace and not resource.namespaced and not is_itself:
        raise status.unknown_path()
    if resource.namespaced and target.name_in_path and not target.namespace:
        raise status.unknown_path()
    # A kind that is answered and never stored has one path only.
    is_elsewhere = target.name_in_path or (resource.namespaced and not target.namespace)
    if is_elsewhere and resource.verbs == ("create",) and not target.subresource:
        raise status.unknown_path()


def _fits(call: Call, resource: Resource) -> bool:
    """Tell whether a verb may be used on a collection, or on an object: whichever the path names."""
    target = call.target
    if target.verb == "watch":
        return True
    if target.verb in _OF_COLLECTIONS:
        is_in_place = bool(target.namespace) or not resource.namespaced
        return not target.name_in_path and (is_in_place or target.verb == "list")
    return target.name_in_path
