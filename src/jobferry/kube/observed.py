"""Tells how every request to a cluster went, without a request knowing of it."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

from jobferry.clock import Clock, Seconds
from jobferry.kube.wire import Answer, Request, Stream, Transport

Observe = Callable[[str, str, int, Seconds], None]
"""Hears of a request: the cluster's name, the method, the code of the answer, how long it took."""

NO_ANSWER = 0
"""In place of a code: the server could not be reached, or nobody waited for it any longer."""


class ObservedTransport:
    """Hands requests to another transport; each one counts, also those that are sent again."""

    def __init__(
        self, inner: Transport, observe: Observe, *, cluster: str, clock: Clock
    ) -> None:
        self._inner = inner
        self._observe = observe
        self._cluster = cluster
        self._clock = clock

    async def send(self, request: Request, *, within: Seconds) -> Answer:
        """Send and wait for the whole answer."""
        began, code = self._clock.monotonic(), NO_ANSWER
        try:
            answer = await self._inner.send(request, within=within)
            code = answer.code
            return answer
        finally:
            self._tell(request, code, began)

    @asynccontextmanager
    async def stream(self, request: Request, *, within: Seconds) -> AsyncIterator[Stream]:
        """Send and wait for the head of the answer, which is when it is told of."""
        began, code = self._clock.monotonic(), NO_ANSWER
        async with AsyncExitStack() as stack:
            try:
                stream = await stack.enter_async_context(
                    self._inner.stream(request, within=within)
                )
                code = stream.code
            finally:
                self._tell(request, code, began)
            yield stream

    async def close(self) -> None:
        """Drop every connection."""
        await self._inner.close()

    def _tell(self, request: Request, code: int, began: Seconds) -> None:
        took = self._clock.monotonic() - began
        self._observe(self._cluster, request.method, code, took)
