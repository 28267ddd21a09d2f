"""A strategy put through what the handlers do with it, to compare the result with a real answer."""

import copy
from typing import Any, NamedTuple

from jobferry.localkube.apiserver import status
from jobferry.localkube.apiserver.strategy import Strategy
from jobferry.localkube.apiserver.validation import metadata
from jobferry.objects import Obj

_SYSTEM = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")
_VARYING = ("uid", "creationTimestamp", "managedFields", "resourceVersion", "generation")


class Kind(NamedTuple):
    """A kind, and where its objects are."""

    group: str
    name: str
    namespaced: bool
    strategy: Strategy


class Ended(NamedTuple):
    """What a request led to."""

    code: int
    body: Any
    warnings: tuple[str, ...] = ()


def created(kind: Kind, body: Obj, namespace: str) -> Ended:
    """Create an object from a body."""
    obj = copy.deepcopy(body)
    kind.strategy.default(obj)
    if kind.namespaced:
        obj["metadata"].setdefault("namespace", namespace)
    obj["metadata"] |= {"uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z"}
    kind.strategy.prepare_create(obj)
    name = obj["metadata"].get("name", "")
    found = [*kind.strategy.validate_create(obj)] or [
        *metadata.common_create_problems(obj, namespaced=kind.namespaced)
    ]
    if found:
        return _refused(kind, name, found)
    return Ended(201, obj, tuple(kind.strategy.warn_create(obj)))


def updated(kind: Kind, body: Obj, old: Obj, strategy: Strategy | None = None) -> Ended:
    """Change an object through the main or another endpoint."""
    new, strategy = copy.deepcopy(body), strategy or kind.strategy
    kind.strategy.default(new)
    new["metadata"].setdefault("resourceVersion", old["metadata"]["resourceVersion"])
    strategy.prepare_update(new, old)
    for member in _SYSTEM:
        if member in old["metadata"]:
            new["metadata"][member] = old["metadata"][member]
    found = [
        *metadata.common_update_problems(new, old, namespaced=kind.namespaced),
        *strategy.validate_update(new, old),
    ]
    if found:
        return _refused(kind, old["metadata"]["name"], found)
    return Ended(200, new, tuple(strategy.warn_update(new, old)))


def comparable(value: Any) -> Any:
    """Return a value without what differs each time, and without what is empty."""
    if isinstance(value, list):
        return [comparable(each) for each in value]
    if not isinstance(value, dict):
        return value
    kept = {
        key: comparable(each)
        for key, each in value.items()
        if key not in (*_VARYING, "kind", "apiVersion")
    }
    return {key: each for key, each in kept.items() if each not in (None, "", {}, [])}


def _refused(kind: Kind, name: str, found: list[Any]) -> Ended:
    return Ended(422, status.invalid(kind.group, kind.name, name, found).status())
