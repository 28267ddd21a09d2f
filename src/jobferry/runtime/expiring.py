"""What is remembered for a while, and never more of it than so much."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from jobferry.clock import Seconds

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Expiring(Generic[K, V]):
    """A mapping whose entries are forgotten in time; where there are too many, what was put first goes first."""

    def __init__(self, monotonic: Callable[[], Seconds], *, most: int) -> None:
        self._monotonic = monotonic
        self._most = most
        self._entries: OrderedDict[K, tuple[Seconds, V]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: K) -> V | None:
        """Return what is remembered under a key; None: nothing, or nothing any more."""
        found = self._entries.get(key)
        if found is None:
            return None
        until, value = found
        if until > self._monotonic():
            return value
        del self._entries[key]
        return None

    def put(self, key: K, value: V, *, within: Seconds) -> None:
        """Remember something for so long."""
        self._entries.pop(key, None)
        self._entries[key] = self._monotonic() + within, value
        if len(self._entries) > self._most:
            self._entries.popitem(last=False)

    def clear(self) -> None:
        """Forget everything."""
        self._entries.clear()
