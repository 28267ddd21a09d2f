"""Objects in the form that the client asked for."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import orjson

from jobferry.clock import Clock
from jobferry.localkube.apiserver import problems, status
from jobferry.localkube.apiserver.printing import tables
from jobferry.localkube.apiserver.requests import yaml_document
from jobferry.localkube.apiserver.requests.call import Answer, Call, json_bytes
from jobferry.localkube.apiserver.requests.target import Query
from jobferry.localkube.apiserver.resource import Resource
from jobferry.localkube.apiserver.storage.entry import Entry
from jobferry.objects import Obj

LARGE = 64 * 1024
"""Objects of so many bytes are not kept decoded: a few hundred of them would take all memory."""


def current(resource: Resource, entry: Entry) -> Obj:
    """Return a stored object in the version of the resource; it is shared, never to be changed."""
    obj = decoded(entry)
    return resource.load(obj) if resource.load else obj


def decoded(entry: Entry) -> Obj:
    """Return an object as it is stored; it is shared, never to be changed."""
    return _decoded(entry) if len(entry.value) < LARGE else entry.fresh()


@lru_cache(maxsize=512)
def _decoded(entry: Entry) -> Obj:
    """Decode an object once for all who look at it at about the same time, as many watchers do.

    Not for as long as it is stored: an object in Python takes five times the memory of its JSON.
    """
    return entry.fresh()


def private(resource: Resource, entry: Entry) -> Obj:
    """Return a stored object in the version of the resource, as a copy that may be changed."""
    obj = entry.fresh()
    return resource.load(obj) if resource.load else obj


def current_bytes(resource: Resource, entry: Entry) -> bytes:
    """Return a stored object in the version of the resource as JSON."""
    return orjson.dumps(current(resource, entry)) if resource.load else entry.value


def stored(call: Call, resource: Resource, code: int, entry: Entry, clock: Clock) -> Answer:
    """Answer with an object that is in storage; in the usual form its bytes go out as they are."""
    if not call.form.kind and not call.form.yaml and not call.is_pretty:
        return Answer(code, current_bytes(resource, entry) + b"\n")
    return one(call, resource, code, current(resource, entry), clock)


def one(call: Call, resource: Resource, code: int, obj: Obj, clock: Clock) -> Answer:
    """Answer with an object."""
    form = call.form
    if form.kind == "Table":
        shown = tables.table(
            [obj],
            resource.columns,
            now=clock.now(),
            include=included(call.query),
            list_meta=tables.metadata_of(obj),
            version=form.version,
        )
    elif form.kind == "PartialObjectMetadataList":
        what = f"is not a list (*{_go_type(resource)})"
        raise status.not_convertible(
            f"you requested {form.kind}, but the requested object {what}"
        )
    elif form.kind:
        shown = tables.partial_metadata(obj, form.version)
    else:
        shown = obj
    return written(call, code, shown)


def many(
    call: Call, resource: Resource, entries: Iterable[Entry], list_meta: Obj, clock: Clock
) -> Answer:
    """Answer with a list."""
    form = call.form
    if not form.kind and not form.yaml and not call.is_pretty:
        return Answer(200, _list_bytes(resource, entries, list_meta))
    objs = [current(resource, entry) for entry in entries]
    if form.kind == "Table":
        shown = tables.table(
            objs,
            resource.columns,
            now=clock.now(),
            include=included(call.query),
            list_meta=list_meta,
            version=form.version,
        )
    elif form.kind == "PartialObjectMetadata":
        what = f"is a list (*{_go_type(resource)}List)"
        raise status.not_convertible(
            f"you requested {form.kind}, but the requested object {what}"
        )
    elif form.kind:
        shown = tables.partial_metadata_list(objs, list_meta, form.version)
    else:
        shown = {
            "kind": resource.list_kind,
            "apiVersion": resource.api_version,
            "metadata": list_meta if resource.built_in else {"continue": "", **list_meta},
            "items": [_untyped(obj) for obj in objs] if resource.built_in else objs,
        }
    return written(call, 200, shown)


def written(call: Call, code: int, value: Any) -> Answer:
    """Answer with a value, as JSON or as YAML."""
    if call.form.yaml:
        return Answer(code, yaml_document.dump(value), content_type="application/yaml")
    return Answer(code, json_bytes(value, pretty=call.is_pretty))


def included(query: Query) -> str:
    """Return how much of each object a table shall hold."""
    wanted = (query.get("includeObject") or [""])[0]
    if wanted not in tables.INCLUDES:
        why = "must be 'Metadata', 'Object', 'None', or empty"
        problem = problems.invalid("includeObject", wanted, why)
        raise status.bad_request(f"Unable to convert to Table as requested: {problem}")
    return wanted or tables.METADATA


def _list_bytes(resource: Resource, entries: Iterable[Entry], list_meta: Obj) -> bytes:
    """Put stored bytes together to a list; those of Go's types say their kind only once."""
    head = orjson.dumps(
        {
            "kind": resource.list_kind,
            "apiVersion": resource.api_version,
            "metadata": list_meta if resource.built_in else {"continue": "", **list_meta},
            "items": [],
        }
    )[:-2]
    if resource.load:
        items = b",".join(current_bytes(resource, entry) for entry in entries)
    elif resource.built_in:
        skipped = len(resource.head)
        items = b",{".join(entry.value[skipped:] for entry in entries)
        items = b"{" + items if items else b""
    else:
        items = b",".join(entry.value for entry in entries)
    return head + items + b"]}\n"


def _go_type(resource: Resource) -> str:
    """Return the type that Go has in memory for a kind."""
    if not resource.built_in:
        return "unstructured.Unstructured"
    return f"{resource.type_group.partition('.')[0] or 'core'}.{resource.kind}"


def _untyped(obj: Obj) -> Obj:
    return {key: value for key, value in obj.items() if key not in ("kind", "apiVersion")}
