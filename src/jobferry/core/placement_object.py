"""The record of a placement in an object of ours, beside the workload: `Placement`, named after the workload's UID.

It is for workloads that cannot carry their record, and for what is too large to be on a workload. The workload owns it, so
it goes with it; people see it with `kubectl get placements`, and have no right to write it. It counts only if it
lies in the workload's namespace, under its UID, and says that it is of that UID.
"""

from typing import Any

from jobferry.core.kind import Kind
from jobferry.core.placement import Placement, Shard
from jobferry.objects import Obj
from jobferry.objects.resource import Resource

RESOURCE = Resource("jobferry.io", "v1alpha1", "placements", "Placement")


def read(hub: Obj, record: Obj | None) -> Placement | None:
    """Return the placement that an object tells; None if it tells of none, or of that of another workload."""
    if record is None or not is_named_after(hub, record):
        return None
    try:
        return _from_spec(hub["metadata"]["uid"], record["spec"])
    except (KeyError, TypeError, ValueError, AttributeError):
        return None  # whoever wrote it, it was not we


def is_named_after(hub: Obj, record: Obj) -> bool:
    """Tell whether an object has the place of the record of a workload, whatever it says."""
    ours, theirs = hub["metadata"], record["metadata"]
    place = (theirs.get("namespace"), theirs.get("name"))
    return place == (ours.get("namespace"), ours["uid"])


def made_for(record: Obj) -> str | None:
    """Return the resourceVersion of the workload that a stored base was worked out from."""
    version: str | None = record["spec"]["workload"].get("resourceVersion")
    return version


def new(kind: Kind, hub: Obj, placement: Placement, version: str | None = None) -> Obj:
    """Return the object to create."""
    meta = hub["metadata"]
    named = {"name": meta["uid"], "namespace": meta["namespace"]}
    return {
        "apiVersion": RESOURCE.api_version,
        "kind": RESOURCE.kind,
        "metadata": {**named, "ownerReferences": _owners(kind, hub)},
        "spec": _spec(kind, hub, placement, version),
    }


def patch(
    kind: Kind, hub: Obj, record: Obj, placement: Placement, version: str | None = None
) -> Obj:
    """Return the merge patch of an object that is there; if it has changed since, a conflict."""
    return {
        "metadata": {
            "resourceVersion": record["metadata"]["resourceVersion"],
            "ownerReferences": _owners(kind, hub),
        },
        "spec": _spec(kind, hub, placement, version),
    }


def _owners(kind: Kind, hub: Obj) -> list[Obj]:
    return [{**_reference(kind, hub), "controller": False, "blockOwnerDeletion": False}]


def _reference(kind: Kind, hub: Obj) -> Obj:
    meta, resource = hub["metadata"], kind.resource
    named = {"name": meta["name"], "uid": meta["uid"]}
    return {"apiVersion": resource.api_version, "kind": resource.kind, **named}


def _spec(kind: Kind, hub: Obj, placement: Placement, version: str | None) -> Obj:
    workload = _reference(kind, hub)
    return {
        "workload": {**workload, "resourceVersion": version} if version else workload,
        "attempt": placement.attempt,
        "shards": [_shard(each) for each in placement.shards],
    }


def _shard(shard: Shard) -> Obj:
    members = {
        "worker": shard.worker,
        "cluster": shard.cluster,
        "base": shard.base,
        "leaving": shard.leaving,
    }
    return {name: value for name, value in members.items() if value}


def _from_spec(uid: str, spec: Any) -> Placement | None:
    shards = tuple(
        Shard(
            str(each["worker"]),
            str(each.get("cluster", "")),
            str(each.get("base", "")),
            str(each.get("leaving", "")),
        )
        for each in spec["shards"]
    )
    if spec["workload"]["uid"] != uid or not shards:
        return None
    return Placement(uid, int(spec["attempt"]), shards)
