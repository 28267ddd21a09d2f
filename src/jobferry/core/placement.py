"""The placement of a workload: the decision where it runs, and the record of it on the hub object itself.

`records` knows of the other place where a record may be. An annotation holds the record, the condition Placed vouches for it. Users can forge, copy or lose an
annotation; only who may write the status can set a condition. So a record counts only if the condition
says the same and the UID in it is the object's own.
"""

import re
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any

import orjson

from jobferry.core.kind import Earned
from jobferry.objects import Obj, conditions

ANNOTATION = "jobferry.io/placement"
CONDITION = "Placed"
FORMAT = 1

MOST_BYTES = 256 * 1024
"""As many as API servers allow all annotations of an object together, keys and values."""

_ATTEMPT = re.compile(r"attempt (\d+) on ")
_SHARD = re.compile(
    r"([^ ,]+) \(([^)]*)\)(?: after (\{[^}]*\}))?(?: leaving ([A-Za-z]+))?(?:, |$)"
)


@dataclass(frozen=True, slots=True)
class Shard:
    """One part of a workload and the worker that runs it; so far every workload is one shard."""

    worker: str
    cluster: str
    """The UID of the worker's cluster: a worker whose cluster was made anew has lost the mirror."""

    base: Earned = ""
    """What earlier attempts of this part have earned."""

    leaving: str = ""
    """Why the mirror was deleted, or is about to be, so that it runs elsewhere; empty: it was not, by us."""

    def __str__(self) -> str:
        after = f" after {self.base}" if self.base else ""
        leaving = f" leaving {self.leaving}" if self.leaving else ""
        return f"{self.worker} ({self.cluster}){after}{leaving}"


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a workload runs, and for the how many-th time it was placed."""

    uid: str
    attempt: int
    shards: tuple[Shard, ...]

    def __str__(self) -> str:
        return f"attempt {self.attempt} on {', '.join(map(str, self.shards))}"


def read(obj: Obj) -> Placement | None:
    """Return the placement that counts; None if there is none, or one that cannot be trusted."""
    known = vouched(obj)
    return known if known is not None and known == noted(obj) else None


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


def fits(obj: Obj, patch: Obj) -> bool:
    """Tell whether an API server would take what `patch` returned: beside the object's other annotations."""
    notes = obj["metadata"].get("annotations") or {}
    every = {**notes, **patch["metadata"]["annotations"]}
    return sum(len(f"{key}{value}".encode()) for key, value in every.items()) <= MOST_BYTES


def vouched(obj: Obj) -> Placement | None:
    """Return the placement that the condition alone tells."""
    condition = conditions.find(obj.get("status", {}).get("conditions"), CONDITION)
    if condition is None or condition.get("status") != "True":
        return None
    return told(obj["metadata"]["uid"], str(condition.get("message")))


@lru_cache(maxsize=4096)  # the same few lines are read again and again while a Job runs
def told(uid: str, message: str) -> Placement | None:
    """Return the placement of the object of that UID whose condition says this; None: it tells of none."""
    try:
        known = _told(uid, message)
    except ValueError:
        return None
    return known if known is not None and str(known) == message else None


def noted(obj: Obj) -> Placement | None:
    """Return the placement that the annotation alone tells, which may be anybody's."""
    text = (obj["metadata"].get("annotations") or {}).get(ANNOTATION)
    return None if text is None else _parsed(text)


def last_attempt(obj: Obj) -> int:
    """Return the number of the last placement that was really made; 0: none was."""
    known = read(obj) or vouched(obj)
    return known.attempt if known else 0


def _told(uid: str, message: str) -> Placement | None:
    """Read what `str` made of a placement, or of something like it."""
    attempt = _ATTEMPT.match(message)
    if attempt is None:
        return None
    shards = tuple(
        Shard(worker, cluster, _earned(orjson.loads(base or "{}")), leaving)
        for worker, cluster, base, leaving in _SHARD.findall(message, attempt.end())
    )
    return Placement(uid, int(attempt[1]), shards) if shards else None


@lru_cache(maxsize=4096)
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
        "shards": [_shard_to_json(shard) for shard in placement.shards],
    }


def _shard_to_json(shard: Shard) -> Obj:
    members: Obj = {
        "worker": shard.worker,
        "cluster": shard.cluster,
        "base": orjson.Fragment(shard.base or "{}"),
    }
    return {**members, "leaving": shard.leaving} if shard.leaving else members


def _from_json(data: Any) -> Placement | None:
    if data["format"] != FORMAT:
        return None
    shards = tuple(
        Shard(
            str(shard["worker"]),
            str(shard["cluster"]),
            _earned(shard["base"]),
            str(shard.get("leaving", "")),
        )
        for shard in data["shards"]
    )
    known = Placement(str(data["uid"]), int(data["attempt"]), shards)
    # What no condition could vouch for is no record, however it got there.
    return known if told(known.uid, str(known)) == known else None


def _earned(members: dict[str, Any]) -> Earned:
    return orjson.dumps(members).decode() if members else ""
