"""How long to wait before trying again: longer after each failure, up to a cap."""

from collections.abc import Hashable
from dataclasses import dataclass
from random import Random
from typing import Generic, TypeVar

from jobferry.clock import Seconds

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """Exponential backoff."""

    first: Seconds = 0.1
    """The longest wait after the first failure."""

    factor: float = 2.0
    """How many times longer each wait is than the one before."""

    cap: Seconds = 60.0
    """No wait is longer than this."""

    jitter: float = 0.2
    """The share of a wait that chance may take away, so that many do not come back at once."""

    def delay(self, failures: int, chance: float) -> Seconds:
        """Return the wait after that many failures in a row; `chance` is from 0 to 1."""
        try:
            full = min(self.cap, self.first * self.factor ** (failures - 1))
        except OverflowError:
            full = self.cap
        return full * (1 - self.jitter * chance)


class Failures(Generic[K]):
    """Counts the failures in a row of each key."""

    def __init__(self, backoff: Backoff, random: Random) -> None:
        self._backoff = backoff
        self._random = random
        self._counts: dict[K, int] = {}

    def delay(self, key: K) -> Seconds:
        """Count one more failure of `key` and return how long to wait now."""
        self._counts[key] = self.count(key) + 1
        return self._backoff.delay(self._counts[key], self._random.random())

    def count(self, key: K) -> int:
        """Return how often `key` has failed in a row."""
        return self._counts.get(key, 0)

    def forget(self, key: K) -> None:
        """Start `key` anew: it succeeded, or nobody wants it any more."""
        self._counts.pop(key, None)
