"""What is heard of a cluster: when it last answered, and by how much its clock is off from ours.

Every answer counts, whatever it says, and so does every byte of a watch. Of a cluster that has fallen silent
(`heartbeat` finds out) nobody waits for an answer any longer than that.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    nullcontext,
)
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from types import TracebackType

from jobferry.clock import Clock, Seconds
from jobferry.kube import errors
from jobferry.kube.wire import Answer, Request, Stream, Transport

REFUSALS = frozenset({401, 403})
"""Answers of a cluster that is there, but will not have us."""

MEASURE_EVERY: Seconds = 10.0
"""How often the clock of a cluster is compared with ours."""

PROMPT: Seconds = 1.0
"""An answer that took longer says too little about what time it was written at."""

NOTABLE = timedelta(seconds=2)
"""Clocks that differ by less are taken for equal: the header Date has whole seconds."""


class Unheard(errors.Timeout):
    """The cluster has fallen silent: whoever waited for it need not wait on."""


class Hearing:
    """What was heard of one cluster, over all connections to it."""

    def __init__(self, clock: Clock) -> None:
        self.skew = timedelta()
        """How much later it is there than here, by the clocks."""
        self.on_return: Callable[[], None] | None = None
        """Called by the first answer, other than a refusal, of a cluster that was `missed`."""
        self.is_shut = False
        """Whether nothing is sent there: what would be fails at once."""
        self._clock = clock
        self._heard = self._welcome = clock.monotonic()
        self._measured = -MEASURE_EVERY
        # In the order in which they began, which is the one in which they are let go of.
        self._waiting: dict[Waiting, None] = {}
        self._streams: dict[Stream, None] = {}
        self._is_missed = False
        self._returned = asyncio.Event()

    def silence(self) -> Seconds:
        """Return how long ago it last answered anything; or since when we listen, if it never has."""
        return self._clock.monotonic() - self._heard

    def welcome(self) -> datetime:
        """Return when it last answered anything but that it will not have us."""
        ago = self._clock.monotonic() - self._welcome
        return self._clock.now() - timedelta(seconds=ago)

    async def returned(self) -> None:
        """Wait until it is heard again after it was missed."""
        await self._returned.wait()

    # Answers

    def hear(self, code: int) -> None:
        """Take note of an answer, or of a part of one."""
        self._heard = self._clock.monotonic()
        if code in REFUSALS:
            self.is_shut = False
            return
        self._welcome = self._heard
        if self._is_missed:
            self._return()

    def measure(self, headers: Mapping[str, str], began: Seconds) -> None:
        """Compare its clock with ours, by an answer that was asked for at `began`."""
        now = self._clock.monotonic()
        if now - self._measured < MEASURE_EVERY or now - began > PROMPT:
            return
        try:
            there = parsedate_to_datetime(headers["date"]) + timedelta(seconds=0.5)
            skew = there - (self._clock.now() - timedelta(seconds=(now - began) / 2))
        except (KeyError, ValueError, TypeError, OverflowError):
            return
        self._measured = now
        if abs(skew) < NOTABLE:
            self.skew = timedelta()
        elif abs(skew - self.skew) >= NOTABLE:
            self.skew = timedelta(seconds=round(skew.total_seconds()))

    def forgive(self, seconds: Seconds) -> None:
        """Take note that we did not listen for so long: its silence meanwhile means nothing."""
        now = self._clock.monotonic()
        self._heard = min(now, self._heard + seconds)
        self._welcome = min(now, self._welcome + seconds)

    # Silence

    def miss(self) -> None:
        """Have it told when it is heard again."""
        self._is_missed = True

    def shut(self) -> None:
        """Let go of all requests that wait for an answer, and send none until it is heard again."""
        self.is_shut = True
        for each in [*self._waiting]:
            each.let_go()

    def hang_up(self) -> None:
        """Let go of all watches: how far they have got is known."""
        self.reopen()
        for stream in [*self._streams]:
            stream.fail(self.unheard())

    def reopen(self) -> None:
        """Let go of watches that are being opened: another connection may be better."""
        for each in [*self._waiting]:
            if each.is_for_stream:
                each.let_go()

    def unheard(self) -> Unheard:
        """Say since when nothing was heard."""
        return Unheard(f"nothing was heard of it for {self.silence():.0f} s")

    def _return(self) -> None:
        self._is_missed = self.is_shut = False
        self._returned.set()
        self._returned = asyncio.Event()
        if self.on_return is not None:
            self.on_return()

    # For the transport

    def begin(self, waiting: "Waiting") -> None:
        """Keep a request that waits for an answer, so that it can be let go of."""
        self._waiting[waiting] = None

    def end(self, waiting: "Waiting") -> None:
        """Take note that a request waits no more."""
        self._waiting.pop(waiting, None)

    def open(self, stream: Stream) -> None:
        """Keep an open watch, so that it can be let go of."""
        self._streams[stream] = None

    def close(self, stream: Stream) -> None:
        """Take note that a watch is over."""
        self._streams.pop(stream, None)


class Waiting(AbstractAsyncContextManager[None]):
    """The block in which a request waits for its answer: it raises `Unheard` when it is let go of.

    A class, since every request has one, and generators take twice as long.
    """

    __slots__ = ("_hearing", "_scope", "is_for_stream")

    def __init__(self, hearing: Hearing, *, is_for_stream: bool) -> None:
        self.is_for_stream = is_for_stream
        self._hearing = hearing
        self._scope = asyncio.timeout(None)  # never set by time

    def let_go(self) -> None:
        """Raise out of the block."""
        self._hearing.end(self)
        self._scope.reschedule(0)

    async def __aenter__(self) -> None:
        if self._hearing.is_shut:
            raise self._hearing.unheard()
        await self._scope.__aenter__()
        self._hearing.begin(self)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._hearing.end(self)
        try:
            await self._scope.__aexit__(kind, error, traceback)
        except TimeoutError as timeout:
            raise self._hearing.unheard() from timeout


class HeardTransport:
    """Hands requests to another transport and hears the answers; `insists`: also while nothing is to be sent."""

    def __init__(
        self, inner: Transport, hearing: Hearing, clock: Clock, *, insists: bool = False
    ) -> None:
        self._inner = inner
        self._hearing = hearing
        self._clock = clock
        self._insists = insists

    def insisting(self) -> "HeardTransport":
        """Return the same transport for those who ask whether the cluster is still silent."""
        return HeardTransport(self._inner, self._hearing, self._clock, insists=True)

    async def send(self, request: Request, *, within: Seconds) -> Answer:
        """Send and wait for the whole answer."""
        began = self._clock.monotonic()
        async with self._waiting(is_for_stream=False):
            answer = await self._inner.send(request, within=within)
        self._hearing.hear(answer.code)
        self._hearing.measure(answer.headers, began)
        return answer

    @asynccontextmanager
    async def stream(self, request: Request, *, within: Seconds) -> AsyncIterator[Stream]:
        """Send and wait for the head of the answer; leaving the block drops the rest."""
        async with AsyncExitStack() as stack:
            async with self._waiting(is_for_stream=True):
                stream = await stack.enter_async_context(
                    self._inner.stream(request, within=within)
                )
            self._hearing.hear(stream.code)
            heard = _Heard(stream, self._hearing)
            self._hearing.open(heard)
            try:
                yield heard
            finally:
                self._hearing.close(heard)

    async def close(self) -> None:
        """Drop every connection."""
        await self._inner.close()

    def _waiting(self, *, is_for_stream: bool) -> AbstractAsyncContextManager[None]:
        if self._insists:
            return nullcontext()
        return Waiting(self._hearing, is_for_stream=is_for_stream)


class _Heard:
    """A stream of which every part is heard."""

    def __init__(self, stream: Stream, hearing: Hearing) -> None:
        self.code, self.headers = stream.code, stream.headers
        self._stream = stream
        self._hearing = hearing

    async def read(self) -> bytes:
        """Wait for more of the body and return all that has come; empty at its end."""
        data = await self._stream.read()
        if data:
            self._hearing.hear(self.code)
        return data

    def fail(self, error: errors.Unreachable) -> None:
        """Raise `error` at the reader, after what has come before."""
        self._stream.fail(error)
