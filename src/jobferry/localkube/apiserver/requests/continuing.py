"""Continue tokens: where the next page of a list begins, and of which version it is."""

import base64
import posixpath
import re
from typing import Any, NamedTuple

import orjson

from jobferry.localkube.apiserver import status
from jobferry.localkube.apiserver.types import json_words
from jobferry.localkube.apiserver.types.leaves import json_kind

VERSION = "meta.k8s.io/v1"

_WRONG = re.compile(rb"[^A-Za-z0-9_\-\r\n]")


_GO = {str: "string", int: "int64"}


class _Token(NamedTuple):
    v: str = ""
    rv: int = 0
    start: str = ""


def encode(key: str, prefix: str, revision: int) -> str:
    """Return a token for the part of a list that begins at a key; -1: of the newest version."""
    start = f"/{key.removeprefix(prefix)}"
    text = orjson.dumps({"v": VERSION, "rv": revision, "start": start})
    return base64.urlsafe_b64encode(text).decode().rstrip("=")


def decode(token: str) -> tuple[str, int]:
    """Return where to go on, relative to the keys of the list, and the version."""
    content = _read(token)
    if content.v != VERSION:
        raise _invalid(f"server does not recognize this encoded version {content.v}")
    if not content.rv:
        raise _invalid(f"incorrect encoded start resourceVersion (version {VERSION})")
    if not content.start:
        raise _invalid(f"encoded start key empty (version {VERSION})")
    key = content.start if content.start.startswith("/") else f"/{content.start}"
    if posixpath.normpath(key).replace("//", "/") != key:
        raise _invalid(content.start)
    return key[1:], content.rv


def _read(token: str) -> _Token:
    data = token.encode()
    digits = len(data) - data.count(b"\r") - data.count(b"\n")
    wrong = _WRONG.search(data)
    if wrong or digits % 4 == 1:
        at = wrong.start() if wrong else len(data) - 1
        raise _invalid(f"illegal base64 data at input byte {at}")
    text = base64.urlsafe_b64decode(data + b"=" * (-digits % 4))
    try:
        # As for Go, what is no UTF-8 stands for a character that nobody knows.
        parsed = orjson.loads(text.decode(errors="replace"))
    except orjson.JSONDecodeError as error:
        raise _invalid(json_words.problem(text) or str(error)) from error
    return _token({} if parsed is None else parsed)


def _token(parsed: Any) -> _Token:
    """Read the members that a token has, as Go does."""
    if not isinstance(parsed, dict):
        into = "Go value of type storage.continueToken"
        raise _invalid(f"json: cannot unmarshal {json_kind(parsed)} into {into}")
    found = {}
    for name, zero in _Token._field_defaults.items():
        value = parsed.get(name)
        if value is not None and type(value) is not type(zero):
            kind = json_kind(value)
            shown = f"{kind} {value}" if kind == "number" else kind
            into = f"Go struct field continueToken.{name} of type {_GO[type(zero)]}"
            raise _invalid(f"json: cannot unmarshal {shown} into {into}")
        found[name] = zero if value is None else value
    return _Token(**found)


def _invalid(why: str) -> status.StatusError:
    return status.bad_request(f"invalid continue token: continue key is not valid: {why}")
