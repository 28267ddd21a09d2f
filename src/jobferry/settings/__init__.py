"""How a dispatcher is set up: each setting with its default, what it means, and how it is read.

    settings.load(file=Path("jobferry.yaml"), environ=os.environ, flags={"lease.duration": "30"})

What a file says counts more than a default, the environment more than a file, and a flag most of all.
The flags of `jobferry run` and docs/settings.md are made from the same fields.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import yaml

from jobferry.clock import Seconds
from jobferry.errors import BadInput
from jobferry.settings import readers
from jobferry.settings.readers import Address, Given, Reader

T = TypeVar("T")
Group = TypeVar("Group", bound="Settings | Namespaces | Lease | Log")

_NOTHING: Mapping[str, str] = MappingProxyType({})


# What there is to set


def setting(default: T, reader: Reader[T], doc: str) -> T:
    """Declare a field that people can set."""
    return field(default=default, metadata={"reader": reader, "doc": doc})


@dataclass(frozen=True, slots=True, kw_only=True)
class Namespaces:
    """Which namespaces of the hub may go to workers. A Worker may say less for itself."""

    allow: tuple[str, ...] = setting(
        (),
        readers.NAMESPACES,
        "Those that may. If empty, all but kube-*, jobferry-system and the namespace of the Lease.",
    )
    deny: tuple[str, ...] = setting(
        (), readers.NAMESPACES, "Those that may not, though they are allowed."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """Of several copies of a dispatcher one works, and the others wait: this is how they agree."""

    namespace: str = setting(
        "jobferry-system", readers.OBJECT, "The namespace of the Lease on the hub."
    )
    name: str = setting(
        "",
        readers.OBJECT_OR_NONE,
        "The name of the Lease. If empty, it is made from the dispatcher's.",
    )
    duration: int = setting(
        15, readers.NUMBER, "How long the others wait, in seconds, for the one that is silent."
    )
    deadline: Seconds = setting(
        10.0,
        readers.SECONDS,
        "One that could not renew the Lease for so many seconds stops. Must be less than the duration.",
    )
    retry: Seconds = setting(
        2.0,
        readers.SECONDS,
        "The Lease is renewed every so many seconds: at most half the deadline.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """What is written to standard error while it runs."""

    format: str = setting(
        "text", readers.one_of("text", "json"), "Lines for people or for machines."
    )
    level: str = setting(
        "info",
        readers.one_of("debug", "info", "warning", "error"),
        "The least that is worth a line.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What one dispatcher does and how."""

    managed_by: tuple[str, ...] = setting(
        ("jobferry.io/dispatcher",),
        readers.MANAGERS,
        "The values of a workload's managedBy by which it is delegated to this dispatcher.",
    )
    dispatcher: str = setting(
        "",
        readers.DISPATCHER,
        "Its name, by which it knows its own mirrors from those of other dispatchers of the hub; never"
        " change it while there are any. If empty, the first of managedBy.",
    )
    kinds: tuple[str, ...] = setting(
        (),
        readers.KINDS,
        "The kinds of workloads that it brings to workers, as in Job or JobSet.jobset.x-k8s.io; `jobferry kinds` lists those"
        " that it knows. Those that are not named are off. If empty, Jobs and all others that take its managedBy, where their CRDs"
        " are on the hub.",
    )
    claim_multikueue: bool = setting(
        False,
        readers.SWITCH,
        "Also claim kueue.x-k8s.io/multikueue, for kinds that take no other managedBy than that and their operator's own"
        " (TrainJob, RayJob, RayCluster and Kubeflow's v1 kinds). It is refused on a hub where Kueue's MultiKueue runs.",
    )
    custom_kinds: tuple[Any, ...] = setting(
        (),
        readers.TABLE,
        "Kinds that it does not know by itself: docs/kinds.md says what is in such a table. In a flag and in the environment the list"
        " is YAML (or JSON), as in `JOBFERRY_CUSTOM_KINDS='[{apiVersion: example.com/v1, kind: Simulation, success: {condition: Done},"
        " failure: {condition: Broken}}]'`. Commands know these kinds by that variable, too: they read no file of settings.",
    )
    worker_lost_after: Seconds = setting(
        900.0,
        readers.SECONDS,
        "How long a Worker must be out of reach, in seconds, before its work is placed again elsewhere."
        " A Queue may say otherwise for its workloads.",
    )
    requests_in_flight: int = setting(
        8,
        readers.NUMBER,
        "How many requests one cluster is sent at a time, watches apart, and up to four by which is looked for what workloads refer to.",
    )
    passes: int = setting(64, readers.NUMBER, "How many workloads are worked on at a time.")
    placed_events: str = setting(
        "moves",
        readers.one_of("moves", "all"),
        "Which placements an Event tells of: moves, or all.",
    )
    listen: Address | None = setting(
        None, readers.ADDRESS, "Where metrics and health are served. If empty, nowhere."
    )
    kubeconfig_folder: Path | None = setting(
        None,
        readers.FOLDER,
        "The folder in which the kubeconfig file of a Worker must be. If empty, such files are refused.",
    )
    exec_plugins: tuple[str, ...] = setting(
        (),
        readers.COMMANDS,
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
        if isinstance(self.default, bool):
            return str(self.default).lower()
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
    except (KeyError, TypeError, ValueError, yaml.YAMLError):
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
