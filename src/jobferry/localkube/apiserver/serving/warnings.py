"""Warnings as headers: in quotes, each once, and not too much of them."""

import unicodedata
from collections.abc import Iterator, Sequence

TOTAL = 4096
"""From how many characters in all on each warning is cut."""

EACH = 256
"""How much of each is left then."""


def lines(texts: Sequence[str]) -> Iterator[bytes]:
    """Return the values of the headers; what cannot be in a header is left out."""
    sendable = [text for text in texts if text and not _has_control_characters(text)]
    if sum(map(len, sendable)) <= TOTAL:
        yield from map(_line, sendable)
        return
    written = 0
    for text in sendable:
        if written >= TOTAL:
            return
        written += min(len(text), EACH)
        yield _line(text[:EACH])


def _has_control_characters(text: str) -> bool:
    return not text.isprintable() and any(unicodedata.category(each) == "Cc" for each in text)


def _line(text: str) -> bytes:
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'299 - "{quoted}"'.encode()
