"""What the server does by itself: it looks at whatever may need something, and again later if that fails."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial

from jobferry import log
from jobferry.clock import Clock, Seconds, Timer
from jobferry.localkube.apiserver.status import StatusError

FIRST_RETRY: Seconds = 1.0
LAST_RETRY: Seconds = 60.0
"""How long to wait before another look at what failed, at first and at most: a full disk may have room by then."""

Look = Callable[[str], Awaitable[Seconds | None]]
"""Looks at a key and does what is to be done; returns when to look again, if nobody asks before that."""

_log = log.get(__name__)


class Upkeep:
    """Looks at keys, one after the other, each as often as it takes."""

    def __init__(self, look: Look, clock: Clock, *, failure: str) -> None:
        self._look = look
        self._clock = clock
        self._failure = failure
        """What to say in the log when a look fails."""
        self._asked: dict[str, None] = {}
        """What has to be looked at, the first to be asked for first."""
        self._woken = asyncio.Event()
        self._timers: dict[str, Timer] = {}
        self._failures: dict[str, int] = {}
        """How often in a row a look has failed."""

    def ask(self, key: str = "") -> None:
        """Have a key looked at soon; once, however often this is called before."""
        self._asked[key] = None
        self._woken.set()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Look at what is asked for within the block."""
        async with asyncio.TaskGroup() as tasks:
            task = tasks.create_task(self._run())
            yield
            task.cancel()
        for timer in self._timers.values():
            timer.cancel()

    async def _run(self) -> None:
        while True:
            await self._woken.wait()
            self._woken.clear()
            while self._asked:
                key = next(iter(self._asked))
                del self._asked[key]
                self._plan(key, await self._try(key))

    async def _try(self, key: str) -> Seconds | None:
        """Look at a key; return when to do so again."""
        try:
            again = await self._look(key)
        except StatusError as error:
            # It is refused until something changes. If somebody else was quicker, something just did.
            if error.reason not in ("Conflict", "NotFound"):
                _log.failure(self._failure, error, key=key)
            again = None
        except Exception as error:  # noqa: BLE001 (one key must not end the server)
            _log.failure(self._failure, error, key=key)
            failures = self._failures[key] = self._failures.get(key, 0) + 1
            return min(FIRST_RETRY * 2.0 ** min(failures - 1, 10), LAST_RETRY)
        self._failures.pop(key, None)
        return again

    def _plan(self, key: str, delay: Seconds | None) -> None:
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()
        if delay is not None:
            self._timers[key] = self._clock.call_later(delay, partial(self.ask, key))
