"""The placement of a workload: the recorded decision where it runs, kept on the hub object itself.

An annotation holds the record, the condition Placed vouches for it. Users can forge, copy or lose an
annotation; only who may write the status can set a condition. So a record counts only if the condition
says the same and the UID in it is the object's own.
"""

import re
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import orjson

from jobferry.core.base import Base
from jobferry.objects import Obj, conditions

ANNOTATION = "jobferry.io/placement"
CONDITION = "Placed"
FORMAT = 1

_MESSAGE = re.compile(r"attempt (?P<attempt>\d+) on (?P<worker>[^ ]+) \((?P<cluster>[^)]*)\)")


@dataclass(frozen=True, slots=True)
class Shard:
    """One part of a workload and the worker that runs it; so far every workload is one shard."""

    worker: str
    cluster: str
    """The UID of the worker's cluster: a worker whose cluster was made anew has lost the mirror."""

    base: Base = field(default_factory=Base)
    """What earlier attempts of this part have earned."""


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a workload runs, and for the how many-th time it was placed."""

    uid: str
    attempt: int
    shards: tuple[Shard, ...]

    def __str__(self) -> str:
        workers = ", ".join(f"{shard.worker} ({shard.cluster})" for shard in self.shards)
        return f"attempt {self.attempt} on {workers}"


def read(obj: Obj) -> Placement | None:
    """Return the placement that counts; None if there is none, or one that cannot be trusted."""
    placement = _recorded(obj)
    condition = conditions.find(obj.get("status", {}).get("conditions"), CONDITION)
    if placement is None or condition is None or condition.get("status") != "True":
        return None
    is_genuine = placement.uid == obj["metadata"]["uid"] and condition.get("message") == str(
        placement
    )
    return placement if is_genuine else None


def patch(obj: Obj, placement: Placement, now: datetime, *, idle: Obj | None = None) -> Obj:
    """Return the one write that records a placement: a merge patch of the status subresource.

    `idle` is the part of it that says that nothing runs yet, where an earlier attempt ran.
    """
    condition = {
        "type": CONDITION,
        "status": "True",
        "reason": "Placed",
        "message": str(placement),
    }
    return {
        "metadata": {
            "resourceVersion": obj["metadata"]["resourceVersion"],
            "annotations": {ANNOTATION: orjson.dumps(_to_json(placement)).decode()},
        },
        "status": {
            **(idle or {}),
            "conditions": conditions.set(
                obj.get("status", {}).get("conditions"), condition, now
            ),
        },
    }


def vouched(obj: Obj) -> Placement | None:
    """Return the placement as far as the condition alone tells it: all but what was earned before."""
    condition = conditions.find(obj.get("status", {}).get("conditions"), CONDITION)
    if condition is None or condition.get("status") != "True":
        return None
    match = _MESSAGE.fullmatch(str(condition.get("message")))
    if match is None:
        return None
    shard = Shard(match["worker"], match["cluster"])
    return Placement(obj["metadata"]["uid"], int(match["attempt"]), (shard,))


def workers(annotation: str) -> list[str]:
    """Return the workers that a record names, trusted or not: good enough for counting."""
    record = _parsed(annotation)
    return [shard.worker for shard in record.shards] if record else []


def last_attempt(obj: Obj) -> int:
    """Return the number of the last placement that was really made; 0: none was."""
    known = read(obj) or vouched(obj)
    return known.attempt if known else 0


def _recorded(obj: Obj) -> Placement | None:
    text = (obj["metadata"].get("annotations") or {}).get(ANNOTATION)
    return None if text is None else _parsed(text)


def _parsed(text: str) -> Placement | None:
    try:
        return _from_json(orjson.loads(text))
    except (KeyError, TypeError, ValueError, AttributeError):
        return None  # whatever a user wrote there, it is not ours


def _to_json(placement: Placement) -> Obj:
    return {
        "format": FORMAT,
        "uid": placement.uid,
        "attempt": placement.attempt,
        "shards": [
            {"worker": shard.worker, "cluster": shard.cluster, "base": shard.base.to_json()}
            for shard in placement.shards
        ],
    }


def _from_json(data: Any) -> Placement | None:
    if data["format"] != FORMAT:
        return None
    shards = tuple(
        Shard(str(shard["worker"]), str(shard["cluster"]), Base.from_json(shard["base"]))
        for shard in data["shards"]
    )
    return Placement(str(data["uid"]), int(data["attempt"]), shards) if shards else None
