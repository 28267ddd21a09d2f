"""The functions that expressions may call, by name: what they take, what they give, what they do."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from jobferry.localkube.apiserver.crds.cel import types
from jobferry.localkube.apiserver.crds.cel.types import Type


@dataclass(frozen=True, slots=True, eq=False)
class Overload:
    """One way to call a function."""

    args: tuple[Type, ...]
    result: Type
    member: bool
    run: Callable[..., Any]


FUNCTIONS: dict[str, list[Overload]] = {}
"""All overloads, in the order they are tried."""

PLAIN_ERRORS: set[str] = set()
"""Functions of the standard library: a call that fits no overload is told of without its arguments."""


def declare(name: str, signature: str, run: Callable[..., Any], *, plain: bool = False) -> None:
    """Add a function: `int, int -> bool`, or `string.(int) -> string` for a method."""
    arguments, _, result = signature.partition(" -> ")
    target, dot, rest = arguments.partition(".(")
    member = bool(dot)
    texts = [target, *_split(rest.removesuffix(")"))] if member else _split(arguments)
    overload = Overload(tuple(map(read_type, texts)), read_type(result), member, run)
    FUNCTIONS.setdefault(name, []).append(overload)
    if plain:
        PLAIN_ERRORS.add(name)


def _split(text: str) -> list[str]:
    """Split at commas that are in no parentheses."""
    parts, depth, start = [], 0, 0
    for index, character in enumerate(text):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and depth == 0:
            parts.append(text[start:index].strip())
            start = index + 1
    last = text[start:].strip()
    return [*parts, last] if last else parts


@lru_cache(maxsize=256)
def read_type(text: str) -> Type:
    """Read a type from a signature; single capitals are parameters."""
    if re.fullmatch("[A-Z]", text):
        return types.param(text)
    name, _, inside = text.partition("(")
    if not inside:
        return types.BY_NAME[text]
    params = [read_type(each) for each in _split(inside.removesuffix(")"))]
    match name:
        case "list":
            return types.list_of(params[0])
        case "map":
            return types.map_of(params[0], params[1])
        case "optional":
            return types.optional_of(params[0])
        case _:
            return types.type_of(params[0])
