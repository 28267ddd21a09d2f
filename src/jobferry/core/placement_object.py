"""The record of a placement in an object of ours, beside the workload: `Placement`, named after the workload's UID.

It is for workloads that cannot carry their record, and for what is too large to be on a workload. The workload owns it, so
it goes with it; people see it with `kubectl get placements`, and have no right to write it. It counts only if it
lies in the workload's namespace, under its UID, and says that it is of that UID.
"""

from dataclasses import dataclass
from typing import Any

from jobferry.core.kind import Kind
from jobferry.core.placement import Placement, Shard
from jobferry.objects import Obj
from jobferry.objects.resource import Resource

RESOURCE = Resource("jobferry.io", "v1alpha1", "placements", "Placement")


@dataclass(frozen=True, slots=True)
class Content:
    """What an object tells."""

    placement: Placement
    before: Placement | None = None
    """Of what is only stored, to be recorded next: the placement that counts until then, if it is kept here, too."""

    version: str | None = None
    """Of what is only stored: the resourceVersion of the workload that it was worked out from."""


def read(hub: Obj, record: Obj | None) -> Placement | None:
    """Return the placement that an object tells; None if it tells of none, or of that of another workload."""
    return next(iter(told(hub, record)), None)


def told(hub: Obj, record: Obj | None) -> list[Placement]:
    """Return the placement that an object tells, and after it the one before, if that is still kept there."""
    if record is None or not is_named_after(hub, record):
        return []
    uid = hub["metadata"]["uid"]
    try:
        spec = record["spec"]
        if spec["workload"]["uid"] != uid:
            return []
        kept = [each for each in (spec, spec.get("before")) if each is not None]
        return [_placement(uid, each) for each in kept]
    except (KeyError, TypeError, ValueError, AttributeError):
        return []  # whoever wrote it, it was not we


def is_named_after(hub: Obj, record: Obj) -> bool:
    """Tell whether an object has the place of the record of a workload, whatever it says."""
    ours, theirs = hub["metadata"], record["metadata"]
    place = (theirs.get("namespace"), theirs.get("name"))
    return place == (ours.get("namespace"), ours["uid"])


def made_for(record: Obj) -> str | None:
    """Return the resourceVersion of the workload that a stored base was worked out from."""
    version: str | None = record["spec"]["workload"].get("resourceVersion")
    return version


def new(kind: Kind, hub: Obj, content: Content) -> Obj:
    """Return the object to create."""
    meta = hub["metadata"]
    named = {"name": meta["uid"], "namespace": meta["namespace"]}
    spec = _spec(kind, hub, content)
    return {
        "apiVersion": RESOURCE.api_version,
        "kind": RESOURCE.kind,
        "metadata": {**named, "ownerReferences": _owners(kind, hub)},
        "spec": {name: value for name, value in spec.items() if value is not None},
    }


def patch(kind: Kind, hub: Obj, record: Obj, content: Content) -> Obj:
    """Return the merge patch of an object that is there; if it has changed since, a conflict."""
    return {
        "metadata": {
            "resourceVersion": record["metadata"]["resourceVersion"],
            "ownerReferences": _owners(kind, hub),
        },
        "spec": _spec(kind, hub, content),
    }


def _owners(kind: Kind, hub: Obj) -> list[Obj]:
    return [{**_reference(kind, hub), "controller": False, "blockOwnerDeletion": False}]


def _reference(kind: Kind, hub: Obj) -> Obj:
    meta, resource = hub["metadata"], kind.resource
    named = {"name": meta["name"], "uid": meta["uid"]}
    return {"apiVersion": resource.api_version, "kind": resource.kind, **named}


def _spec(kind: Kind, hub: Obj, content: Content) -> Obj:
    workload, version, before = _reference(kind, hub), content.version, content.before
    return {
        "workload": {**workload, "resourceVersion": version} if version else workload,
        **_members(content.placement),
        "before": _members(before) if before else None,
    }


def _members(placement: Placement) -> Obj:
    return {"attempt": placement.attempt, "shards": list(map(_shard, placement.shards))}


def _shard(shard: Shard) -> Obj:
    members = {
        "worker": shard.worker,
        "cluster": shard.cluster,
        "base": shard.base,
        "leaving": shard.leaving,
    }
    return {name: value for name, value in members.items() if value}


def _placement(uid: str, members: Any) -> Placement:
    shards = tuple(
        Shard(
            str(each["worker"]),
            str(each.get("cluster", "")),
            str(each.get("base", "")),
            str(each.get("leaving", "")),
        )
        for each in members["shards"]
    )
    if not shards:
        raise ValueError("a placement has shards")
    return Placement(uid, int(members["attempt"]), shards)
