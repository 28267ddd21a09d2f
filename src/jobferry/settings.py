"""How a dispatcher is set up: each setting with its default, what it means, and how it is read.

    settings.load(file=Path("jobferry.yaml"), environ=os.environ, flags={"lease.duration": "30"})

What a file says counts more than a default, the environment more than a file, and a flag most of all.
The flags of `jobferry run` and docs/settings.md are made from the same fields.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from math import inf
from pathlib import Path
from types import MappingProxyType
from typing import Any, Generic, TypeVar

import yaml

from jobferry.clock import Seconds
from jobferry.errors import BadInput

T = TypeVar("T")
Group = TypeVar("Group", bound="Settings | Namespaces | Lease | Log")

Given = str | list[str]
"""What a person wrote; only a file can hold a list."""

_NOTHING: Mapping[str, str] = MappingProxyType({})


# How to read them

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


def _managers(given: Given) -> tuple[str, ...]:
    if not (found := _all_like(_MANAGER)(given)):
        raise ValueError
    return found


def _one_of(*words: str) -> Reader[str]:
    return Reader("|".join(words), f"one of {', '.join(words)}", _like("|".join(words)))


_SECONDS = Reader("SECONDS", "a number of seconds above 0", _positive)
_NUMBER = Reader("N", "a whole number from 1 up", _counting)
_ADDRESS = Reader("HOST:PORT", "an address such as 127.0.0.1:8080 or :8080", _address)
_FOLDER = Reader("FOLDER", "an absolute path", _folder)
_COMMANDS = Reader("COMMAND[,...]", "command lines", _all_like(".+"))
_NAMESPACES = Reader(
    "NAME[,NAME...]",
    "names of namespaces, in which * stands for any text",
    _all_like("[-a-z0-9*]+"),
)
_OBJECT = Reader("NAME", "the name of an object", _like(_DNS_NAME))
_OBJECT_OR_NONE = Reader("NAME", "the name of an object or nothing", _like(f"|{_DNS_NAME}"))
_MANAGERS = Reader("NAME[,NAME...]", f"names {_MANAGED}", _managers)
_DISPATCHER = Reader("NAME", f"a name {_MANAGED}", _like(f"|{_DNS_NAME}|{_MANAGER}"))


# What there is to set


def setting(default: T, reader: Reader[T], doc: str) -> T:
    """Declare a field that people can set."""
    return field(default=default, metadata={"reader": reader, "doc": doc})


@dataclass(frozen=True, slots=True, kw_only=True)
class Namespaces:
    """Which namespaces of the hub may go to workers. A Worker may say less for itself."""

    allow: tuple[str, ...] = setting(
        (),
        _NAMESPACES,
        "Those that may. If empty, all but kube-*, jobferry-system and the namespace of the Lease.",
    )
    deny: tuple[str, ...] = setting(
        (), _NAMESPACES, "Those that may not, though they are allowed."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """Of several copies of a dispatcher one works, and the others wait: this is how they agree."""

    namespace: str = setting(
        "jobferry-system", _OBJECT, "The namespace of the Lease on the hub."
    )
    name: str = setting(
        "",
        _OBJECT_OR_NONE,
        "The name of the Lease. If empty, it is made from the dispatcher's.",
    )
    duration: int = setting(
        15, _NUMBER, "How long the others wait, in seconds, for the one that is silent."
    )
    deadline: Seconds = setting(
        10.0,
        _SECONDS,
        "One that could not renew the Lease for so many seconds stops. Must be less than the duration.",
    )
    retry: Seconds = setting(
        2.0, _SECONDS, "The Lease is renewed every so many seconds: at most half the deadline."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """What is written to standard error while it runs."""

    format: str = setting("text", _one_of("text", "json"), "Lines for people or for machines.")
    level: str = setting(
        "info", _one_of("debug", "info", "warning", "error"), "The least that is worth a line."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What one dispatcher does and how."""

    managed_by: tuple[str, ...] = setting(
        ("jobferry.io/dispatcher",),
        _MANAGERS,
        "The values of a workload's managedBy by which it is delegated to this dispatcher.",
    )
    dispatcher: str = setting(
        "",
        _DISPATCHER,
        "Its name, by which it knows its own mirrors from those of other dispatchers of the hub; never"
        " change it while there are any. If empty, the first of managedBy.",
    )
    worker_lost_after: Seconds = setting(
        900.0,
        _SECONDS,
        "How long a Worker must be out of reach, in seconds, before its work is placed again elsewhere."
        " A Queue may say otherwise for its workloads.",
    )
    requests_in_flight: int = setting(
        8, _NUMBER, "How many requests one cluster is sent at a time, watches apart."
    )
    passes: int = setting(64, _NUMBER, "How many workloads are worked on at a time.")
    placed_events: str = setting(
        "moves", _one_of("moves", "all"), "Which placements an Event tells of: moves, or all."
    )
    listen: Address | None = setting(
        None, _ADDRESS, "Where metrics and health are served. If empty, nowhere."
    )
    kubeconfig_folder: Path | None = setting(
        None,
        _FOLDER,
        "The folder in which the kubeconfig file of a Worker must be. If empty, such files are refused.",
    )
    exec_plugins: tuple[str, ...] = setting(
        (),
        _COMMANDS,
        "The exec plugins that the kubeconfig of a Worker may run: whole command lines, with their variables"
        " before the program, as in AWS_PROFILE=ci aws eks get-token --cluster-name *. A * stands for a name. If empty, none.",
    )
    namespaces: Namespaces = Namespaces()
    lease: Lease = Lease()
    log: Log = Log()

    @property
    def dispatcher_name(self) -> str:
        """Who this dispatcher is."""
        return self.dispatcher or self.managed_by[0]

    @property
    def lease_name(self) -> str:
        """The Lease for which its copies compete; two dispatchers on one hub have two."""
        return self.lease.name or lease_name(self.dispatcher_name)


