"""The body of a request as JSON, whatever it was written in."""

from contextlib import suppress
from typing import Any

import orjson

from jobferry.localkube.apiserver import status
from jobferry.localkube.apiserver.requests import json_words, lenient_json, yaml_text
from jobferry.localkube.apiserver.requests.accept import JSON, PROTOBUF, YAML

LIMIT = 3 * 1024 * 1024
"""The most bytes that a body may have, as for kube-apiserver."""

DEPTH = 200
"""The deepest nesting that is read: objects are walked by functions that call themselves, and orjson
writes no more than 254 levels."""

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


def parse_yaml(body: bytes) -> Any:
    """Read YAML, or JSON, which is YAML too; ValueError says what is wrong."""
    if body.lstrip()[:1] == b"{":
        with suppress(orjson.JSONDecodeError):  # what begins like JSON may still be YAML
            return orjson.loads(body)
    return yaml_text.parse(body)


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
