"""Takes JSON apart that is nested deeper than decoders go: API servers keep ten thousand levels, whoever writes them.

Nothing is decoded here. It is found out where objects and lists begin and end, so that one that nobody can read keeps
nobody from the others.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"|[\[{\]}]', re.DOTALL)
_OPENING, _CLOSING = frozenset(b"[{"), frozenset(b"]}")


class Span(NamedTuple):
    """Where an object or a list is."""

    around: bytes
    """What it is in, from without: `{[` is the beginning of an object, and in that of a list."""

    start: int
    end: int


def spans(json: bytes, most: int) -> Iterator[Span]:
    """Yield the objects and lists that are in no more than `most` others, each as soon as it ends."""
    around, starts, below = bytearray(), list[int](), 0
    for token in _TOKEN.finditer(json):
        sign = json[token.start()]
        if sign in _OPENING and len(around) > most:
            below += 1
        elif sign in _OPENING:
            around.append(sign)
            starts.append(token.start())
        elif sign in _CLOSING and below:
            below -= 1
        elif sign in _CLOSING and around:
            around.pop()
            yield Span(bytes(around), starts.pop(), token.end())


def entries(json: bytes) -> list[bytes]:
    """Return the objects and lists in the lists that are members of an object."""
    return [json[each.start : each.end] for each in spans(json, 2) if each.around == b"{["]


def shallow(json: bytes, levels: int) -> bytes:
    """Return JSON of no more than so many levels: in place of what is deeper there is null."""
    parts, at = list[bytes](), 0
    for each in spans(json, levels):
        if len(each.around) == levels:
            parts += (json[at : each.start], b"null")
            at = each.end
    return b"".join((*parts, json[at:]))
