"""Objects in the form that the client asked for."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import orjson

from jobferry.clock import Clock
from jobferry.localkube.apiserver import problems, status
from jobferry.localkube.apiserver.handlers import pacing
from jobferry.localkube.apiserver.handlers.backend import Backend
from jobferry.localkube.apiserver.printing import tables
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


async def stored(
    backend: Backend, call: Call, resource: Resource, code: int, entry: Entry
) -> Answer:
    """Answer with an object that is in storage; in the usual form its bytes go out as they are."""
    work = len(entry.value) if resource.load else 0
    if not call.form.kind and not call.is_pretty:
        found = await pacing.computed(backend, work, current_bytes, resource, entry)
        return Answer(code, found + b"\n")
    obj = await pacing.computed(backend, work, current, resource, entry)
    return one(call, resource, code, obj, backend.clock)


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


async def many(
    backend: Backend, call: Call, resource: Resource, entries: Sequence[Entry], list_meta: Obj
) -> Answer:
    """Answer with a list; others have turns while it is put together."""
    form = call.form
    if form.kind == "PartialObjectMetadata":
        what = f"is a list (*{_go_type(resource)}List)"
        raise status.not_convertible(
            f"you requested {form.kind}, but the requested object {what}"
        )
    if form.kind == "Table":
        return await _table(backend, call, resource, entries, list_meta)
    if not form.kind:
        listing = _Listing(call, _head(resource, list_meta), "items")
        show = _shower(call, resource, listing)
        return await listing.answer(backend, resource, entries, show)
    empty = tables.partial_metadata_list((), list_meta, form.version)
    partial = _Listing(call, empty, "items")

    def show_metadata(entry: Entry) -> bytes:
        obj = current(resource, entry)
        return partial.item(tables.partial_metadata(obj, form.version))

    return await partial.answer(backend, resource, entries, show_metadata)


async def _table(
    backend: Backend, call: Call, resource: Resource, entries: Sequence[Entry], list_meta: Obj
) -> Answer:
    now, include, version = backend.clock.now(), included(call.query), call.form.version

    def shown(objs: Sequence[Obj]) -> Obj:
        return tables.table(
            objs,
            resource.columns,
            now=now,
            include=include,
            list_meta=list_meta,
            version=version,
        )

    listing = _Listing(call, shown(()), "rows")

    def show(entry: Entry) -> bytes:
        return listing.item(shown([current(resource, entry)])["rows"][0])

    return await listing.answer(backend, resource, entries, show)


def _head(resource: Resource, list_meta: Obj) -> Obj:
    """Return a list without its items."""
    return {
        "kind": resource.list_kind,
        "apiVersion": resource.api_version,
        "metadata": list_meta if resource.built_in else {"continue": "", **list_meta},
        "items": [],
    }


def _shower(call: Call, resource: Resource, listing: "_Listing") -> Callable[[Entry], bytes]:
    """Return what writes an item: stored bytes go out as they are; those of Go's types say their kind only once."""
    if call.is_pretty:
        if resource.built_in:
            return lambda entry: listing.item(_untyped(current(resource, entry)))
        return lambda entry: listing.item(current(resource, entry))
    if resource.load or not resource.built_in:
        return lambda entry: current_bytes(resource, entry)
    skipped = len(resource.head)
    return lambda entry: b"{" + entry.value[skipped:]


class _Listing:
    """The JSON of a list, written in parts."""

    def __init__(self, call: Call, empty: Obj, member: str) -> None:
        self._call = call
        self._empty = empty
        self._member = member
        self._pretty = call.is_pretty

    def item(self, value: Obj) -> bytes:
        """Write one item."""
        if not self._pretty:
            return orjson.dumps(value)
        # There are no line breaks in JSON but those that indent it.
        written = json_bytes(value, pretty=True)
        return b"\n    " + written.replace(b"\n", b"\n    ")

    async def answer(
        self,
        backend: Backend,
        resource: Resource,
        entries: Sequence[Entry],
        show: Callable[[Entry], bytes],
    ) -> Answer:
        """Answer with all entries, each as `show` writes it."""
        if not entries:
            return written(self._call, 200, self._empty)
        parts: list[bytes] = []
        pending: list[bytes] = []
        done = pacing.Slice()
        for entry in entries:
            if resource.load:
                size = len(entry.value)
                pending.append(await pacing.computed(backend, size, show, entry))
            else:
                pending.append(show(entry))
            if done.is_full(len(entry.value)):
                parts.append(b",".join(pending))
                pending = []
                await pacing.others()
        if pending:
            parts.append(b",".join(pending))
        return self._joined(parts)

    def _joined(self, parts: list[bytes]) -> Answer:
        before, after = self._around()
        if len(parts) == 1:
            return Answer(200, before + parts[0] + after)
        rest = [b"," + part for part in parts[1:]]
        return Answer(200, before + parts[0], rest=(*rest, after))

    def _around(self) -> tuple[bytes, bytes]:
        """Return what comes before the items, and what comes after them."""
        empty = {**self._empty, self._member: []}
        head, _, tail = json_bytes(empty, pretty=self._pretty).rpartition(b"[]")
        return head + b"[", (b"\n  ]" if self._pretty else b"]") + tail


def written(call: Call, code: int, value: Any) -> Answer:
    """Answer with a value."""
    return Answer(code, json_bytes(value, pretty=call.is_pretty))


def included(query: Query) -> str:
    """Return how much of each object a table shall hold."""
    wanted = (query.get("includeObject") or [""])[0]
    if wanted not in tables.INCLUDES:
        why = "must be 'Metadata', 'Object', 'None', or empty"
        problem = problems.invalid("includeObject", wanted, why)
        raise status.bad_request(f"Unable to convert to Table as requested: {problem}")
    return wanted or tables.METADATA


def _go_type(resource: Resource) -> str:
    """Return the type that Go has in memory for a kind."""
    if not resource.built_in:
        return "unstructured.Unstructured"
    return f"{resource.type_group.partition('.')[0] or 'core'}.{resource.kind}"


def _untyped(obj: Obj) -> Obj:
    return {key: value for key, value in obj.items() if key not in ("kind", "apiVersion")}
