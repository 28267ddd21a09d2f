"""How the values of settings are read from what people write."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any, Generic, TypeVar

import yaml

from jobferry.clock import Seconds

T = TypeVar("T")

Given = str | list[str]
"""What a person wrote; only a file can hold a list."""

_DNS_NAME = r"[a-z0-9]([-.a-z0-9]{0,61}[a-z0-9])?"
# What Kubernetes takes for a managedBy: a domain, a slash and a path. Commas are ours.
_MANAGER = rf"(?=.{{1,63}}$){_DNS_NAME}/[A-Za-z0-9/_.~%!$&'()*+;=:-]+"
_MANAGED = "such as example.com/name, of at most 63 characters"


@dataclass(frozen=True, slots=True)
class Address:
    """Where to listen."""

    host: str
    """Empty: on every interface."""

    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Reader(Generic[T]):
    """How a value is read from what a person wrote."""

    sign: str
    """Stands for the value where a flag is explained."""

    takes: str
    """What it reads, in the words of an error message."""

    read: Callable[[Given], T]
    """Raises `ValueError` or `TypeError` for anything else."""


def _text(given: Given) -> str:
    if not isinstance(given, str):
        raise TypeError
    return given


def _counting(given: Given) -> int:
    if (value := int(_text(given))) < 1:
        raise ValueError
    return value


def _positive(given: Given) -> Seconds:
    if not 0 < (value := float(_text(given))) < inf:
        raise ValueError
    return value


def _address(given: Given) -> Address | None:
    host, colon, port = (text := _text(given)).rpartition(":")
    bare = host.removeprefix("[").removesuffix("]")
    is_clear = bool(colon) and (":" in bare) == (host != bare)
    if text and not (is_clear and re.fullmatch("[0-9]{1,5}", port) and int(port) < 2**16):
        raise ValueError
    return Address(bare, int(port)) if text else None


def _folder(given: Given) -> Path | None:
    if (text := _text(given)) and not text.startswith("/"):
        raise ValueError
    return Path(text) if text else None


def _like(pattern: str) -> Callable[[Given], str]:
    def read(given: Given) -> str:
        if not re.fullmatch(pattern, text := _text(given)):
            raise ValueError
        return text

    return read


def _all_like(pattern: str) -> Callable[[Given], tuple[str, ...]]:
    def read(given: Given) -> tuple[str, ...]:
        parts = given if isinstance(given, list) else given.split(",")
        return tuple(dict.fromkeys(_like(pattern)(part) for part in parts if part))

    return read


def _switch(given: Given) -> bool:
    return {"true": True, "false": False}[_text(given)]


def _table(given: Any) -> tuple[Any, ...]:
    rows = yaml.load(given, yaml.BaseLoader) if isinstance(given, str) else given  # noqa: S506 (as below)
    if not isinstance(rows or [], list):
        raise TypeError
    return tuple(rows or ())


def _managers(given: Given) -> tuple[str, ...]:
    if not (found := _all_like(_MANAGER)(given)):
        raise ValueError
    return found


def one_of(*words: str) -> Reader[str]:
    """Return what reads one of some words."""
    return Reader("|".join(words), f"one of {', '.join(words)}", _like("|".join(words)))


SECONDS = Reader("SECONDS", "a number of seconds above 0", _positive)
NUMBER = Reader("N", "a whole number from 1 up", _counting)
ADDRESS = Reader("HOST:PORT", "an address such as 127.0.0.1:8080 or :8080", _address)
FOLDER = Reader("FOLDER", "an absolute path", _folder)
COMMANDS = Reader("COMMAND[,...]", "command lines", _all_like(".+"))
NAMESPACES = Reader(
    "NAME[,NAME...]",
    "names of namespaces, in which * stands for any text",
    _all_like("[-a-z0-9*]+"),
)
OBJECT = Reader("NAME", "the name of an object", _like(_DNS_NAME))
OBJECT_OR_NONE = Reader("NAME", "the name of an object or nothing", _like(f"|{_DNS_NAME}"))
KINDS = Reader("KIND[,KIND...]", "names of kinds", _all_like("[A-Za-z0-9][-.A-Za-z0-9]*"))
SWITCH = Reader("true|false", "true or false", _switch)
TABLE = Reader("TABLE", "a list of tables, one for each kind", _table)
MANAGERS = Reader("NAME[,NAME...]", f"names {_MANAGED}", _managers)
DISPATCHER = Reader("NAME", f"a name {_MANAGED}", _like(f"|{_DNS_NAME}|{_MANAGER}"))
