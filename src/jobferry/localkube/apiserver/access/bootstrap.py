"""The roles and bindings that a fresh server has, and how they are kept whole at every start.

Only what is missing is added; what a person added stays. An object whose annotation `autoupdate` is
"false" is left alone.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal, NamedTuple

import orjson

from jobferry.localkube.apiserver.access import aggregation, rules
from jobferry.objects import Obj

AUTO_UPDATE = "rbac.authorization.kubernetes.io/autoupdate"

_ABSENT = object()
_LISTS = ("clusterRoles", "clusterRoleBindings", "roles", "roleBindings")


class Write(NamedTuple):
    """What has to be written; `recreate`: deleted first, since a roleRef cannot be changed."""

    operation: Literal["create", "update", "recreate"]
    obj: Obj


def objects() -> list[Obj]:
    """Return the objects of a fresh server, in the order in which they are made."""
    lists = orjson.loads(Path(__file__).with_name("bootstrap_roles.json").read_bytes())
    return [obj for name in _LISTS for obj in lists[name]]


def plan(existing: Iterable[Obj], wanted: Iterable[Obj]) -> list[Write]:
    """Return what has to be written so that everything in `wanted` is there, aggregated roles filled."""
    stored = {_key(obj): obj for obj in existing}
    found = (reconcile(stored.get(_key(obj)), obj) for obj in wanted)
    writes = {_key(write.obj): write for write in found if write is not None}
    after = {**stored, **{key: write.obj for key, write in writes.items()}}
    roles = [role for role in after.values() if role["kind"] == "ClusterRole"]
    for name, filled in aggregation.outdated(roles).items():
        key = ("ClusterRole", "", name)
        operation = writes[key].operation if key in writes else "update"
        writes[key] = Write(operation, {**after[key], "rules": filled})
    return list(writes.values())


def reconcile(existing: Obj | None, wanted: Obj) -> Write | None:
    """Return the write that adds to an object what it lacks of another; None if it lacks nothing."""
    if existing is None:
        return Write("create", wanted)
    if (existing["metadata"].get("annotations") or {}).get(AUTO_UPDATE) == "false":
        return None
    if "Binding" in wanted["kind"]:
        if existing["roleRef"] != wanted["roleRef"]:
            return Write("recreate", wanted)
        changes = dict(_subject_changes(existing, wanted))
    else:
        changes = dict(_role_changes(existing, wanted))
    updated = {**existing, "metadata": _metadata(existing, wanted), **changes}
    if updated.get("aggregationRule", _ABSENT) is None:
        del updated["aggregationRule"]
    return None if updated == existing else Write("update", updated)


def _metadata(existing: Obj, wanted: Obj) -> Obj:
    ours, theirs = existing["metadata"], wanted["metadata"]
    merged = {
        part: {**theirs[part], **(ours.get(part) or {})}
        for part in ("annotations", "labels")
        if theirs.get(part)
    }
    return {**ours, **merged}


def _role_changes(existing: Obj, wanted: Obj) -> Iterator[tuple[str, object]]:
    ours, theirs = existing.get("rules") or [], wanted.get("rules") or []
    if ours != theirs and (missing := rules.uncovered(map(rules.compiled, ours), theirs)):
        yield "rules", [*ours, *missing]
    selectors = _selectors(existing)
    if wanted.get("aggregationRule") is None:
        if existing.get("aggregationRule") is not None:
            yield "aggregationRule", None
    elif absent := [each for each in _selectors(wanted) if each not in selectors]:
        yield "aggregationRule", {"clusterRoleSelectors": [*selectors, *absent]}


def _selectors(role: Obj) -> list[Obj]:
    return list((role.get("aggregationRule") or {}).get("clusterRoleSelectors") or ())


def _subject_changes(existing: Obj, wanted: Obj) -> Iterator[tuple[str, object]]:
    ours = existing.get("subjects") or []
    if missing := [each for each in wanted.get("subjects") or () if each not in ours]:
        yield "subjects", [*ours, *missing]


def _key(obj: Obj) -> tuple[str, str, str]:
    metadata = obj["metadata"]
    return obj["kind"], metadata.get("namespace", ""), metadata["name"]
