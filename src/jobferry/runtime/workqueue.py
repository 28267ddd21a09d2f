"""A queue of keys that need work: each at most once, some later, the important ones first."""

import asyncio
from collections import deque
from collections.abc import Hashable
from contextlib import suppress
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from jobferry.clock import Clock, Seconds, Timer
from jobferry.errors import Error
from jobferry.runtime.ranking import Ranking

K = TypeVar("K", bound=Hashable)


class Closed(Error):
    """The queue hands out nothing any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """How full a queue is."""

    waiting: int
    """Keys that could be handed out now."""

    delayed: int
    """Keys whose time has not come; those in work count only there."""

    in_work: int

    oldest: Seconds
    """How long the key has been due that has waited longest; 0 if none waits."""


class _Wish(NamedTuple):
    """That a key be handed out: when, and how urgently."""

    due: Seconds
    priority: int

    def joined(self, other: "_Wish | None") -> "_Wish":
        """Return one wish for two: the earlier time, the higher priority."""
        if other is None:
            return self
        return _Wish(min(self.due, other.due), max(self.priority, other.priority))


class WorkQueue(Generic[K]):
    """Hands out each key to one at a time, the highest priority first, then in the order they came.

    A key that is added while in work is handed out once more after `done`. All of it in O(log n).
    """

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self._wishes: dict[K, _Wish] = {}
        # Each wish is in exactly one place: waiting, delayed, or held back because its key is in work.
        self._waiting: Ranking[K] = Ranking()
        self._delayed: Ranking[K] = Ranking()
        self._in_work: set[K] = set()
        self._getters: deque[asyncio.Future[None]] = deque()
        self._alarm: tuple[Seconds, Timer] | None = None
        self._closed = False

    def add(self, key: K, *, priority: int = 0) -> None:
        """Ask that `key` be handed out."""
        self.add_after(key, 0, priority=priority)

    def add_after(self, key: K, delay: Seconds, *, priority: int = 0) -> None:
        """Ask that `key` be handed out once `delay` has passed; an earlier wish stays as it is."""
        if self._closed:
            return
        wish = _Wish(self.clock.monotonic() + delay, priority)
        self._wishes[key] = wish = wish.joined(self._wishes.get(key))
        if key not in self._in_work:
            self._place(key, wish)

    def is_due(self, key: K) -> bool:
        """Tell whether `key` waits to be handed out, or is in work."""
        return key in self._waiting or key in self._in_work

    async def get(self) -> K:
        """Wait for a key and take it into work; raises `Closed` once the queue is."""
        while not self._closed:
            if self._waiting:
                return self._take()
            await self._nudge()
        raise Closed("the work queue is closed")

    def withdraw(self, key: K) -> None:
        """Forget that `key`, which is in work, was asked for again: whoever works on it has seen why."""
        if key in self._in_work:
            self._wishes.pop(key, None)

    def done(self, key: K) -> None:
        """Say that the work on `key` is over, well or not; it may be handed out again from now on."""
        self._in_work.remove(key)
        if key in self._wishes:
            self._place(key, self._wishes[key])

    def close(self) -> None:
        """Drop what waits, end those who wait for a key, ignore what is added from now on."""
        self._closed = True
        self._wishes.clear()
        self._waiting = Ranking()
        self._delayed = Ranking()
        if self._alarm is not None:
            self._alarm[1].cancel()
        while self._getters:
            self._wake()

    def stats(self) -> Stats:
        """Return how full the queue is."""
        oldest = 0.0
        if self._waiting:
            oldest = self.clock.monotonic() - self._wishes[self._waiting.oldest()].due
        return Stats(
            waiting=len(self._waiting),
            delayed=len(self._delayed),
            in_work=len(self._in_work),
            oldest=oldest,
        )

    def _take(self) -> K:
        key = self._waiting.pop()
        del self._wishes[key]
        self._in_work.add(key)
        return key

    def _place(self, key: K, wish: _Wish) -> None:
        if wish.due > self.clock.monotonic():
            self._delayed.put(key, wish.due)
            self._set_alarm()
        else:
            self._delayed.discard(key)
            self._waiting.put(key, -wish.priority)
            self._wake()

    def _set_alarm(self) -> None:
        """See to it that somebody looks when the first delayed key is due."""
        first = self._delayed.first()
        if first is None or (self._alarm is not None and self._alarm[0] <= first[0]):
            return
        if self._alarm is not None:
            self._alarm[1].cancel()
        delay = first[0] - self.clock.monotonic()
        self._alarm = first[0], self.clock.call_later(delay, self._ring)

    def _ring(self) -> None:
        self._alarm = None
        now = self.clock.monotonic()
        while (first := self._delayed.first()) is not None and first[0] <= now:
            self._place(first[1], self._wishes[first[1]])
        self._set_alarm()

    async def _nudge(self) -> None:
        """Wait until something may have changed."""
        getter = asyncio.get_running_loop().create_future()
        self._getters.append(getter)
        try:
            await getter
        except asyncio.CancelledError:
            if getter.cancelled():
                with suppress(ValueError):
                    self._getters.remove(getter)
            else:
                self._wake()  # a key came for us, but we go: it is for the next
            raise

    def _wake(self) -> None:
        """Nudge one of those who wait; it looks for itself what there is."""
        while self._getters:
            getter = self._getters.popleft()
            if not getter.done():
                getter.set_result(None)
                return
