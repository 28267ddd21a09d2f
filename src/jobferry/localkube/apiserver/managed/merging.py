"""An applied configuration put on top of an object: nothing is removed, and lists take its order."""

from collections import deque
from collections.abc import Callable
from typing import Any

from jobferry.localkube.apiserver import shapes
from jobferry.localkube.apiserver.managed import path_steps
from jobferry.localkube.apiserver.shapes import Leaf, ListMap, SetOf, Shape, Struct
from jobferry.objects import Obj

_ABSENT: Any = object()


def merge(shape: Shape, live: Obj, config: Obj) -> Obj:
    """Return `live` with the values of `config`; what is not changed is shared with them."""
    merged: Obj = _merged(shape, live, config)
    return merged


def _merged(shape: Shape, live: Any, config: Any) -> Any:
    if config is _ABSENT:
        return live
    match shape:
        case Leaf():
            return config
        case Struct():
            return _merged_structs(shape, live, config)
        case ListMap():
            return _merged_lists(path_steps.maker(shape), shape.item, live, config)
        case SetOf():
            return _merged_lists(path_steps.of_set_item, shapes.LEAF, live, config)


def _merged_structs(shape: Struct, live: Any, config: Any) -> Any:
    if not config:
        # A null (or nothing) leaves the members that are there.
        keeps = isinstance(config, dict) or config is None
        return live if keeps and isinstance(live, dict) and live else config
    if not isinstance(config, dict):
        return config
    result = dict(live) if isinstance(live, dict) else {}
    for name, value in config.items():
        sub = shape.fields.get(name) or shape.others or shapes.LEAF
        result[name] = _merged(sub, result.get(name, _ABSENT), value)
    return result


def _merged_lists(step: Callable[[Any], str], item: Shape, live: Any, config: Any) -> Any:
    theirs = live if isinstance(live, list) else []
    mine = config if isinstance(config, list) else []
    if not mine:
        return theirs or config
    left, right = ([(step(one), one) for one in items] for items in (theirs, mine))
    return _Lists(left, right, item).merged()


class _Lists:
    """Two lists that become one: items of both are merged, and come in the order of the right one.

    Items that only the left one has stay where they are between those of both, as far as that can be.
    """

    def __init__(
        self, left: list[tuple[str, Any]], right: list[tuple[str, Any]], item: Shape
    ) -> None:
        self.left = left
        self.right = right
        self.item = item
        self.left_items: dict[str, Any] = {}
        for step, one in left:
            # Of those that are there twice none is the one to merge with.
            self.left_items[step] = None if step in self.left_items else one
        self.right_items = dict(right)
        self.shared = deque(step for step, _ in right if step in self.left_items)
        self.done: set[str] = set()
        self.result: list[Any] = []

    def merged(self) -> list[Any]:
        """Return the one list."""
        at_left = at_right = 0
        while at_left < len(self.left) or at_right < len(self.right):
            if at_left < len(self.left):
                step, one = self.left[at_left]
                if step not in self.right_items:
                    self.result.append(one)
                    at_left += 1
                    continue
                if self._comes_later(step, at_right):
                    at_left += 1
                    continue
                if step in self.done or step == self._at(at_right):
                    at_left += 1
            if at_right < len(self.right):
                self._take(*self.right[at_right])
                at_right += 1
        return self.result

    def _at(self, at_right: int) -> str | None:
        return self.right[at_right][0] if at_right < len(self.right) else None

    def _comes_later(self, step: str, at_right: int) -> bool:
        """Tell whether an item of both lists is not the next one of those in the right one."""
        next_right = self._at(at_right)
        return next_right not in (None, step) and bool(self.shared) and self.shared[0] != step

    def _take(self, step: str, one: Any) -> None:
        """Put the next item of the right list into the result."""
        self.done.add(step)
        if self.shared and self.shared[0] == step:
            self.shared.popleft()
        self.result.append(_merged(self.item, self.left_items.get(step, _ABSENT), one))
