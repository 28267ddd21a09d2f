"""An object that several managers write to."""

from datetime import UTC, datetime, timedelta
from typing import Any

from jobferry.localkube.apiserver.managed import applying, sets, timestamps, updating
from jobferry.localkube.apiserver.managed.endpoint import Endpoint
from jobferry.localkube.apiserver.shapes import ANYTHING, LEAF, ListMap, SetOf, Shape, Struct
from jobferry.objects import Obj

START = datetime(2026, 1, 1, tzinfo=UTC)
METADATA = Struct(
    {
        "name": LEAF,
        "uid": LEAF,
        "managedFields": LEAF,
        "labels": Struct({}, LEAF),
        "annotations": Struct({}, LEAF),
    }
)
ITEM = Struct(
    {"name": LEAF, "value": LEAF, "numeric": LEAF, "deep": Struct({"x": LEAF, "y": LEAF})}
)
SPEC = Struct(
    {
        "text": LEAF,
        "number": LEAF,
        "whole": LEAF,
        "set": SetOf(),
        "list": ListMap(("name",), ITEM),
        "ports": ListMap(("port", "protocol"), Struct({"port": LEAF, "protocol": LEAF, "to": LEAF}), {"protocol": "TCP"}),
        "map": Struct({}, LEAF),
        "structs": Struct({}, ITEM),
        "nested": Struct({"inner": Struct({"x": LEAF, "y": LEAF})}),
        "free": ANYTHING,
    }
)  # fmt: skip


def endpoint_of(spec: Shape = SPEC, **more: Any) -> Endpoint:
    fields: dict[str, Shape] = {"apiVersion": LEAF, "kind": LEAF, "metadata": METADATA}
    shape = Struct({**fields, "spec": spec, "status": Struct({"text": LEAF})})
    return Endpoint(**{"api_version": "v1", "kind": "Thing", "shape": shape, **more})


class ManagedObject:
    """What is stored, as writes change it; every write takes a second."""

    def __init__(self, endpoint: Endpoint | None = None) -> None:
        self.endpoint = endpoint or endpoint_of(reset=("status",))
        self.stored: Obj | None = None
        self.now = START

    @property
    def spec(self) -> Obj:
        assert self.stored is not None
        # A spec that lost its last field is null, until the codec makes nothing of it.
        spec: Obj = self.stored.get("spec") or {}
        return spec

    def update(self, manager: str, spec: Any, **top: Any) -> None:
        """Store another spec."""
        metadata = {**(self.stored or {}).get("metadata", {"name": "it"})}
        new = {**self._title(), "metadata": metadata, "spec": spec, **top}
        managed = updating.updated(
            self.stored, new, self.endpoint, manager=manager, now=self.now
        )
        self._store(new, managed)

    def apply(self, manager: str, spec: Any, *, force: bool = False, **top: Any) -> None:
        """Apply a spec."""
        config = {**self._title(), "metadata": {"name": "it"}, "spec": spec, **top}
        new = applying.applied(
            self.stored, config, self.endpoint, manager=manager, force=force, now=self.now
        )
        self._store(new, new["metadata"].get("managedFields"))

    def _title(self) -> Obj:
        return {"apiVersion": self.endpoint.api_version, "kind": "Thing"}

    def _store(self, new: Obj, managed: list[Obj] | None) -> None:
        new = {**new, "metadata": {**new["metadata"], "uid": "1", "managedFields": managed}}
        if self.stored is not None:
            new["metadata"]["managedFields"] = timestamps.steady(new, self.stored)
        self.stored = new
        self.now += timedelta(seconds=1)

    @property
    def entries(self) -> list[Obj]:
        assert self.stored is not None
        return self.stored["metadata"]["managedFields"] or []

    def owned(self, manager: str) -> list[str]:
        """Return the fields of the spec that a manager owns, by whatever operation."""
        paths = [
            sets.shown(path)
            for entry in self.entries
            if entry["manager"] == manager
            for path in sets.members(entry["fieldsV1"])
        ]
        return sorted(path.removeprefix(".spec") for path in paths)
