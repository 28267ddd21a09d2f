"""Reads lists of indexes as leniently as a controller must: whoever wrote a status may have been wrong."""

from collections.abc import Iterator

from jobferry.objects import gotext
from jobferry.objects.indexes import IndexSet


def read(text: str | None, limit: int) -> IndexSet:
    """Return the indexes below `limit` that a text names; what cannot be understood is left out."""
    edges: list[int] = []
    for start, end in sorted(_spans(text, limit)) if text else ():
        if edges and start <= edges[-1]:
            edges[-1] = max(edges[-1], end)
        else:
            edges += (start, end)
    return IndexSet(tuple(edges))


def _spans(text: str, limit: int) -> Iterator[tuple[int, int]]:
    for fragment in text.split(","):
        parts = fragment.split("-")
        first, last = gotext.parse_int(parts[0]), gotext.parse_int(parts[-1])
        if first is None or last is None:
            continue
        if first >= limit:
            return
        if 0 <= first <= last:
            yield first, min(last + 1, limit)
