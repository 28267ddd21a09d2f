"""Which part of an old object a part of its new version comes from: what did not change is not held against it."""

from typing import Any

from jobferry.localkube.apiserver.crds import pruning
from jobferry.objects import Obj

_UNKNOWN = object()


class Correlated:
    """A value beside what it was before, with the schema of both."""

    __slots__ = ("_children", "_old_items", "_same", "new", "old", "schema")

    def __init__(self, new: Any, old: Any, schema: Obj) -> None:
        self.new = new
        self.old = old
        self.schema = schema
        self._children: dict[str | int, Correlated | None] = {}
        self._old_items: dict[Any, Any] | None = None
        self._same: bool | None = None

    def same(self) -> bool:
        """Tell whether nothing changed."""
        if self._same is None:
            self._same = self._compare()
        return self._same

    def key(self, name: str) -> "Correlated | None":
        """Return a member; None: it cannot be told what it was before."""
        if name not in self._children:
            self._children[name] = self._member(name)
        return self._children[name]

    def index(self, position: int) -> "Correlated | None":
        """Return an item; None: it cannot be told what it was before."""
        if position not in self._children:
            self._children[position] = self._item(position)
        return self._children[position]

    def _member(self, name: str) -> "Correlated | None":
        if not (isinstance(self.old, dict) and isinstance(self.new, dict)):
            return None
        if name not in self.old or name not in self.new:
            return None
        schema = (self.schema.get("properties") or {}).get(name)
        if schema is None:
            schema = pruning.additional_of(self.schema)[1]
        return None if schema is None else Correlated(self.new[name], self.old[name], schema)

    def _item(self, position: int) -> "Correlated | None":
        if not (isinstance(self.old, list) and isinstance(self.new, list)):
            return None
        schema = self.schema.get("items")
        if schema is None or self.schema.get("x-kubernetes-list-type") != "map":
            return None
        if self._old_items is None:
            self._old_items = by_key(self.schema, self.old)
        old = self._old_items.get(key_of(self.schema, self.new[position]))
        return None if old is None else Correlated(self.new[position], old, schema)

    def _compare(self) -> bool:
        if self.new is None or self.old is None:
            return self.new is self.old
        if isinstance(self.new, dict) and isinstance(self.old, dict):
            return len(self.new) == len(self.old) and all(
                (member := self.key(name)) is not None and member.same() for name in self.new
            )
        if isinstance(self.new, list) and isinstance(self.old, list):
            return self._compare_items()
        return bool(self.new.__class__ is self.old.__class__ and self.new == self.old)

    def _compare_items(self) -> bool:
        if len(self.new) != len(self.old):
            return False
        for position in range(len(self.new)):
            item = self.index(position)
            if item is None:
                # Lists that are no maps are compared as a whole.
                return self._old_items is None and bool(self.new == self.old)
            if not item.same():
                return False
        return True


def key_of(schema: Obj, item: Any) -> Any:
    """Return what tells an item of a list map from the others; it can be hashed."""
    if not isinstance(item, dict):
        return _UNKNOWN
    properties = (schema.get("items") or {}).get("properties") or {}
    found: list[Any] = []
    for name in schema.get("x-kubernetes-list-map-keys") or ():
        value = item.get(name, (properties.get(name) or {}).get("default"))
        found.append(
            repr(value) if isinstance(value, dict | list) else (value.__class__, value)
        )
    return tuple(found)


def by_key(schema: Obj, items: list[Any]) -> dict[Any, Any]:
    """Return the items of a list map by their keys; of equal ones, the last."""
    return {key_of(schema, item): item for item in items if isinstance(item, dict)}
