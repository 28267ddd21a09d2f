"""What a dispatcher remembers of workloads besides what the clusters say: nothing that must not be lost."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from jobferry.clock import Seconds
from jobferry.core.key import WorkloadKey
from jobferry.core.placement import Placement
from jobferry.core.steps import Notice
from jobferry.dispatch.refusals import FIRST, LONGEST, Refusals
from jobferry.objects import Obj
from jobferry.runtime.backoff import Backoff

SET_BACK = Backoff(first=0.1, cap=30.0)


@dataclass(slots=True)
class _Entry:
    refused: dict[str, str] = field(default_factory=dict)
    """By worker: what people were told about its refusal."""

    postponed: Seconds = 0.0
    """How long an edit that its worker refused was last left alone."""

    set_backs: int = 0
    """How often the hub would not have it placed, one time after the other."""

    objection: tuple[Notice, ...] = ()
    """What people were told about that."""

    told: frozenset[Notice] = frozenset()
    buried: str = ""
    """The UID of the workload, if we were told that it was deleted."""

    lacking: tuple[str, str] = ("", "")
    """The attempt for which people were told what its worker lacks, and what they were told."""

    vain: Obj | None = None
    """The last write of its status, if it changed nothing."""


class Memory:
    """Which workers refused a workload, and what people were told about it."""

    def __init__(self, monotonic: Callable[[], Seconds]) -> None:
        self.refused = Refusals(monotonic)
        self._entries: dict[WorkloadKey, _Entry] = {}
        self._untold: dict[WorkloadKey, Placement] = {}

    def refuse(
        self,
        key: WorkloadKey,
        worker: str,
        why: str,
        *,
        reason: str = "",
        is_general: bool = False,
    ) -> bool:
        """Take note that a worker will not have a workload; tell whether people do not know that yet."""
        self.refused.note(key, worker, why, reason=reason, is_general=is_general)
        entry = self._entries.setdefault(key, _Entry())
        is_news = entry.refused.get(worker) != why
        entry.refused[worker] = why
        return is_news

    def refusals(self, key: WorkloadKey) -> Mapping[str, str]:
        """Return the workers that would not have a workload, and why."""
        return self.refused.of(key)

    def refused_ones(self) -> list[WorkloadKey]:
        """Return the workloads that some worker refused, whatever became of them then."""
        return [key for key, entry in self._entries.items() if entry.refused]

    def postpone(self, key: WorkloadKey) -> Seconds:
        """Return how long to leave an edit alone that the worker refused: longer each time."""
        entry = self._entries.setdefault(key, _Entry())
        entry.postponed = min(2 * entry.postponed, LONGEST) or FIRST
        return entry.postponed

    def set_back(self, key: WorkloadKey, *objection: Notice) -> Seconds:
        """Return how long to leave a workload alone that the hub would not have placed: longer each time."""
        entry = self._entries.setdefault(key, _Entry())
        entry.set_backs, entry.objection = entry.set_backs + 1, objection
        return SET_BACK.delay(entry.set_backs, 1.0)

    def note_taken(self, key: WorkloadKey) -> None:
        """Take note that the hub has a workload placed."""
        if key in self._entries:
            self._entries[key].set_backs, self._entries[key].objection = 0, ()

    def objection(self, key: WorkloadKey) -> tuple[Notice, ...]:
        """Return what people know of a hub that would not have a workload placed: it holds until it is."""
        entry = self._entries.get(key)
        return entry.objection if entry else ()

    def reconsider(self, key: WorkloadKey) -> None:
        """Take note that a workload is another now: it may be accepted where it was refused."""
        self.refused.forget(key)
        if key in self._entries:
            self._entries[key].postponed = 0.0

    def news(self, key: WorkloadKey, notices: tuple[Notice, ...]) -> list[Notice]:
        """Return those of the notices that were not told yet: not since they last became true."""
        entry = self._entries.get(key)
        if entry is None:
            if not notices:
                return []
            entry = self._entries[key] = _Entry()
        new = [notice for notice in notices if notice not in entry.told]
        entry.told = frozenset(notices)
        return new

    def note_lack(self, key: WorkloadKey, attempt: str, why: str) -> bool:
        """Take note of what the worker of an attempt lacks; tell whether people do not know that yet."""
        entry = self._entries.setdefault(key, _Entry())
        is_news = entry.lacking != (attempt, why)
        entry.lacking = attempt, why
        return is_news

    def note_vain(self, key: WorkloadKey, patch: Obj) -> None:
        """Take note of a write of a workload's status that changed nothing."""
        self._entries.setdefault(key, _Entry()).vain = patch

    def vain(self, key: WorkloadKey) -> Obj | None:
        """Return the write of a workload's status that changed nothing, if the last such did."""
        entry = self._entries.get(key)
        return entry.vain if entry else None

    def note_placed(self, key: WorkloadKey, placement: Placement) -> None:
        """Take note that we have placed a workload, and that no worker was told of that yet, or took it."""
        self._untold[key] = placement

    def note_told(self, key: WorkloadKey) -> None:
        """Take note that its worker is being told: from now on a mirror may be there."""
        self._untold.pop(key, None)

    def untold(self, key: WorkloadKey) -> Placement | None:
        """Return the placement of a workload that no worker can know of; None: there may be a mirror."""
        return self._untold.get(key)

    def doubt_all(self) -> None:
        """Take note that somebody else may have told workers of what we have placed."""
        self._untold.clear()

    def bury(self, key: WorkloadKey, uid: str) -> None:
        """Take note that a workload was deleted: nothing else that was known of it counts any more."""
        self.refused.forget(key)
        self._entries[key] = _Entry(buried=uid)
        self._untold.pop(key, None)

    def buried(self, key: WorkloadKey) -> str:
        """Return the UID of the last workload of that name which was seen to be deleted."""
        entry = self._entries.get(key)
        return entry.buried if entry else ""

    def forget(self, key: WorkloadKey) -> None:
        """Forget a workload of which nothing is left."""
        self.refused.forget(key)
        self._entries.pop(key, None)
        self._untold.pop(key, None)
