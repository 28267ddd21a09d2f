"""Workloads of every kind: the examples of docs/kinds.md, and hub objects with the mirrors that they must get."""

import copy
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from jobferry.core.marks import Marks
from jobferry.kinds import declared, registry
from jobferry.kinds.adapter import MULTIKUEUE, Adapter, Context
from jobferry.kinds.custom import CustomKind
from jobferry.kinds.table import Row
from jobferry.objects import Obj, merge_patch

PAGE = Path(__file__).parents[2] / "docs" / "kinds.md"
GOLDEN = Path(__file__).parent / "golden"

NOW = datetime(2026, 11, 17, 12, 0, tzinfo=UTC)
CONTEXT = Context(frozenset({"jobferry.io/dispatcher"}), frozenset({MULTIKUEUE}))

_BLOCK = re.compile(r"^```yaml\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def _blocks() -> Iterator[Obj]:
    for text in _BLOCK.findall(PAGE.read_text()):
        yield from yaml.safe_load_all(text)


def name_of(obj: Obj) -> str:
    """Name the kind of an object, as adapters are named."""
    return f"{obj['kind']}.{obj['apiVersion'].rpartition('/')[0]}".rstrip(".")


EXAMPLES: dict[str, Obj] = {
    name_of(each): each for each in reversed([*_blocks()]) if "kind" in each
}
"""What the page tells people to paste first, by kind."""

POD_GROUP: list[Obj] = [
    each
    for each in _blocks()
    if "jobferry.io/pod-group" in (each.get("metadata", {}).get("labels") or {})
]
"""The Pods of the page that go together."""

DECLARED: list[Any] = next(each["customKinds"] for each in _blocks() if "customKinds" in each)
"""The table of declared kinds on the page."""

ADAPTERS: dict[str, Adapter] = registry.make(CONTEXT, declared.rows(DECLARED))
NAMES = sorted(ADAPTERS)
CUSTOM = [name for name in NAMES if name != "Pod"]


def example(name: str, **metadata: Any) -> Obj:
    """Return the example of a kind, as a hub has it."""
    obj = copy.deepcopy(EXAMPLES[name])
    obj["metadata"] |= {
        "namespace": "team",
        "uid": "11111111-2222-3333-4444-555555555555",
        "resourceVersion": "77",
        "generation": 1,
        "creationTimestamp": "2026-11-17T11:00:00Z",
        **metadata,
    }
    return obj


class Golden(NamedTuple):
    """A hub object, and the mirror that it must get, but for marks and notes."""

    hub: Obj
    mirror: Obj


def golden(name: str) -> Golden:
    """Return the golden pair of a kind."""
    file = GOLDEN / f"{name.partition('.')[0].lower()}.yaml"
    return Golden(*yaml.safe_load_all(file.read_text()))


def marks_of(hub: Obj, *, name: str | None = None, attempt: int = 1) -> Marks:
    """Return the marks of a mirror of a hub object."""
    metadata = hub["metadata"]
    return Marks(
        origin="5b1f0c9e-0000-4000-8000-000000000001",
        dispatcher="jobferry.io/dispatcher",
        worker="east",
        hub_uid=metadata["uid"],
        attempt=attempt,
        namespace=metadata["namespace"],
        name=name or metadata["name"],
        hub_name=metadata["name"],
    )


def mirror_of(hub: Obj, status: Obj | None = None, **metadata: Any) -> Obj:
    """Return the mirror of a hub object as a worker has it."""
    mirror = ADAPTERS[name_of(hub)].mirror(hub, marks_of(hub), "")
    made = {
        "uid": "22222222-2222-3333-4444-555555555555",
        "resourceVersion": "5",
        "generation": 1,
        "creationTimestamp": "2026-11-17T11:30:00Z",
        **metadata,
    }
    found = {**copy.deepcopy(mirror), "metadata": {**mirror["metadata"], **made}}
    return found if status is None else {**found, "status": status}


def row(kind: Adapter) -> Row:
    """Return the row of a kind that is one."""
    assert isinstance(kind, CustomKind)
    return kind.row


def suspension(kind: Adapter, value: bool) -> Obj:
    """Return the merge patch by which a user suspends a workload, or resumes it."""
    patch: Any = value
    for step in reversed(row(kind).suspend or ()):
        patch = {step: patch}
    found: Obj = patch
    return found


def shown(hub: Obj, patch: Obj) -> Obj:
    """Return a hub object after a write of its status, which must be guarded and touch nothing else."""
    assert patch.keys() == {"metadata", "status"}
    assert patch["metadata"] == {"resourceVersion": hub["metadata"]["resourceVersion"]}
    status = merge_patch.apply(hub.get("status") or {}, patch["status"])
    version = str(int(hub["metadata"]["resourceVersion"]) + 1)
    return {
        **hub,
        "metadata": {**hub["metadata"], "resourceVersion": version},
        "status": status,
    }
