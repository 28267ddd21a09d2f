"""Objects of a hub, as its API server gives them."""

from datetime import UTC, datetime, timedelta
from typing import Any, cast

from jobferry.core import placement
from jobferry.core.placement import Placement, Shard
from jobferry.kinds.job import base as bases
from jobferry.kinds.job.base import Base
from jobferry.kube.client import Client
from jobferry.objects import Obj, merge_patch
from jobferry.objects.times import timestamp
from jobferry.testing.clock import ManualClock

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)


def at(seconds: float) -> str:
    """The moment so many seconds after NOW."""
    return timestamp(NOW + timedelta(seconds=seconds))


def client() -> Client:
    """A client that nobody asks anything."""
    return Client(cast("Any", None), name="hub", clock=ManualClock())


def job(
    name: str = "train",
    *,
    age: float = 60,
    queue: str | None = None,
    cpu: str | None = None,
    manager: str | None = "jobferry.io/dispatcher",
    status: Obj | None = None,
    **spec: Any,
) -> Obj:
    container: Obj = {"name": "main", "image": "i"}
    if cpu:
        container["resources"] = {"requests": {"cpu": cpu}}
    return {
        "metadata": {
            "name": name,
            "namespace": "ml",
            "uid": f"uid-{name}",
            "resourceVersion": "7",
            "creationTimestamp": at(-age),
            "labels": {"jobferry.io/queue": queue} if queue else {},
            "managedFields": [{"manager": "x"}],
        },
        "spec": {
            "completions": 1,
            "parallelism": 1,
            "template": {"spec": {"containers": [container]}},
            **({"managedBy": manager} if manager else {}),
            **spec,
        },
        "status": status or {},
    }


def placed(obj: Obj, worker: str, *, attempt: int = 1, base: Base | None = None) -> Obj:
    """The Job, as it is after it was placed."""
    shard = Shard(worker, f"cluster-{worker}", bases.write(base or Base()))
    record = Placement(obj["metadata"]["uid"], attempt, (shard,))
    result: Obj = merge_patch.apply(obj, placement.patch(obj, record, NOW))
    return result


def worker(name: str, *, up: bool = True, status: Obj | None = None, **spec: Any) -> Obj:
    condition = {
        "status": "True" if up else "False",
        "reason": "Connected" if up else "Unreachable",
        "message": "Connected." if up else "No answer.",
        "lastTransitionTime": at(-30),
    }
    ready = {**condition, "type": "Ready", "reason": "Ready" if up else "Unreachable"}
    return {
        "metadata": {
            "name": name,
            "uid": f"uid-{name}",
            "resourceVersion": "5",
            "creationTimestamp": at(-3600),
            "labels": {"name": name},
        },
        "spec": {"kubeconfig": {"file": "/k"}, "drain": "None", **spec},
        "status": {
            "conditions": [{**condition, "type": "Connected"}, ready],
            "clusterUID": f"cluster-{name}",
            "serverVersion": "v1.35.8",
            **(status or {}),
        },
    }


def queue(name: str, **spec: Any) -> Obj:
    return {
        "metadata": {
            "name": name,
            "uid": f"uid-{name}",
            "resourceVersion": "6",
            "creationTimestamp": at(-3600),
        },
        "spec": spec,
    }


def event(reason: str, message: str, *, age: float, **members: Any) -> Obj:
    return {
        "metadata": {"name": "e", "creationTimestamp": at(-age)},
        "type": "Normal",
        "reason": reason,
        "message": message,
        "firstTimestamp": at(-age),
        "lastTimestamp": at(-age),
        "count": 1,
        **members,
    }
