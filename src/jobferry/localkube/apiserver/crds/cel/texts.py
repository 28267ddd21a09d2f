"""Texts and bytes as expressions write them: quotes and escapes."""

import re
import sys
from typing import Any

_ESCAPES = {
    "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    '"': '"', "'": "'", "\\": "\\", "?": "?", "`": "`",
}  # fmt: skip


class SyntaxProblem(Exception):
    """Text that is no expression; `at` is where it stops being one."""

    def __init__(self, at: int, message: str) -> None:
        super().__init__(message)
        self.at = at


def unquoted(text: str, at: int, *, as_bytes: bool = False) -> Any:
    """Return what a literal stands for, given as it is written at a place; raises `SyntaxProblem`."""
    text = text[1:] if as_bytes else text
    raw = text[0] in "rR"
    text = text[1:] if raw else text
    size = 3 if text[:3] in ('"""', "'''") else 1
    body = text[size:-size]
    if raw:
        return body.encode() if as_bytes else body
    return _unescaped(body, at, as_bytes)


def _unescaped(body: str, at: int, as_bytes: bool) -> Any:
    parts: list[bytes] = []
    position = 0
    pattern = re.compile(
        r"\\(?:([abfnrtv\"'\\?`])|[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2}))"
    )
    while position < len(body):
        if body[position] != "\\":
            parts.append(body[position].encode("utf-8", "surrogatepass"))
            position += 1
            continue
        match = pattern.match(body, position)
        if match is None:
            raise SyntaxProblem(at, "Syntax error: unable to unescape string")
        position = match.end()
        plain, short, unicode, long, octal = match.groups()
        if plain:
            parts.append(_ESCAPES[plain].encode())
            continue
        code = int(octal, 8) if octal else int(short or unicode or long, 16)
        if as_bytes and (unicode or long):
            raise SyntaxProblem(at, "unable to unescape string")
        if 0xD800 <= code < 0xE000 or code > sys.maxunicode:
            raise SyntaxProblem(at, "invalid unicode code point")
        byte = as_bytes and bool(short or octal)
        parts.append(bytes([code]) if byte else chr(code).encode("utf-8", "surrogatepass"))
    whole = b"".join(parts)
    return whole if as_bytes else whole.decode("utf-8", "replace")
