"""The body of a request as JSON, whatever it was written in."""

import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import orjson

from jobferry.localkube.apiserver import status
from jobferry.localkube.apiserver.requests import lenient_json, yaml_document
from jobferry.localkube.apiserver.requests.accept import JSON, PROTOBUF, YAML
from jobferry.localkube.apiserver.requests.call import Call
from jobferry.localkube.apiserver.requests.yaml_document import Document
from jobferry.localkube.apiserver.types import duplicates, json_words

LIMIT = 3 * 1024 * 1024
"""The most bytes that a body may have, as for kube-apiserver."""

LARGE = 16 * 1024
"""From this many bytes on YAML is read in another thread: it takes 1 ms for 1 kB or two."""

DEPTH = 200
"""The deepest nesting that is read: objects are walked by functions that call themselves, and orjson
writes no more than 254 levels."""

_MOST = 1 << 63
_LONG = re.compile(rb"(?<!\d)\d{19}")
_FRACTION = re.compile(rb"\d[.eE]")
_READABLE = f"{JSON}, {YAML}, {PROTOBUF}"


def media_type(header: str) -> str:
    """Return the type of a body without its parameters; JSON when nothing is said."""
    return header.partition(";")[0].strip().lower() or JSON


def check_readable(content_type: str, *, protobuf: bool = True) -> str:
    """Return the type of a body, or refuse one that we cannot read."""
    found = media_type(content_type)
    known = (JSON, YAML, PROTOBUF) if protobuf else (JSON, YAML)
    parameters = filter(str.strip, content_type.split(";")[1:])
    if found not in known or not all("=" in each for each in parameters):
        raise unknown_type(", ".join(known))
    return found


def unknown_type(readable: str = _READABLE) -> status.StatusError:
    """Report a body in a format that is not understood."""
    return status.unsupported_media_type(
        "the body of the request was in an unknown format - "
        f"accepted media types include: {readable}"
    )


def parse_json(body: bytes) -> Any:
    """Read JSON; ValueError says in Go's manner what is wrong."""
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        if problem := json_words.problem(body):
            raise ValueError(problem) from error
        return lenient_json.parse(body)


def parse_yaml(body: bytes) -> Document:
    """Read YAML, or JSON, which is YAML too; ValueError says what is wrong."""
    if body.lstrip()[:1] == b"{":
        with suppress(orjson.JSONDecodeError):  # what begins like JSON may still be YAML
            value = orjson.loads(body)
            if not duplicates.may_be_in(body, value):
                return Document(_each(value, _whole) if _FRACTION.search(body) else value, [])
    return yaml_document.read(body)


def _each(value: Any, change: Callable[[Any], Any]) -> Any:
    """Change every value that holds no others."""
    if isinstance(value, dict):
        return {key: _each(member, change) for key, member in value.items()}
    if isinstance(value, list):
        return [_each(item, change) for item in value]
    return change(value)


def _whole(value: Any) -> Any:
    """Make an integer of a number like 2.0: a reader of YAML knows no difference."""
    is_whole = isinstance(value, float) and value.is_integer() and abs(value) < _MOST
    return int(value) if is_whole else value


def has_long_numbers(text: bytes) -> bool:
    """Tell whether a text may hold an integer that has no room in 64 bits with a sign."""
    return _LONG.search(text) is not None


def untyped(value: Any) -> Any:
    """Make floats of integers that are too long, as Go does with what has no type."""
    return _each(value, _short)


def _short(value: Any) -> Any:
    return float(value) if isinstance(value, int) and value >= _MOST else value


def takes_long(call: Call) -> bool:
    """Tell whether reading a body would keep all others waiting for longer than they may."""
    return len(call.body) > LARGE and "yaml" in media_type(call.headers.get("content-type", ""))


def read_ahead(call: Call) -> None:
    """Read the YAML of a body, in any thread."""
    try:
        call.read_ahead = parse_yaml(call.body)
    except ValueError as error:
        call.read_ahead = error


def document(call: Call) -> Document:
    """Return what the YAML of a body says; whoever asks may change it. ValueError says what is wrong."""
    found, call.read_ahead = call.read_ahead, None
    if isinstance(found, ValueError):
        raise found
    return parse_yaml(call.body) if found is None else found


def is_too_deep(value: Any, text: bytes | None = None) -> bool:
    """Tell whether a value is nested deeper than we walk; the `text` it was read from often tells at a glance."""
    if text is not None and text.count(b"{") + text.count(b"[") < DEPTH:
        return False
    level = [value]
    for _ in range(DEPTH):
        below: list[Any] = []
        for each in level:
            if isinstance(each, dict):
                below.extend(each.values())
            elif isinstance(each, list):
                below.extend(each)
        if not below:
            return False
        level = below
    return True


def summary(body: bytes) -> str:
    """Show the beginning of a body in a message."""
    if not body:
        return "<empty>"
    shown = body[:30]
    text = shown.decode(errors="replace") if body[:1] == b"{" else shown.hex()
    return f"{text} ..." if len(body) > len(shown) else text
