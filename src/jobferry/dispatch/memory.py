"""What a dispatcher remembers of workloads besides what the clusters say: nothing that must not be lost."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from jobferry.clock import Seconds
from jobferry.core.placement import Placement
from jobferry.core.steps import Notice
from jobferry.kube.items import Key

REFUSAL_LASTS: Seconds = 60.0
"""How long a worker that refused a workload is not asked again: a quota may be raised meanwhile."""


@dataclass(slots=True)
class _Entry:
    refusals: dict[str, tuple[Seconds, str]] = field(default_factory=dict)
    """By worker: until when it counts, and why."""

    told: frozenset[Notice] = frozenset()
    buried: str = ""
    """The UID of the workload, if we were told that it was deleted."""


class Memory:
    """Which workers refused a workload, and what people were told about it."""

    def __init__(self, monotonic: Callable[[], Seconds]) -> None:
        self._monotonic = monotonic
        self._entries: dict[Key, _Entry] = {}
        self._untold: dict[Key, Placement] = {}

    def refuse(self, key: Key, worker: str, why: str) -> None:
        """Take note that a worker will not have a workload."""
        entry = self._entries.setdefault(key, _Entry())
        entry.refusals[worker] = self._monotonic() + REFUSAL_LASTS, why

    def refusals(self, key: Key) -> Mapping[str, str]:
        """Return the workers that would not have a workload, and why."""
        entry = self._entries.get(key)
        if entry is None or not entry.refusals:
            return {}
        now = self._monotonic()
        return {worker: why for worker, (until, why) in entry.refusals.items() if until > now}

    def news(self, key: Key, notices: tuple[Notice, ...]) -> list[Notice]:
        """Return those of the notices that were not told yet: not since they last became true."""
        entry = self._entries.get(key)
        if entry is None:
            if not notices:
                return []
            entry = self._entries[key] = _Entry()
        new = [notice for notice in notices if notice not in entry.told]
        entry.told = frozenset(notices)
        return new

    def note_placed(self, key: Key, placement: Placement) -> None:
        """Take note that we have placed a workload, and that no worker was told of that yet."""
        self._untold[key] = placement

    def note_told(self, key: Key) -> None:
        """Take note that its worker is being told: from now on a mirror may be there."""
        self._untold.pop(key, None)

    def untold(self, key: Key) -> Placement | None:
        """Return the placement of a workload that no worker can know of; None: there may be a mirror."""
        return self._untold.get(key)

    def doubt_all(self) -> None:
        """Take note that somebody else may have told workers of what we have placed."""
        self._untold.clear()

    def bury(self, key: Key, uid: str) -> None:
        """Take note that a workload was deleted: nothing else that was known of it counts any more."""
        self._entries[key] = _Entry(buried=uid)
        self._untold.pop(key, None)

    def buried(self, key: Key) -> str:
        """Return the UID of the last workload of that name which was seen to be deleted."""
        entry = self._entries.get(key)
        return entry.buried if entry else ""

    def forget(self, key: Key) -> None:
        """Forget a workload of which nothing is left."""
        self._entries.pop(key, None)
        self._untold.pop(key, None)
