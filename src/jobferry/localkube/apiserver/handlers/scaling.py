"""The scale subresource: the replicas of an object, as an object of their own."""

from dataclasses import replace

from jobferry.localkube.apiserver import status
from jobferry.localkube.apiserver.handlers import (
    patching,
    reading,
    rendering,
    updating,
    writing,
)
from jobferry.localkube.apiserver.handlers.backend import Backend
from jobferry.localkube.apiserver.handlers.intent import Intent
from jobferry.localkube.apiserver.handlers.routing import Handler, SpecialKey
from jobferry.localkube.apiserver.managed import scaling
from jobferry.localkube.apiserver.requests.call import Answer, Call
from jobferry.localkube.apiserver.resource import Resource, Scaling, Subresource
from jobferry.localkube.apiserver.storage.entry import Entry
from jobferry.localkube.apiserver.strategy import Strategy
from jobferry.localkube.apiserver.types.codec import BuiltIn
from jobferry.localkube.apiserver.validation import names
from jobferry.objects import Obj
from jobferry.objects.gotext import quote

_SCALE = "scale"
_UNSET = -(2**31)
"""Stands for replicas that an object does not have, while its Scale is being changed."""

_STRATEGY = Strategy(name_problems=names.is_subdomain, versioned=None)


def handlers() -> dict[SpecialKey, Handler]:
    """Return what serves the scale of every resource that has one."""
    return {
        ("*", "*", _SCALE, "get"): _get,
        ("*", "*", _SCALE, "update"): _update,
        ("*", "*", _SCALE, "patch"): _patch,
    }


async def _get(backend: Backend, call: Call, resource: Resource) -> Answer:
    entry = reading.find(backend, resource, call.target.namespace, call.target.name)
    scale = _scaling(resource).get(rendering.current(resource, entry))
    return rendering.one(call, _seen_as_scale(resource), 200, scale, backend.clock)


async def _update(backend: Backend, call: Call, resource: Resource) -> Answer:
    seen = _seen_as_scale(resource)
    intent, change = await updating.intended(backend, call, seen)
    return await _write(backend, resource, intent, change)


async def _patch(backend: Backend, call: Call, resource: Resource) -> Answer:
    seen = _seen_as_scale(resource)
    intent, change, applies = patching.intended(backend, call, seen)
    return await _write(
        backend, resource, intent, _for_owned(seen, change) if applies else change
    )


async def _write(
    backend: Backend, resource: Resource, asked: Intent, change: writing.Transform
) -> Answer:
    """Store an object whose Scale was changed, and answer with the Scale."""
    call, seen = asked.call, asked.resource
    intent = replace(asked, resource=resource, subresource=_SCALE)

    def transform(entry: Entry | None) -> Obj:
        if entry is None:  # nothing is created by its scale
            raise status.not_found(resource.group, resource.plural, asked.name)
        return _scaled(resource, rendering.private(resource, entry), change(entry))

    written = await writing.update(backend, intent, transform)
    stored = written.entry
    obj = written.obj if stored is None else rendering.current(resource, stored)
    scale, _ = _scaling(resource).read(obj)
    return rendering.one(call, seen, 200, scale, backend.clock)


def _for_owned(seen: Resource, change: writing.Transform) -> writing.Transform:
    """Fail as an API server does where replicas that nobody owns are applied: it looks for their kind in vain."""

    def transform(entry: Entry | None) -> Obj:
        scale = rendering.current(seen, entry) if entry is not None else {"metadata": {}}
        if seen.built_in or scale["metadata"].get("managedFields"):
            return change(entry)
        raise status.StatusError(
            500,
            "",
            "failed to create manager for existing fields: failed to convert live object "
            "(/; autoscaling/v1, Kind=Scale) to proper version: "
            "request to convert CR to an invalid group/version: autoscaling/v1",
        )

    return transform


def _scaled(resource: Resource, obj: Obj, scale: Obj) -> Obj:
    """Return an object with the replicas of its new Scale, and with the owners of them."""
    subresource, scaled = resource.subresources[_SCALE], _scaling(resource)
    replicas = scale["spec"].get("replicas", 0)
    if replicas == _UNSET:
        where = quote(scaled.spec_path)
        raise status.bad_request(f"the spec replicas field {where} cannot be empty")
    new = scaled.write(obj, {"spec": {"replicas": replicas}})
    meta, given = new["metadata"], scale["metadata"]
    if given.get("resourceVersion"):
        meta["resourceVersion"] = given["resourceVersion"]
    owners = scaling.to_parent(
        meta.pop("managedFields", ()),
        given.get("managedFields") or (),
        subresource.places,
        resource.api_version,
    )
    if owners:
        meta["managedFields"] = owners
    return new


def _seen_as_scale(resource: Resource) -> Resource:
    """Return a resource whose objects are the scales of those of another one."""
    from jobferry.localkube.apiserver.crds import columns  # noqa: PLC0415 (heavy)

    return Resource(
        group="autoscaling",
        version="v1",
        kind="Scale",
        plural=resource.plural,
        singular=resource.singular,
        namespaced=resource.namespaced,
        strategy=_STRATEGY,
        codec=BuiltIn("autoscaling/v1", "Scale"),
        columns=columns.OF_SCALE,
        subresources={_SCALE: Subresource()},
        built_in=resource.built_in,
        root=resource.prefix,
        load=lambda obj: _loaded(resource, resource.load(obj) if resource.load else obj),
    )


def _loaded(resource: Resource, obj: Obj) -> Obj:
    """Return the Scale of a stored object, as it is changed: with the owners of the replicas."""
    scale, is_set = _scaling(resource).read(obj)
    if not is_set:
        scale["spec"] = {"replicas": _UNSET}
    places = resource.subresources[_SCALE].places
    owners = scaling.to_scale(obj["metadata"].get("managedFields") or (), places)
    if owners:
        scale["metadata"]["managedFields"] = owners
    return scale


def _scaling(resource: Resource) -> Scaling:
    found = resource.subresources[_SCALE].scaling
    if found is None:
        raise LookupError(
            f"{resource.plural} have a scale, but do not say where their replicas are"
        )
    return found
