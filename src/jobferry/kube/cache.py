"""What is known of the objects of one kind, by name and by any index; never goes back in time."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Generic, NamedTuple

from jobferry import log
from jobferry.kube.items import H, Item, Key

_log = log.get(__name__)

Index = Callable[[Item[H]], Iterable[Hashable]]
"""Under which values an object is to be found; may be none or several."""


class Change(NamedTuple, Generic[H]):
    """What became of one object; `before` is None when it appeared, `after` when it vanished."""

    before: Item[H] | None
    after: Item[H] | None

    @property
    def item(self) -> Item[H]:
        """The object as it is now, or as it was last seen."""
        item = self.after or self.before
        assert item is not None  # noqa: S101 (a change is of something)
        return item


class Cache(Generic[H]):
    """Objects by key. Every method that changes it returns what changed, in order."""

    def __init__(self, indexes: Mapping[str, Index[H]] | None = None) -> None:
        self._items: dict[Key, Item[H]] = {}
        self._indexes = dict(indexes or {})
        self._found: dict[str, dict[Hashable, dict[Key, Item[H]]]] = {
            name: {} for name in self._indexes
        }
        self._gone: set[str] = set()

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Item[H]]:
        return iter(self._items.values())

    def get(self, key: Key) -> Item[H] | None:
        """Return the object of that name."""
        return self._items.get(key)

    def by(self, index: str, value: Hashable) -> list[Item[H]]:
        """Return the objects that the index of that name has under `value`."""
        return list(self._found[index].get(value, {}).values())

    def count(self, index: str, value: Hashable) -> int:
        """Return how many objects the index of that name has under `value`."""
        return len(self._found[index].get(value, ()))

    def put(self, item: Item[H]) -> list[Change[H]]:
        """Take in a state of an object, unless a later one is known."""
        key = item.key
        before = self._items.get(key)
        if item.uid in self._gone or (before is not None and before.version >= item.version):
            return []
        if before is not None and before.uid != item.uid:
            # Deleted and made again under the same name while we were not looking.
            return [self._drop(before), self._store(key, None, item)]
        return [self._store(key, before, item)]

    def remove(self, key: Key, version: int) -> list[Change[H]]:
        """Take note that at `version` there was no such object."""
        before = self._items.get(key)
        if before is None or before.version > version:
            return []
        return [self._drop(before)]

    def remove_gone(self, key: Key, uid: str) -> list[Change[H]]:
        """Take note that an object is gone for good, before the watch says so."""
        before = self._items.get(key)
        if before is None or before.uid != uid:
            return []  # the watch was faster
        self._gone.add(uid)
        return [self._drop(before)]

    def forget_gone(self, uid: str) -> None:
        """Take note that the watch has said so too."""
        self._gone.discard(uid)

    def clear(self) -> list[Change[H]]:
        """Forget everything."""
        self._gone.clear()
        return [self._drop(item) for item in list(self)]

    def replace(self, items: Iterable[Item[H]], version: int) -> list[Change[H]]:
        """Take in all objects that there were at `version`; others are gone, unless they came later."""
        changes: list[Change[H]] = []
        listed: set[Key] = set()
        uids: set[str] = set()
        for item in items:
            listed.add(item.key)
            uids.add(item.uid)
            changes += self.put(item)
        for key in self._items.keys() - listed:
            changes += self.remove(key, version)
        self._gone &= uids
        return changes

    def _store(self, key: Key, before: Item[H] | None, item: Item[H]) -> Change[H]:
        if before is not None:
            self._unindex(key, before)
        self._items[key] = item
        for name, index in self._indexes.items():
            for value in _values(index, item):
                self._found[name].setdefault(value, {})[key] = item
        return Change(before, item)

    def _drop(self, item: Item[H]) -> Change[H]:
        self._unindex(item.key, item)
        del self._items[item.key]
        return Change(item, None)

    def _unindex(self, key: Key, item: Item[H]) -> None:
        for name, index in self._indexes.items():
            found = self._found[name]
            for value in _values(index, item):
                same = found.get(value, {})
                same.pop(key, None)
                if not same:
                    found.pop(value, None)


def _values(index: Index[H], item: Item[H]) -> Iterable[Hashable]:
    """Return the values of an object; none where its index fails on it, each time the same."""
    try:
        return list(index(item))
    except Exception as error:  # noqa: BLE001 (objects are written by anybody)
        _log.failure("An index failed", error, key=str(item.key))
        return ()
