"""Kinds that users declare in the settings: a few lines each, which become rows of the table."""

import re
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from jobferry.errors import BadInput
from jobferry.kinds.paths import Path, path
from jobferry.kinds.table import Labelled, PodSet, Row, Says
from jobferry.objects.resource import Resource

_STEP = r"[A-Za-z_][\w-]*(=\*)?|\*"
_PATH = re.compile(rf"({_STEP})(\.({_STEP}))*")
_KIND = re.compile(r"[A-Z][A-Za-z0-9]*")
_GROUP_VERSION = re.compile(r"([a-z0-9.-]+\.[a-z0-9.-]+)/(v[a-z0-9]+)")
_LABEL = re.compile(r"([a-z0-9]([a-z0-9.-]*[a-z0-9])?/)?[A-Za-z0-9]([\w.-]*[A-Za-z0-9])?")
_PLURAL = re.compile(r"[a-z][a-z0-9-]*")

KEYS = (
    "apiVersion",
    "failure",
    "forward",
    "kind",
    "managedBy",
    "nestedManagedBy",
    "ownController",
    "plural",
    "podLabel",
    "pods",
    "ready",
    "strip",
    "success",
    "suspend",
    "suspended",
    "ttl",
)


def rows(data: Any, place: str = "customKinds") -> tuple[Row, ...]:
    """Read the table of declared kinds; raises `BadInput`, which names what is wrong and where."""
    read = tuple(
        _row(Table(each, f"{place}[{n}]")) for n, each in enumerate(_list(data, place))
    )
    for number, row in enumerate(read):
        if row.name in {each.name for each in read[:number]}:
            raise BadInput(f"{place}[{number}]: {row.name} is declared twice")
    return read


def _list(data: Any, place: str) -> Sequence[Any]:
    if not isinstance(data, list | tuple):
        raise BadInput(f"{place}: expected a list")
    return data


class Table:
    """The members of one entry, each of which is read where it is."""

    def __init__(self, data: Any, place: str, keys: Sequence[str] = KEYS) -> None:
        if not isinstance(data, Mapping):
            raise BadInput(f"{place}: expected names and values")
        for key in data:
            if key not in keys:
                near = get_close_matches(str(key), keys, n=1)
                hint = f"Is {near[0]} meant?" if near else f"It may have {', '.join(keys)}."
                raise BadInput(f"{place}.{key}: there is no such member", hint=hint)
        self._data = data
        self._place = place

    def has(self, key: str) -> bool:
        """Tell whether it is given."""
        return key in self._data

    def wrong(self, key: str, expected: str) -> BadInput:
        """Return the error that says what should be there."""
        given = self._data.get(key)
        what = repr(given) if isinstance(given, str) else "something nested"
        return BadInput(
            f"{self._place}.{key}: expected {expected}, found {what if given else 'nothing'}"
        )

    def word(self, key: str, pattern: re.Pattern[str], expected: str) -> str:
        """Read a text of a certain form."""
        given = self._data.get(key)
        if not isinstance(given, str) or not pattern.fullmatch(given):
            raise self.wrong(key, expected)
        return given

    def path(self, key: str, root: str = "") -> Path:
        """Read a path, which must be below a certain member."""
        read = path(self.word(key, _PATH, "a path such as spec.workers.*.template"))
        if root and (read[0] != root or len(read) == 1):
            raise self.wrong(key, f"a path below {root}")
        return read

    def plain_path(self, key: str, root: str = "") -> Path:
        """Read the path of one member."""
        read = self.path(key, root)
        if any("*" in step for step in read):
            raise self.wrong(key, "the path of one member, without *")
        return read

    def paths(self, key: str, root: str = "") -> tuple[Path, ...]:
        """Read a list of paths; none if it is not given."""
        entries = self.each(key, lambda item: {"path": item}, ("path",))
        return tuple(each.path("path", root) for each in entries)

    def each(
        self, key: str, wrap: Callable[[Any], Any] = lambda item: item, keys: Sequence[str] = ()
    ) -> list["Table"]:
        """Read a list of entries; none if it is not given."""
        place = f"{self._place}.{key}"
        listed = _list(self._data.get(key, ()), place)
        return [Table(wrap(item), f"{place}[{n}]", keys) for n, item in enumerate(listed)]

    def says(self, key: str) -> Says:
        """Read what a status says: by a condition, or by a member."""
        inner = Table(
            self._data.get(key),
            f"{self._place}.{key}",
            ("condition", "member", "status", "values"),
        )
        return inner.said()

    def said(self) -> Says:
        """Read what this entry names: a condition, or a member and its values."""
        if self.has("condition") == self.has("member"):
            raise BadInput(
                f"{self._place}: expected either a condition or a member and its values"
            )
        if self.has("condition"):
            condition = self.word("condition", re.compile(r"[\w./-]+"), "a condition type")
            known = re.compile("True|False|Unknown")
            status = (
                self.word("status", known, "True, False or Unknown")
                if self.has("status")
                else "True"
            )
            return Says(condition, status)
        values = self._data.get("values")
        if (
            not isinstance(values, list)
            or not values
            or not all(isinstance(v, str) for v in values)
        ):
            raise self.wrong("values", "a list of texts")
        member = self.plain_path("member")
        if len(member) != 2 or member[0] != "status":
            raise self.wrong("member", "a member of the status, as in status.phase")
        return Says(member=member, values=tuple(values))


def _row(table: Table) -> Row:
    managed_by, suspend, ttl = (
        table.plain_path(key, "spec") if table.has(key) else None
        for key in ("managedBy", "suspend", "ttl")
    )
    own = (
        table.word("ownController", re.compile(r"\S+"), "a name")
        if table.has("ownController")
        else ""
    )
    return Row(
        resource=_resource(table),
        managed_by=managed_by or ("spec", "managedBy"),
        own_controller=own,
        pods=tuple(
            _pods(each) for each in table.each("pods", keys=("at", "counts", "template"))
        ),
        own_pods=(Labelled(_pod_label(table)),) if table.has("podLabel") else (),
        # What is to be deleted here when its time is over, is not to be deleted there before.
        strips=(*table.paths("strip", "spec"), *((ttl,) if ttl else ())),
        nested=table.paths("nestedManagedBy", "spec"),
        forwards=table.paths("forward", "spec"),
        suspend=suspend,
        success=table.says("success"),
        failure=table.says("failure"),
        suspended=table.says("suspended") if table.has("suspended") else None,
        started=(),
        ended=(),
        ready=table.paths("ready", "status"),
        ttl=ttl or (),
    )


def _resource(table: Table) -> Resource:
    expected = "a group with a dot and a version, as in example.com/v1"
    group, _, version = table.word("apiVersion", _GROUP_VERSION, expected).partition("/")
    kind = table.word("kind", _KIND, "a kind, as in Simulation")
    plural = f"{kind.lower()}s"
    if table.has("plural"):
        plural = table.word(
            "plural", _PLURAL, "the plural that its CRD names, as in simulations"
        )
    return Resource(group, version, plural, kind)


def _pod_label(table: Table) -> str:
    return table.word("podLabel", _LABEL, "the name of a label, as in example.com/simulation")


def _pods(table: Table) -> PodSet:
    return PodSet(
        at=table.path("at")
        if table.word("at", _PATH, "a path below spec") == "spec"
        else table.path("at", "spec"),
        template=table.plain_path("template") if table.has("template") else ("template",),
        counts=table.paths("counts") if table.has("counts") else (),
    )
