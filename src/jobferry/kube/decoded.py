"""Whole objects that were decoded lately, so that whoever looks again soon need not decode them again."""

from collections import OrderedDict
from typing import Any

from jobferry.kube.items import Item
from jobferry.objects import Obj

MOST_BYTES = 1_000_000
"""Of JSON: as dicts, objects take about five times as much."""


class Decoded:
    """Decodes objects, and keeps the last ones; they are shared, so nobody may change them."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._bytes = 0
        self._kept: OrderedDict[int, tuple[Item[Any], Obj]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def __call__(self, item: Item[Any]) -> Obj:
        """Return the whole of an object."""
        identity = id(item)  # of no other, as long as it is kept
        if identity in self._kept:
            self._kept.move_to_end(identity)
            return self._kept[identity][1]
        obj = item.object()
        self._kept[identity] = item, obj
        self._bytes += len(item.body)
        while self._bytes > self._most_bytes:
            _, (oldest, _) = self._kept.popitem(last=False)
            self._bytes -= len(oldest.body)
        return obj
