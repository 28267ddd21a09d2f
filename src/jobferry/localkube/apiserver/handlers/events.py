"""Watch events, written in the form that the client asked for."""

import orjson

from jobferry.clock import Clock
from jobferry.localkube.apiserver.handlers import rendering
from jobferry.localkube.apiserver.printing import tables
from jobferry.localkube.apiserver.requests.call import Call
from jobferry.localkube.apiserver.resource import Resource
from jobferry.localkube.apiserver.status import StatusError
from jobferry.localkube.apiserver.storage.entry import Entry
from jobferry.objects import Obj

ADDED, MODIFIED, DELETED = b"ADDED", b"MODIFIED", b"DELETED"
BOOKMARK, ERROR = b"BOOKMARK", b"ERROR"


class Writer:
    """Writes the objects themselves; stored bytes go out as they are."""

    def __init__(self, resource: Resource) -> None:
        self._resource = resource

    def stored(self, type_: bytes, entry: Entry) -> bytes:
        """Write an event about an object that is, or was, in storage."""
        return _framed(type_, rendering.current_bytes(self._resource, entry))

    def made(self, type_: bytes, obj: Obj) -> bytes:
        """Write an event about an object that was made for it."""
        return _framed(type_, orjson.dumps(obj))

    def bookmark(self, revision: int, *, initial_end: bool = False) -> bytes:
        """Write how far the client has heard of everything."""
        blank = self._resource.blank
        meta: Obj = {**blank["metadata"], "resourceVersion": str(revision)}
        if initial_end:
            meta["annotations"] = {tables.INITIAL_EVENTS_END: "true"}
        return self.made(BOOKMARK, {**blank, "metadata": meta})


class MetadataWriter(Writer):
    """Writes the metadata of objects only."""

    def __init__(self, resource: Resource, version: str) -> None:
        super().__init__(resource)
        self._version = version

    def stored(self, type_: bytes, entry: Entry) -> bytes:
        """Write an event about an object that is, or was, in storage."""
        return self.made(type_, rendering.current(self._resource, entry))

    def made(self, type_: bytes, obj: Obj) -> bytes:
        """Write an event about an object that was made for it."""
        return _framed(type_, orjson.dumps(tables.partial_metadata(obj, self._version)))


class TableWriter(Writer):
    """Writes objects as tables of one row; only the first names the columns."""

    def __init__(self, resource: Resource, version: str, include: str, clock: Clock) -> None:
        super().__init__(resource)
        self._version = version
        self._include = include
        self._clock = clock
        self._is_first = True

    def stored(self, type_: bytes, entry: Entry) -> bytes:
        """Write an event about an object that is, or was, in storage."""
        return self.made(type_, rendering.current(self._resource, entry))

    def made(self, type_: bytes, obj: Obj) -> bytes:
        """Write an event about an object that was made for it."""
        shown = tables.event_table(
            obj,
            self._resource.columns,
            now=self._clock.now(),
            include=self._include,
            first=self._is_first,
            version=self._version,
        )
        self._is_first = False
        return _framed(type_, orjson.dumps(shown))


def writer(call: Call, resource: Resource, clock: Clock) -> Writer:
    """Return what writes events in the form that was asked for."""
    form = call.form
    if form.kind == "Table":
        return TableWriter(resource, form.version, rendering.included(call.query), clock)
    if form.kind:
        return MetadataWriter(resource, form.version)
    return Writer(resource)


def failure(error: StatusError) -> bytes:
    """Write the event that ends a watch which cannot go on."""
    return _framed(ERROR, orjson.dumps(error.status()))


def _framed(type_: bytes, obj: bytes) -> bytes:
    return b'{"type":"' + type_ + b'","object":' + obj + b"}\n"
