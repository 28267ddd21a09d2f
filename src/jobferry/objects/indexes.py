"""Sets of completion indexes ("0-4,7"), as the status of an Indexed Job carries them."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, pairwise

from jobferry import errors
from jobferry.objects import gotext


class BadIndexes(errors.BadInput):
    """Text that is no list of indexes, in the words of an API server."""

    hint = 'Write ascending indexes and ranges below the number of completions: "0-4,7".'


@dataclass(frozen=True, slots=True)
class IndexSet:
    """A set of indexes, held as intervals: its size is that of its text, not of its content.

    `edges` are the ascending points where membership changes: (0, 5, 7, 8) is "0-4,7".
    """

    edges: tuple[int, ...] = ()

    @classmethod
    def of(cls, indexes: Iterable[int]) -> "IndexSet":
        """Return the set of these indexes, in any order, repeated or not."""
        ordered = sorted(set(indexes))
        if not ordered:
            return cls()
        gaps = [(last + 1, first) for last, first in pairwise(ordered) if first - last > 1]
        return cls((ordered[0], *chain.from_iterable(gaps), ordered[-1] + 1))

    @classmethod
    def below(cls, limit: int) -> "IndexSet":
        """Return the set of all indexes below a limit."""
        return cls((0, limit)) if limit > 0 else cls()

    def intervals(self) -> Iterator[tuple[int, int]]:
        """Yield the first and the last index of each interval, in order."""
        for first, end in zip(self.edges[::2], self.edges[1::2], strict=True):
            yield first, end - 1

    def clip(self, limit: int) -> "IndexSet":
        """Return what is below a limit."""
        return self & IndexSet.below(limit)

    def __or__(self, other: "IndexSet") -> "IndexSet":
        return _combine(self, other, lambda ours, theirs: ours or theirs)

    def __and__(self, other: "IndexSet") -> "IndexSet":
        return _combine(self, other, lambda ours, theirs: ours and theirs)

    def __sub__(self, other: "IndexSet") -> "IndexSet":
        return _combine(self, other, lambda ours, theirs: ours and not theirs)

    def __contains__(self, index: int) -> bool:
        return bisect_right(self.edges, index) % 2 == 1

    def __iter__(self) -> Iterator[int]:
        for first, last in self.intervals():
            yield from range(first, last + 1)

    def __len__(self) -> int:
        return sum(self.edges[1::2]) - sum(self.edges[::2])

    def __str__(self) -> str:
        # Two neighbours are no range for the Job controller: "3,4", but "3-5".
        return ",".join(
            str(first) if first == last else f"{first}{',' if first + 1 == last else '-'}{last}"
            for first, last in self.intervals()
        )


def parse(text: str, limit: int) -> IndexSet:
    """Read indexes below a limit (the Job's completions), as strictly as an API server does."""
    edges: list[int] = []
    for fragment in text.split(",") if text else ():
        first, last = _interval(fragment, limit)
        if edges and edges[-1] > first:
            raise _not_increasing(edges[-1] - 1, first)
        if edges and edges[-1] == first:
            edges[-1] = last + 1
        else:
            edges += (first, last + 1)
    return IndexSet(tuple(edges))


def _interval(fragment: str, limit: int) -> tuple[int, int]:
    parts = fragment.split("-")
    if len(parts) > 2:
        raise BadIndexes(
            f"the fragment {gotext.quote(fragment)} violates the requirement that an index "
            "interval can have at most two parts separated by '-'"
        )
    first = _index(parts[0], limit)
    if len(parts) == 1:
        return first, first
    last = _index(parts[1], limit)
    if first >= last:
        raise _not_increasing(first, last)
    return first, last


def _index(text: str, limit: int) -> int:
    index = gotext.parse_int(text)
    if index is None:
        raise BadIndexes(f"cannot convert string to integer for index: {gotext.quote(text)}")
    if index >= limit:
        raise BadIndexes(f"too large index: {gotext.quote(text)}")
    return index


def _not_increasing(previous: int, current: int) -> BadIndexes:
    return BadIndexes(f"non-increasing order, previous: {previous}, current: {current}")


def _combine(ours: IndexSet, theirs: IndexSet, keep: Callable[[bool, bool], bool]) -> IndexSet:
    """Walk along all edges of two sets, and note where what is kept begins and ends."""
    our_edges, their_edges = set(ours.edges), set(theirs.edges)
    in_ours = in_theirs = inside = False
    edges: list[int] = []
    for edge in sorted(our_edges | their_edges):
        in_ours ^= edge in our_edges
        in_theirs ^= edge in their_edges
        if keep(in_ours, in_theirs) != inside:
            edges.append(edge)
            inside = not inside
    return IndexSet(tuple(edges))
