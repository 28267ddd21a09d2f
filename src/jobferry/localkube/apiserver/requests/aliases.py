"""Parts of a YAML text that are used more than once: how much they may be, and that each use is its own."""

from collections.abc import Iterator
from typing import Any

import yaml

_FEW, _MANY = 400_000, 4_000_000


class BadYAML(ValueError):
    """A text that is not YAML, or not of the sort that JSON can say."""


def are_used(root: yaml.Node) -> bool:
    """Tell whether a part is used more than once; refuse what has no end, or grows as Go does not allow."""
    sizes: dict[int, int] = {}
    whole = _size(root, sizes, set())
    repeated = whole - len(sizes)
    if repeated > 100 and whole > 1000 and repeated / whole > _allowed(whole):
        raise BadYAML("yaml: document contains excessive aliasing")
    return repeated > 0


def unshared(value: Any) -> Any:
    """Return a copy in which nothing is in two places."""
    if isinstance(value, dict):
        return {key: unshared(each) for key, each in value.items()}
    if isinstance(value, list):
        return [unshared(each) for each in value]
    return value


def _size(node: yaml.Node, sizes: dict[int, int], around: set[int]) -> int:
    """Return how many nodes a node would be if every use were written out."""
    name = id(node)
    if name in sizes:
        return sizes[name]
    if name in around:
        raise BadYAML("yaml: anchor value contains itself")
    around.add(name)
    total = 1
    for child in _children(node):
        total += _size(child, sizes, around)
    around.discard(name)
    sizes[name] = total
    return total


def _children(node: yaml.Node) -> Iterator[yaml.Node]:
    if isinstance(node, yaml.SequenceNode):
        yield from node.value
    elif isinstance(node, yaml.MappingNode):
        for pair in node.value:
            yield from pair


def _allowed(whole: int) -> float:
    """Return which share of a text of this size may come from aliases: less of a large one."""
    if whole <= _FEW:
        return 0.99
    if whole >= _MANY:
        return 0.10
    return 0.99 - 0.89 * (whole - _FEW) / (_MANY - _FEW)
