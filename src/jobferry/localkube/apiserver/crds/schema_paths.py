"""Paths into a schema, as rules and selectable fields write them: `.spec.name`, `.labels['a.b']`."""

import re
from typing import NamedTuple

from jobferry.localkube.apiserver.crds import pruning
from jobferry.objects import Obj

_UNESCAPED = {
    "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    "'": "'", "\\": "\\",
}  # fmt: skip


class BadPath(ValueError):
    """A path that leads nowhere, in the words of an API server."""


class Found(NamedTuple):
    """Where a path leads: how it is shown, where it begins, the schema there."""

    shown: str
    root: str
    schema: Obj | None


def _tokens(path: str) -> list[str]:
    found: list[str] = []
    at = 0
    while at < len(path):
        if path[at] == "'":
            quoted = re.compile(r"'(?:[^'\\]|\\.)*'").match(path, at)
            found.append(quoted[0] if quoted else path[at:])
        elif path[at] in ".[]":
            found.append(path[at])
        else:
            plain = re.compile(r"[^.\[\]]+").match(path, at)
            found.append(plain[0] if plain else path[at:])
        at += len(found[-1])
    return found


def _unquoted(token: str) -> str:
    if len(token) < 2 or token[0] != "'" or token[-1] != "'":
        raise BadPath(f"expected single quoted string but got {token}")

    def plain(match: re.Match[str]) -> str:
        if match[0][1] not in _UNESCAPED:
            raise BadPath(f"invalid string literal: invalid escape char {match[0]}")
        return _UNESCAPED[match[0][1]]

    return re.sub(r"\\.", plain, token[1:-1])


def follow(path: str, schema: Obj, *, brackets: bool = True) -> Found:
    """Follow a path through a schema; raises `BadPath`."""
    shown, root = "", ""
    here: Obj | None = schema
    tokens = _tokens(path)
    while tokens:
        opening = tokens.pop(0)
        if opening not in (".", "["):
            raise BadPath(f"expected [ or . but got: {opening}")
        if opening == "[" and not brackets:
            raise BadPath("array notation is not allowed")
        if not tokens:
            raise BadPath("unexpected end of JSON path")
        name = tokens.pop(0)
        name = _unquoted(name) if opening == "[" else name
        here, is_key = _step(here, name)
        shown = f"{shown}[{name}]" if is_key else f"{shown}.{name}" if shown else name
        root = root or name
        if opening == "[":
            if not tokens:
                raise BadPath("unexpected end of JSON path")
            if (closing := tokens.pop(0)) != "]":
                raise BadPath(f"expected ] but got {closing}")
    return Found(shown, root, here)


def _step(schema: Obj | None, name: str) -> tuple[Obj | None, bool]:
    properties = (schema or {}).get("properties")
    if properties:
        if name not in properties:
            raise BadPath("does not refer to a valid field")
        return properties[name], False
    allowed, others = pruning.additional_of(schema or {})
    if not allowed:
        raise BadPath("does not refer to a valid field")
    return others, True
