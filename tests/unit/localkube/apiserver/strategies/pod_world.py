"""Pods for tests: as the handlers give them to a strategy."""

import copy
from typing import Any

from jobferry.localkube.apiserver.strategies import pod
from jobferry.objects import Obj, merge_patch

MAIN: Obj = {"name": "main", "image": "a:1"}
NOW = "2026-01-01T00:00:00Z"


def new_pod(metadata: Obj | None = None, **members: Any) -> Obj:
    """Return a pod ready to be validated."""
    about = {"name": "p", "namespace": "ml", "uid": "u", "creationTimestamp": NOW}
    spec = {"containers": [dict(MAIN)], **members}
    made = {"metadata": about | (metadata or {}), "spec": spec}
    pod.STRATEGY.default(made)
    pod.STRATEGY.prepare_create(made)
    return made


def stored(status: Obj | None = None, **members: Any) -> Obj:
    """Return a pod as storage holds it."""
    made = new_pod({"resourceVersion": "5"}, **members)
    made["status"] |= status or {}
    return made


def changed(old: Obj, patch: Obj) -> Obj:
    """Return what a merge patch makes of a stored pod, ready to be validated."""
    new: Obj = merge_patch.apply(copy.deepcopy(old), patch)
    pod.STRATEGY.default(new)
    pod.STRATEGY.prepare_update(new, old)
    return new


def with_status(old: Obj, status: Obj) -> Obj:
    """Return a stored pod with a new status, ready to be validated."""
    new = copy.deepcopy(old) | {"status": status}
    pod.STATUS.default(new)
    pod.STATUS.prepare_update(new, old)
    return new
