"""When an exec plugin is run, and how long what it issued is kept."""

import asyncio
import math

from jobferry.clock import Clock, Seconds
from jobferry.errors import Error
from jobferry.kube.access import Identity
from jobferry.kube.exec_plugin import Issued, Plugin

FAILURE_STANDS: Seconds = 5.0
"""So long a failure answers everybody: a hundred waiting requests do not run a broken plugin in turn."""

REFRESH_PAUSE: Seconds = 10.0
"""A plugin that keeps giving what the server refuses is not run more often than this."""


class ExecCredentials:
    """What a plugin issued, kept until shortly before it expires or the server refuses it."""

    def __init__(self, plugin: Plugin, clock: Clock) -> None:
        self._plugin = plugin
        self._clock = clock
        self._asking = asyncio.Lock()
        self._issued: Issued | None = None
        self._failure: Error | None = None
        self._failed_at: Seconds = -math.inf
        self._rejected_at: Seconds = -math.inf

    async def identity(self) -> Identity:
        """Return what was issued last, or run the plugin: once, however many ask."""
        async with self._asking:
            if self._issued is None or not self._issued.is_fresh(self._clock.now()):
                self._issued = await self._ask()
            return self._issued.identity

    async def _ask(self) -> Issued:
        if self._failure and self._clock.monotonic() - self._failed_at < FAILURE_STANDS:
            raise self._failure.with_traceback(None)
        try:
            return await self._plugin.ask(self._clock)
        except Error as error:
            self._failure, self._failed_at = error, self._clock.monotonic()
            raise

    def reject(self, identity: Identity) -> bool:
        """Forget what was refused, unless that was just done in vain."""
        if self._issued is None or self._issued.identity != identity:
            return True  # another request has seen to it
        if self._clock.monotonic() - self._rejected_at < REFRESH_PAUSE:
            return False
        self._issued, self._rejected_at = None, self._clock.monotonic()
        return True
