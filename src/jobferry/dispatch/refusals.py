"""Which workers would not have which workloads, and when they are asked again: later each time.

Some refusals are about one workload (it is invalid there, its name is taken), others about all of its
namespace (that is missing there, or closed to us). Of those that the latter keeps waiting, one asks for all.
"""

from collections.abc import Callable
from dataclasses import dataclass

from jobferry.clock import Seconds
from jobferry.core.key import WorkloadKey

FIRST: Seconds = 60.0
"""How long a worker that refused is not asked again: a quota may be raised meanwhile."""

LONGEST: Seconds = 3600.0
"""Where the doubling ends: it goes on refusing for a reason that nobody mends."""

ASKING: Seconds = 60.0
"""How long the others wait for the one that asks for all."""

Place = WorkloadKey | str
"""What a refusal is about: a workload, or a namespace."""


@dataclass(slots=True)
class _Refusal:
    reason: str
    why: str
    pause: Seconds
    until: Seconds
    asks: WorkloadKey | None = None
    """The workload that asks for all, once the time is over."""

    def holds(self, key: WorkloadKey, now: Seconds) -> bool:
        return self.until > now and self.asks != key


class Refusals:
    """The refusals of all workers."""

    def __init__(self, monotonic: Callable[[], Seconds]) -> None:
        self._monotonic = monotonic
        self._by_worker: dict[str, dict[Place, _Refusal]] = {}

    def note(
        self, key: WorkloadKey, worker: str, why: str, *, reason: str, is_general: bool
    ) -> None:
        """Take note of a refusal; `is_general`: it is about all workloads of the namespace."""
        now = self._monotonic()
        places = self._by_worker.setdefault(worker, {})
        place = key.namespace if is_general else key
        known, pause = places.get(place), FIRST
        if known is not None and known.reason == reason:
            if known.holds(key, now):
                return  # several asked at the same time
            pause = min(known.pause * 2, LONGEST)
        if not is_general:
            places.pop(key.namespace, None)  # it was looked at, so the door is open
        places[place] = _Refusal(reason, why, pause, now + pause)

    def of(self, key: WorkloadKey) -> dict[str, str]:
        """Return the workers that are not to be asked about a workload now, and why."""
        return {worker: refusal.why for worker, refusal in self._holding(key)}

    def next(self, key: WorkloadKey) -> Seconds | None:
        """Return how long it is until one of those may be asked; None: there is none."""
        until = [refusal.until for _, refusal in self._holding(key)]
        return min(until) - self._monotonic() if until else None

    def ask(self, key: WorkloadKey, worker: str) -> bool:
        """Say that a worker is about to be asked; false: another workload asks for all of the namespace."""
        refusal = self._by_worker.get(worker, {}).get(key.namespace)
        if refusal is None or refusal.asks == key:
            return True
        now = self._monotonic()
        if refusal.until > now:
            return False
        refusal.asks, refusal.until = key, now + ASKING
        return True

    def accept(self, key: WorkloadKey, worker: str) -> bool:
        """Take note that a worker took a workload; tell whether others of the namespace waited for that."""
        places = self._by_worker.get(worker, {})
        places.pop(key, None)
        return places.pop(key.namespace, None) is not None

    def forgive(self, worker: str) -> set[str]:
        """Forget what a worker refused: it is another now. Return the namespaces that it would not have."""
        places = self._by_worker.pop(worker, {})
        return {place for place in places if isinstance(place, str)}

    def forget(self, key: WorkloadKey) -> None:
        """Forget who refused a workload: it is another now, or gone."""
        for places in self._by_worker.values():
            places.pop(key, None)

    def _holding(self, key: WorkloadKey) -> list[tuple[str, _Refusal]]:
        now = self._monotonic()
        found = []
        for worker, places in self._by_worker.items():
            for place in (key.namespace, key):
                refusal = places.get(place)
                if refusal is not None and refusal.holds(key, now):
                    found.append((worker, refusal))
        return found
