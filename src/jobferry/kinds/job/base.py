"""The base of an attempt: what the earlier attempts of the same Job have earned."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import orjson

from jobferry import errors
from jobferry.core.kind import Earned
from jobferry.kinds.job.status import (
    MAX_COMPLETIONS,
    count,
    is_indexed,
    read_indexes,
    uncounted,
)
from jobferry.objects import Obj, indexes
from jobferry.objects.indexes import IndexSet


class BadBase(errors.BadInput, ValueError):
    """JSON that is no base; somebody must have edited the placement annotation."""

    hint = (
        "Leave the annotation jobferry.io/placement alone; without it, the Job is placed anew."
    )


@dataclass(frozen=True, slots=True)
class Base:
    """Counters and indexes that earlier attempts have earned, and the time they took."""

    succeeded: int = 0
    failed: int = 0
    completed_indexes: IndexSet = field(default_factory=IndexSet)
    failed_indexes: IndexSet = field(default_factory=IndexSet)
    seconds: int = 0
    """How much of activeDeadlineSeconds was over when the attempt was placed."""

    def plus(self, status: Obj, spec: Obj) -> "Base":
        """Return the base with what one more attempt has earned, as far as its status tells.

        Pods that have ended but are not counted yet are earned, too. Indexes beyond the completions of
        the Job (it may have been scaled down) are forgotten, as the Job controller does.
        """
        failures = self.failed + count(status, "failed") + uncounted(status, "failed")
        if not is_indexed(spec):
            succeeded = count(status, "succeeded") + uncounted(status, "succeeded")
            return Base(self.succeeded + succeeded, failures, seconds=self.seconds)
        limit = int(spec.get("completions") or 0)
        completed = self.completed_indexes | read_indexes(status, "completedIndexes")
        failed = self.failed_indexes | read_indexes(status, "failedIndexes")
        completed = completed.clip(limit)
        return Base(
            succeeded=len(completed),
            failed=failures,
            completed_indexes=completed,
            failed_indexes=failed.clip(limit) - completed,
            seconds=self.seconds,
        )

    def __or__(self, other: "Base") -> "Base":
        """Return the most of two accounts of the same attempts."""
        completed = self.completed_indexes | other.completed_indexes
        return Base(
            succeeded=max(self.succeeded, other.succeeded, len(completed)),
            failed=max(self.failed, other.failed),
            completed_indexes=completed,
            failed_indexes=(self.failed_indexes | other.failed_indexes) - completed,
            seconds=max(self.seconds, other.seconds),
        )

    def counters(self, spec: Obj) -> Obj:
        """Return the base as the members of a Job's status."""
        status: Obj = {"succeeded": self.succeeded, "failed": self.failed}
        if is_indexed(spec):
            status["completedIndexes"] = str(self.completed_indexes)
        if spec.get("backoffLimitPerIndex") is not None:
            status["failedIndexes"] = str(self.failed_indexes)
        return status

    def to_json(self) -> Obj:
        """Return the base as JSON; what is nothing is left out."""
        members = {
            "succeeded": self.succeeded,
            "failed": self.failed,
            "completedIndexes": str(self.completed_indexes),
            "failedIndexes": str(self.failed_indexes),
            "seconds": self.seconds,
        }
        return {name: value for name, value in members.items() if value}

    @classmethod
    def from_json(cls, data: Any) -> "Base":
        """Read what `to_json` wrote; raises `BadBase`."""
        if not isinstance(data, Mapping):
            raise BadBase(f"a base is an object, not {data!r}")
        return cls(
            succeeded=_number(data, "succeeded"),
            failed=_number(data, "failed"),
            completed_indexes=_set(data, "completedIndexes"),
            failed_indexes=_set(data, "failedIndexes"),
            seconds=_number(data, "seconds"),
        )


@lru_cache(maxsize=4096)  # the same few are read again and again while a Job runs
def read(text: Earned) -> Base:
    """Read what `write` wrote; nonsense is no base, whoever put it into the record."""
    try:
        return Base.from_json(orjson.loads(text)) if text else Base()
    except ValueError:
        return Base()


def write(base: Base) -> Earned:
    """Write a base so that the record of a placement can hold it; nothing is no text."""
    members = base.to_json()
    return orjson.dumps(members).decode() if members else ""


def _number(data: Mapping[str, Any], name: str) -> int:
    value = data.get(name, 0)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise BadBase(f"{name} of a base is a number from 0, not {value!r}")
    return value


def _set(data: Mapping[str, Any], name: str) -> IndexSet:
    value = data.get(name, "")
    if not isinstance(value, str):
        raise BadBase(f"{name} of a base is text, not {value!r}")
    try:
        return indexes.parse(value, MAX_COMPLETIONS)
    except indexes.BadIndexes as error:
        raise BadBase(f"{name} of a base: {error}") from error
