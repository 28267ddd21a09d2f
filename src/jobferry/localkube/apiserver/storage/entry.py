"""What is stored, and what happened to it; neither ever changes, so all readers share them."""

from typing import Any, NamedTuple

import orjson

from jobferry.objects import Obj


class Entry:
    """The state of one key."""

    __slots__ = ("_object", "created", "key", "revision", "value")

    def __init__(self, key: str, value: bytes, revision: int, created: int) -> None:
        self.key = key
        self.value = value
        self.revision = revision
        """Of its last change."""

        self.created = created
        """The revision that brought the key into being."""

        self._object: Any = None

    @property
    def object(self) -> Obj:
        """What the value says, decoded once and shared: only read it.

        It stays in memory as long as the entry does. For a single look or a copy to change, use `fresh`.
        """
        if self._object is None:
            self._object = orjson.loads(self.value)
        return self._object  # type: ignore[no-any-return]

    def fresh(self) -> Obj:
        """Decode the value anew: a copy of one's own, and nothing is kept."""
        return orjson.loads(self.value)  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return f"Entry({self.key!r}, revision={self.revision}, created={self.created})"


class Change:
    """What happened to one key."""

    __slots__ = ("deleted", "entry", "previous")

    def __init__(self, entry: Entry, previous: Entry | None, deleted: bool = False) -> None:
        self.entry = entry
        """The state after it; of a delete, the last state with the revision of the delete."""

        self.previous = previous
        """The state before it; None: there was none."""

        self.deleted = deleted

    @property
    def revision(self) -> int:
        """When it happened."""
        return self.entry.revision

    @property
    def left(self) -> Entry | None:
        """What is there after it."""
        return None if self.deleted else self.entry

    def __repr__(self) -> str:
        before = self.previous.revision if self.previous else None
        return f"Change({self.entry!r}, previous={before}, deleted={self.deleted})"


class Range(NamedTuple):
    """Entries in the order of their keys, all as of one revision."""

    entries: list[Entry]
    revision: int
    more: bool
    """Whether some were left out because of the limit."""

    remaining: int
    """How many were."""


def resource_of(key: str) -> str:
    """Return the first three parts of a key or prefix (`/registry/batch/jobs/`): its collection."""
    parts = key.split("/", 4)
    if len(parts) != 5 or parts[0]:
        raise ValueError(f"not below a collection such as /registry/batch/jobs/: {key!r}")
    return "/".join(parts[:4]) + "/"
