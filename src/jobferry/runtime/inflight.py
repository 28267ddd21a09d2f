"""Limits how much is under way at a time, and lets what matters most go first."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from jobferry.runtime.ranking import Ranking


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """How full it is."""

    limit: int
    in_flight: int
    waiting: int


class Inflight:
    """A number of slots; the highest priority gets the next free one, then who came first."""

    def __init__(self, limit: int) -> None:
        if limit < 1:
            raise ValueError(f"a limit of {limit} lets nothing through")
        self._limit = limit
        self._in_flight = 0
        self._waiting: Ranking[asyncio.Future[None]] = Ranking()

    @asynccontextmanager
    async def slot(self, priority: int) -> AsyncIterator[None]:
        """Hold a slot during the block; wait for it first, if need be."""
        if self._in_flight < self._limit:
            self._in_flight += (
                1  # nobody waits now: a slot goes from hand to hand while anybody does
            )
        else:
            await self._turn(priority)
        try:
            yield
        finally:
            self._release()

    def stats(self) -> Stats:
        """Return how full it is."""
        return Stats(limit=self._limit, in_flight=self._in_flight, waiting=len(self._waiting))

    async def _turn(self, priority: int) -> None:
        """Wait until somebody hands over a slot."""
        turn = asyncio.get_running_loop().create_future()
        self._waiting.put(turn, -priority)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                self._waiting.discard(turn)
            else:
                self._release()  # handed over just as we were cancelled: on to the next
            raise

    def _release(self) -> None:
        """Hand the slot to the next, or put it back."""
        while self._waiting:
            turn = self._waiting.pop()
            if not turn.done():
                turn.set_result(None)
                return
        self._in_flight -= 1
