"""How an object is kept in memory: a few fields decoded, the rest as JSON bytes.

Whole objects as dicts cost five times the memory and most of the CPU of a watch, and nearly all of them are
never looked into. So the *head* of an object is decoded into a struct (which fields, each informer
chooses), its *body* stays bytes until somebody asks for the object.
"""

from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

import msgspec
import orjson
from msgspec.structs import force_setattr

from jobferry.kube import nested
from jobferry.objects import Obj


class Key(NamedTuple):
    """The name of an object within its kind; the namespace is empty for cluster-scoped kinds."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class Metadata(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """What every head knows of an object's metadata."""

    name: str
    resource_version: str
    uid: str = ""
    namespace: str = ""
    generation: int = 0
    labels: dict[str, str] = {}
    creation_timestamp: str = ""
    deletion_timestamp: str | None = None
    managed_fields: msgspec.Raw = msgspec.Raw(b"")
    """Empty but for a moment: `body` cuts them out of the JSON, and out of here."""


class Head(msgspec.Struct, frozen=True, gc=False):
    """The decoded part of an object; an informer that needs more derives its own."""

    metadata: Metadata


H = TypeVar("H", bound=Head)
M = TypeVar("M", bound=Metadata)

Json = bytes | memoryview | msgspec.Raw
"""An object that is not decoded yet."""


Reading = type[H] | Callable[[Json], H]
"""How the head of an object is read: into a struct, or by a function that knows how."""


def metadata(decoded: Obj, reading: type[M]) -> M:
    """Read the metadata of an object that was decoded whole; managedFields, which are kept undecoded, are left out."""
    known = {
        name: each for name, each in decoded["metadata"].items() if name != "managedFields"
    }
    return msgspec.convert(known, reading)


def reader(reading: Reading[H]) -> Callable[[Json], H]:
    """Return the function that reads heads."""
    return msgspec.json.Decoder(reading).decode if isinstance(reading, type) else reading


def key(head: Head) -> Key:
    """Return the namespace and name of an object."""
    return Key(head.metadata.namespace, head.metadata.name)


class Item(msgspec.Struct, Generic[H], frozen=True, gc=False):
    """One object as it was at one resourceVersion."""

    head: H
    body: bytes
    """The object as JSON, without managedFields."""

    @property
    def key(self) -> Key:
        """Its namespace and name."""
        return key(self.head)

    @property
    def uid(self) -> str:
        """Its identity."""
        return self.head.metadata.uid

    @property
    def version(self) -> int:
        """Its resourceVersion, which API servers of all versions we serve let clients compare."""
        return int(self.head.metadata.resource_version)

    def object(self) -> Obj:
        """Decode the whole object."""
        obj: Obj = orjson.loads(self.body)
        return obj


class _Bookmark(msgspec.Struct, gc=False):
    """What stands in place of an object in the metadata of a list or a bookmark."""

    metadata: "_BookmarkMetadata"


class _BookmarkMetadata(msgspec.Struct, gc=False, rename="camel"):
    resource_version: str
    annotations: dict[str, str] = {}


class _Page(msgspec.Struct, gc=False):
    metadata: "_PageMetadata"
    items: list[msgspec.Raw]


class _PageMetadata(msgspec.Struct, gc=False, rename="camel"):
    resource_version: str
    continue_: str = msgspec.field(name="continue", default="")


class Page(NamedTuple):
    """One page of a list, its objects not decoded yet."""

    items: list[msgspec.Raw]
    version: int
    resume: str


class Bookmark(NamedTuple):
    """How far a watch has got, where nothing changed."""

    version: int
    ends_initial_events: bool


_ANY = msgspec.json.Decoder(Head)
_PAGE = msgspec.json.Decoder(_Page)
_BOOKMARK = msgspec.json.Decoder(_Bookmark)
_PARTS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_ENCODER = msgspec.json.Encoder()
_NOTHING = msgspec.Raw(b"")
_MANAGED = b'"managedFields":'
_LEVELS = 8
"""All that an API server writes into metadata, but for managedFields, which are kept undecoded."""


def page(body: bytes) -> Page:
    """Read one page of a list; an object in it may be nested deeper than can be read, but not the page."""
    try:
        decoded = _PAGE.decode(body)
        found = decoded.items
    except RecursionError:
        decoded = _PAGE.decode(nested.shallow(body, 2))
        found = [msgspec.Raw(each) for each in nested.entries(body)]
    meta = decoded.metadata
    return Page(found, int(meta.resource_version), meta.continue_)


def identity(raw: Json) -> Head:
    """Read no more of an object than who it is, however deep the rest is nested."""
    try:
        return _ANY.decode(raw)
    except RecursionError:
        return _ANY.decode(nested.shallow(bytes(raw), _LEVELS))


def bookmark(raw: Json) -> Bookmark:
    """Read a bookmark."""
    meta = _BOOKMARK.decode(raw).metadata
    ends = meta.annotations.get("k8s.io/initial-events-end") == "true"
    return Bookmark(int(meta.resource_version), ends)


def body(head: Head, raw: Json) -> bytes:
    """Copy the JSON that `head` was decoded from, but for managedFields: often a third of it.

    Only API servers read those. Decoding and encoding the rest would cost more than all else together,
    so they are cut out, where it is certain that they are the only member of that name.
    """
    whole, managed = bytes(raw), bytes(head.metadata.managed_fields)
    if not managed:
        return whole
    # A view of the buffer that the object came in, with many others: it must not be kept alive.
    force_setattr(head.metadata, "managed_fields", _NOTHING)
    start = whole.find(_MANAGED)
    end = start + len(_MANAGED) + len(managed)
    is_certain = whole.startswith(managed, start + len(_MANAGED))
    if not is_certain or whole.find(_MANAGED, end) >= 0:
        return _encoded_without(whole)
    if whole.startswith(b",", end):
        end += 1
    elif whole.startswith(b",", start - 1):
        start -= 1
    view = memoryview(whole)
    return b"".join((view[:start], view[end:]))


def _encoded_without(whole: bytes) -> bytes:
    parts = _PARTS.decode(whole)
    meta = _PARTS.decode(parts["metadata"])
    del meta["managedFields"]
    return _ENCODER.encode({**parts, "metadata": meta})


class Seen(NamedTuple, Generic[H]):
    """Who an object is, at which version, and what is kept of it."""

    key: Key
    uid: str
    version: int
    item: Item[H] | None


class Collecting(Generic[H]):
    """The initial events of a watch, until the server says that they are all."""

    def __init__(self) -> None:
        self.found: dict[Key, Item[H]] = {}
        self.is_over = False


def is_let_go(meta: Obj) -> bool:
    """Tell whether a write took away the last thing that kept a deleted object.

    Servers do not store what was written then, but remove the object: the answer has an old version.
    """
    return meta.get("deletionGracePeriodSeconds") == 0 and not meta.get("finalizers")
