"""Jobs to decide about."""

from datetime import UTC, datetime, timedelta
from typing import Any

from jobferry.objects import Obj
from jobferry.objects.times import timestamp

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)

INDEXED: Obj = {"completionMode": "Indexed", "completions": 4, "parallelism": 2}
ELASTIC: Obj = INDEXED | {"parallelism": 4}
PER_INDEX: Obj = INDEXED | {"backoffLimitPerIndex": 1}


def at(seconds: int) -> str:
    """The moment so many seconds after NOW, as an API server writes it."""
    return timestamp(NOW + timedelta(seconds=seconds))


def hub_job(status: Obj | None = None, **spec: Any) -> Obj:
    """A delegated Job as the hub's API server gives it."""
    uid = "0f8e1c8e-3d4c-4b73-8a8b-6f3e1d1f0001"
    own = {"app": "train"}
    generated = {
        "controller-uid": uid,
        "job-name": "train",
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": "train",
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": "train",
            "namespace": "ml",
            "uid": uid,
            "resourceVersion": "41",
            "generation": 1,
            "creationTimestamp": at(-3600),
        },
        "spec": {
            "managedBy": "jobferry.io/dispatcher",
            "completionMode": "NonIndexed",
            "completions": 5,
            "parallelism": 2,
            "backoffLimit": 6,
            "suspend": False,
            "selector": {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}},
            "template": {
                "metadata": {"creationTimestamp": None, "labels": own | generated},
                "spec": {
                    "containers": [{"name": "main", "image": "train:1"}],
                    "restartPolicy": "Never",
                },
            },
        }
        | spec,
        "status": status or {},
    }


def condition(type: str, status: str = "True", **more: str) -> Obj:
    """A condition as a worker has it."""
    return {"type": type, "status": status, "lastTransitionTime": at(-600), **more}


def said(status: Obj, type: str) -> str | None:
    """The status of a condition; None if there is none of this type, or more than one."""
    found = [each["status"] for each in status.get("conditions", ()) if each["type"] == type]
    return found[0] if len(found) == 1 else None
