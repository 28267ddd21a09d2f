"""One step of a path in a set of fields: its text in managedFields, its place in the order, its look in messages.

`f:name` is a member of an object, `k:{...}` the item of a list that has these values in its key fields,
`v:value` an item of a list of scalars, `i:n` the n-th item of a list. A value always has the same text, so
that equal steps are equal strings.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import orjson

from jobferry import errors
from jobferry.localkube.apiserver.shapes import ListMap
from jobferry.objects import govalues
from jobferry.objects.gotext import parse_int, quote

MEMBER = "."
"""Stands for the thing itself among the steps below it."""

_ESCAPED = re.compile("[<>&\u2028\u2029]|\\\\.")
_PLAIN = re.compile(r"[A-Za-z0-9 ._:/@-]*")


class Misfit(errors.Error):
    """A value that does not fit its shape, so that nobody can own a part of it."""


class BadStep(errors.BadInput):
    """A text that is no step of a path."""


class UnknownStep(BadStep):
    """A kind of step that only a later version may know."""


@lru_cache(maxsize=4096)
def _text_of_string(value: str) -> str:
    if _PLAIN.fullmatch(value):
        return f'"{value}"'
    return _ESCAPED.sub(_escape, orjson.dumps(value).decode())


def _escape(match: re.Match[str]) -> str:
    """Write what Go's encoder escapes, or escapes in another way than ours."""
    found = match[0]
    if found[0] == "\\":
        return {"\\b": "\\u0008", "\\f": "\\u000c"}.get(found, found)
    return f"\\u{ord(found):04x}"


def value_text(value: Any) -> str:
    """Return a value as Go's encoder writes it."""
    match value:
        case str():
            return _text_of_string(value)
        case bool() | None:
            return {True: "true", False: "false", None: "null"}[value]
        case int():
            return str(value)
        case float():
            return _text_of_float(value)
        case list():
            return f"[{','.join(map(value_text, value))}]"
        case _:
            return _text_of_object(value)


def _text_of_float(value: float) -> str:
    """Write a number without a fraction as the integer that it is equal to."""
    if value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    return repr(value)


def _text_of_object(value: dict[str, Any]) -> str:
    members = (f"{_text_of_string(key)}:{value_text(value[key])}" for key in sorted(value))
    return f"{{{','.join(members)}}}"


def of_set_item(item: Any) -> str:
    """Return the step to an item of a list of scalars."""
    if type(item) is str:
        return "v:" + _text_of_string(item)
    match item:
        case dict():
            raise Misfit("associative list without keys has an element that's a map type")
        case list():
            raise Misfit("not supported: associative list with lists as elements")
        case None:
            raise Misfit("associative list without keys has an element that's an explicit null")
    return "v:" + value_text(item)


def maker(shape: ListMap) -> Callable[[Any], str]:
    """Return a function that gives the step to an item of such a list."""
    if len(shape.keys) == 1:
        return _single(shape.keys[0], shape)
    return lambda item: of_item(shape, item)


@lru_cache(maxsize=1024)
def _single(key: str, shape: ListMap) -> Callable[[Any], str]:
    start = f"k:{{{_text_of_string(key)}:"

    def step(item: Any) -> str:
        if type(item) is dict and type(value := item.get(key)) is str:
            return f"{start}{_text_of_string(value)}}}"
        return of_item(shape, item)

    return step


def of_item(shape: ListMap, item: Any) -> str:
    """Return the step to an item of a list that is told apart by keys."""
    if item is None:
        raise Misfit("associative list with keys may not have a null element")
    if not isinstance(item, dict):
        raise Misfit("associative list with keys may not have non-map elements")
    values = [
        f"{_text_of_string(key)}:{value_text(item[key] if key in item else shape.defaults[key])}"
        for key in sorted(shape.keys)
        if key in item or shape.defaults.get(key) is not None
    ]
    if not values:
        keys = " ".join(map(quote, shape.keys))
        raise Misfit(
            f"associative list with keys has an element that omits all key fields [{keys}]"
            " (and doesn't have default values for any key fields)"
        )
    return f"k:{{{','.join(values)}}}"


@lru_cache(maxsize=4096)
def rank(step: str) -> tuple[Any, ...]:
    """Return what steps are sorted by: members by name, then items by their values."""
    match step[:2]:
        case ".":
            return (0,)
        case "f:":
            return (1, step[2:])
        case "k:":
            keys = orjson.loads(step[2:])
            return (2, *((name, *_value_rank(keys[name])) for name in sorted(keys)))
        case "v:":
            return (3, *_value_rank(orjson.loads(step[2:])))
        case _:
            return (4, int(step[2:]))


def _value_rank(value: Any) -> tuple[int, Any]:
    match value:
        case bool():
            return (2, value)
        case int() | float():
            return (0, value)
        case str():
            return (1, value)
        case list() | dict():
            return (3 if isinstance(value, list) else 4, value_text(value))
        case _:
            return (5, "null")


@lru_cache(maxsize=4096)
def canonical(step: str) -> str:
    """Return a step as we write it, or raise BadStep: clients may write it in another way."""
    if len(step) < 2:
        raise BadStep("key must be 2 characters long:")
    if step[1] != ":":
        raise BadStep(f"missing colon: {step}")
    kind, rest = step[0], step[2:]
    match kind:
        case "f":
            return step
        case "v":
            return "v:" + value_text(_parsed(rest))
        case "k":
            keys = _parsed(rest)
            if not isinstance(keys, dict):
                raise BadStep(f"not an object: {rest}")
            return "k:" + _text_of_object(keys)
        case "i":
            if (index := parse_int(rest)) is None:
                raise BadStep(f"not a number: {rest}")
            return f"i:{index}"
    raise UnknownStep("unknown path element type")


def _parsed(text: str) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise BadStep(str(error)) from error


def shown(step: str) -> str:
    """Return a step as messages show it: `.name`, `[key="value"]`, `[="value"]`, `[0]`."""
    kind, rest = step[0], step[2:]
    if kind == "f":
        return f".{rest}"
    if kind == "i":
        return f"[{rest}]"
    value = orjson.loads(rest)
    if kind == "v":
        return f"[={_shown_value(value)}]"
    return "[" + ",".join(f"{key}={_shown_value(value[key])}" for key in sorted(value)) + "]"


def _shown_value(value: Any) -> str:
    match value:
        case None:
            return "null"
        case str():
            return quote(value)
        case list():
            return f"[{','.join(map(_shown_value, value))}]"
        case dict():
            return "".join(f"{key}={_shown_value(value[key])}" for key in sorted(value))
    return govalues.text(value)
