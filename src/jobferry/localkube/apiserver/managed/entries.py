"""The entries of managedFields: one for each manager, operation, version and endpoint."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from jobferry.localkube.apiserver.managed import path_steps, sets
from jobferry.localkube.apiserver.managed.path_steps import BadStep
from jobferry.localkube.apiserver.managed.sets import LEAF, FieldSet
from jobferry.objects import Obj

APPLY = "Apply"
UPDATE = "Update"

_MOST_UPDATERS = 10
_OLD_UPDATES = "ancient-changes"


class Manager(NamedTuple):
    """Who writes, and how. An applier is the same one in every version."""

    name: str
    operation: str
    api_version: str
    subresource: str = ""

    @property
    def identifier(self) -> str:
        """The text that upstream tells managers apart and sorts them by."""
        parts = {
            "manager": self.name,
            "operation": self.operation,
            "apiVersion": self.api_version,
            "subresource": self.subresource,
        }
        members = (
            f'"{key}":{path_steps.value_text(part)}' for key, part in parts.items() if part
        )
        return f"{{{','.join(members)}}}"


class Entry(NamedTuple):
    """What a manager owns."""

    fields: FieldSet
    api_version: str
    time: str = ""
    source: Obj | None = None
    """The JSON that it was read from and still says."""

    def owning(self, fields: FieldSet) -> "Entry":
        """Return the entry with another set."""
        return self if fields is self.fields else Entry(fields, self.api_version, self.time)


Managed = dict[Manager, Entry]
"""All entries of an object."""


def manager(name: str, operation: str, api_version: str, subresource: str) -> Manager:
    """Return who is named so; nobody's name is "unknown"."""
    version = "" if operation == APPLY else api_version
    return Manager(name or "unknown", operation, version, subresource)


def trusted(stored: Iterable[Obj]) -> Managed:
    """Read what we wrote ourselves."""
    managed: Managed = {}
    for entry in stored:
        operation, version = entry["operation"], entry["apiVersion"]
        known = Manager(
            entry.get("manager", ""),
            operation,
            "" if operation == APPLY else version,
            entry.get("subresource", ""),
        )
        managed[known] = Entry(entry["fieldsV1"], version, entry.get("time", ""), entry)
    return managed


def read(sent: Any) -> Managed | None:
    """Read what a client sent; None, if it makes no sense."""
    managed: Managed = {}
    try:
        for entry in sent:
            known, owned = _read_entry(entry)
            managed[known] = owned
    except (BadStep, TypeError, AttributeError):
        return None
    return managed


def _read_entry(entry: Mapping[str, Any]) -> tuple[Manager, Entry]:
    operation, version = entry.get("operation"), entry.get("apiVersion")
    if operation not in (APPLY, UPDATE) or not version or entry.get("fieldsType") != "FieldsV1":
        raise BadStep("not an entry of managedFields")
    fields = sets.read(entry.get("fieldsV1") or LEAF)
    name, subresource = entry.get("manager") or "", entry.get("subresource") or ""
    known = Manager(name, operation, "" if operation == APPLY else version, subresource)
    return known, Entry(fields, version, entry.get("time") or "")


def written(managed: Managed) -> list[Obj] | None:
    """Return managedFields as they are stored and shown; None, if there are none."""
    ranked = sorted(managed.items(), key=_rank)
    return [entry.source or _written(known, entry) for known, entry in ranked] or None


def _rank(item: tuple[Manager, Entry]) -> tuple[str, ...]:
    known, entry = item
    return known.operation, entry.time, known.name, entry.api_version, known.subresource


def _written(known: Manager, entry: Entry) -> Obj:
    parts = {
        "manager": known.name,
        "operation": known.operation,
        "apiVersion": entry.api_version,
        "time": entry.time,
        "fieldsType": "FieldsV1",
        "fieldsV1": entry.fields,
        "subresource": known.subresource,
    }
    return {key: part for key, part in parts.items() if part or key == "fieldsV1"}


def capped(managed: Managed) -> Managed:
    """Return the entries with the oldest updates put together, if there are too many of them."""
    updaters = [known for known in managed if known.operation == UPDATE]
    excess = len(updaters) - _MOST_UPDATERS
    if excess <= 0:
        return managed
    updaters.sort(key=lambda known: (managed[known].time, known.identifier))
    result = dict(managed)
    first: dict[str, Manager] = {}
    for known in updaters:
        if excess > 0:
            excess -= _moved(known, first, result)
    return result


def _moved(known: Manager, first: dict[str, Manager], managed: Managed) -> int:
    """Put an entry together with the older ones of its version; return by how many fewer there are."""
    entry = managed[known]
    if entry.api_version not in first:
        first[entry.api_version] = known
        return 0
    bucket = Manager(_OLD_UPDATES, UPDATE, entry.api_version)
    if bucket not in managed:
        managed[bucket] = managed.pop(first[entry.api_version])
    fields = sets.union(entry.fields, managed[bucket].fields)
    managed[bucket] = Entry(fields, entry.api_version, entry.time)
    del managed[known]
    return 1