def lease_name(dispatcher: str) -> str:
    """Name the Lease of a dispatcher, unless its settings name another."""
    return re.sub(r"[^a-z0-9.]+", "-", dispatcher.lower())


DEFAULTS = Settings()


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: its names in each place where it can be given, and what it means."""

    path: tuple[str, ...]
    default: object
    reader: Reader[Any]
    doc: str

    @property
    def key(self) -> str:
        """Its key in a file, as in "lease.duration"; the parts are nested there."""
        return ".".join(_camel(part) for part in self.path)

    @property
    def variable(self) -> str:
        """Its environment variable, as in JOBFERRY_LEASE_DURATION."""
        return "_".join(("jobferry", *self.path)).upper()

    @property
    def flag(self) -> str:
        """Its flag, as in --lease-duration."""
        return "--" + "-".join(self.path).replace("_", "-")

    @property
    def shown_default(self) -> str:
        """The default as a person would write it; empty if there is none."""
        if isinstance(self.default, tuple):
            return ",".join(self.default)
        if isinstance(self.default, float):
            return f"{self.default:g}"
        return "" if self.default is None else str(self.default)


def every(group: Any = DEFAULTS, path: tuple[str, ...] = ()) -> Iterator[Setting]:
    """List all settings, or those of a group."""
    for each in fields(group):
        value, here = getattr(group, each.name), (*path, each.name)
        if each.metadata:
            yield Setting(here, value, each.metadata["reader"], each.metadata["doc"])
        else:
            yield from every(value, here)


# Where they come from


@dataclass(frozen=True, slots=True)
class _Word:
    """What was given for a setting, and where."""

    place: str
    given: Given


def load(
    *,
    file: Path | None = None,
    environ: Mapping[str, str] = _NOTHING,
    flags: Mapping[str, str] = _NOTHING,
) -> Settings:
    """Return the settings that a file, the environment and flags (by key) make; raises `BadInput`.

    An environment variable that is empty counts as not given.
    """
    words = _in_file(file) if file else {}
    for each in every():
        if text := environ.get(each.variable):
            words[each.key] = _Word(each.variable, text)
        if each.key in flags:
            words[each.key] = _Word(each.flag, flags[each.key])
    values = {each.path: _read(each, words[each.key]) for each in every() if each.key in words}
    return _changed(DEFAULTS, (), values)


def _read(each: Setting, word: _Word) -> object:
    try:
        return each.reader.read(word.given)
    except (TypeError, ValueError):
        what = repr(word.given) if isinstance(word.given, str) else "something nested"
        raise BadInput(f"{word.place}: expected {each.reader.takes}, found {what}") from None


def _changed(
    group: Group, path: tuple[str, ...], values: Mapping[tuple[str, ...], object]
) -> Group:
    changes: dict[str, Any] = {}
    for each in fields(group):
        here = (*path, each.name)
        if not each.metadata:
            changes[each.name] = _changed(getattr(group, each.name), here, values)
        elif here in values:
            changes[each.name] = values[here]
    return replace(group, **changes)


def _in_file(file: Path) -> dict[str, _Word]:
    known = {each.key for each in every()}
    words = {}
    for key, given in _flat(_parsed(file)):
        if key not in known:
            near = get_close_matches(key, known, n=1)
            hint = f"Is {near[0]} meant?" if near else "docs/settings.md lists them all."
            raise BadInput(f"{file}: {key}: there is no such setting", hint=hint)
        words[key] = _Word(f"{file}: {key}", given)
    return words


def _parsed(file: Path) -> dict[str, Any]:
    try:
        # This loader makes texts, lists and maps alone: nothing turns into a date or a boolean.
        root = yaml.load(file.read_bytes(), yaml.BaseLoader) or {}  # noqa: S506
    except OSError as error:
        raise BadInput(f"{file}: cannot be read: {error.strerror or error}") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark else ""
        raise BadInput(f"{file}: not valid YAML{where}") from None
    if not isinstance(root, dict):
        raise BadInput(f"{file}: expected settings by their names")
    return root


def _flat(root: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """List what a file holds, by keys as in "lease.duration"; groups hold no groups."""
    for key, value in root.items():
        if isinstance(value, dict):
            yield from ((f"{key}.{inner}", given) for inner, given in value.items())
        else:
            yield key, value


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.title() for part in rest)
