"""Jobs, mirrors and views for the tests of what is decided about them."""

from datetime import UTC, datetime
from typing import Any

from jobferry.core import placement
from jobferry.core.base import Base
from jobferry.core.placement import Placement, Shard
from jobferry.core.view import Policy, View, Worker
from jobferry.kinds import job as kind
from jobferry.objects import Obj

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
UID = "0f8e"
NOTHING = Base()


def hub_job(*, status: Obj | None = None, **spec: Any) -> Obj:
    """Return a Job on the hub, made a minute ago."""
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
    return {
        "metadata": {
            "namespace": "ml",
            "name": "train",
            "uid": UID,
            "resourceVersion": "7",
            "generation": 1,
            "creationTimestamp": "2026-11-16T11:59:00Z",
        },
        "spec": {
            "parallelism": 1,
            "completions": 1,
            "backoffLimit": 6,
            "managedBy": "jobferry.io/dispatcher",
            "template": template,
            **spec,
        },
        "status": status or {},
    }


def placed(
    obj: Obj,
    worker: str = "east",
    *,
    attempt: int = 1,
    base: Base = NOTHING,
    cluster: str | None = None,
) -> Obj:
    """Return a hub Job as it is once its placement was written."""
    shard = Shard(worker, cluster or f"{worker}-uid", base)
    patch = placement.patch(obj, Placement(UID, attempt, (shard,)), NOW)
    metadata = {**obj["metadata"], "annotations": patch["metadata"]["annotations"]}
    return {**obj, "metadata": metadata, "status": {**obj["status"], **patch["status"]}}


def worker(name: str, **changes: Any) -> Worker:
    """Return a worker that takes work."""
    return Worker(**{"name": name, "cluster": f"{name}-uid", "is_up": True, **changes})


def view(hub: Obj | None, **changes: Any) -> View:
    """Return what is known of the Job; by default there are two workers and no mirror."""
    known: dict[str, Any] = {
        "namespace": "ml",
        "name": "train",
        "hub": hub,
        "is_live": True,
        "mirrors": {},
        "workers": {name: worker(name) for name in ("east", "west")},
        "policy": Policy(workers=("east", "west")),
        "origin": "5f0c",
        "dispatcher": "jobferry.io/dispatcher",
        "now": NOW,
    }
    return View(**{**known, **changes})


def mirror(
    obj: Obj,
    where: str = "east",
    *,
    attempt: int = 1,
    base: Base = NOTHING,
    status: Obj | None = None,
    **spec: Any,
) -> Obj:
    """Return the mirror of a hub Job as its worker has it."""
    marks = view(obj).marks(where, obj["metadata"]["uid"], attempt)
    made = kind.mirror(obj, marks, base)
    return {
        **made,
        "metadata": {
            **made["metadata"],
            "uid": f"{where}-{attempt}",
            "resourceVersion": "3",
        },
        "spec": {**made["spec"], **spec},
        "status": status or {},
    }


def condition(type: str, status: str = "True", **more: Any) -> Obj:
    """Return a condition of a Job."""
    return {
        "type": type,
        "status": status,
        "lastTransitionTime": "2026-11-16T11:59:30Z",
        **more,
    }
