"""Workers for tests, as an informer holds them."""

from typing import Any

import msgspec
import orjson

from jobferry.kube.items import Item
from jobferry.objects import Obj
from jobferry.workers.resource import WorkerHead

_HEAD = msgspec.json.Decoder(WorkerHead)


def worker(
    name: str, *, status: Obj | None = None, age: int = 0, **spec: Any
) -> Item[WorkerHead]:
    """Return a Worker; the greater its age, the earlier it was made."""
    return _item(name, status, age, spec, {})


def leaving(name: str, **spec: Any) -> Item[WorkerHead]:
    """Return a Worker that somebody has deleted."""
    return _item(name, None, 0, spec, {"deletionTimestamp": "2026-01-02T00:00:00Z"})


def _item(name: str, status: Obj | None, age: int, spec: Obj, extra: Obj) -> Item[WorkerHead]:
    metadata = {
        "name": name,
        "uid": f"uid-{name}",
        "resourceVersion": "1",
        "generation": 1,
        "creationTimestamp": f"2026-01-01T00:00:{50 - age}Z",
        **extra,
    }
    body = orjson.dumps({"metadata": metadata, "spec": spec, "status": status or {}})
    return Item(_HEAD.decode(body), body)
