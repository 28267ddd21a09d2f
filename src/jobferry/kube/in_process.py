"""Calls an ASGI application in the same process: a transport without a socket."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import unquote

from jobferry.clock import Clock, Seconds, timeout
from jobferry.kube import errors
from jobferry.kube.wire import Answer, Request, Stream

Message = MutableMapping[str, Any]
App = Callable[
    [
        MutableMapping[str, Any],
        Callable[[], Awaitable[Message]],
        Callable[[Message], Awaitable[None]],
    ],
    Awaitable[None],
]

WAITING = 64
"""Messages that an application may send before it has to wait for the reader."""


class InProcessTransport:
    """Hands requests to `app`; `extensions` tells it who calls, since there is no TLS to tell it."""

    def __init__(
        self, app: App, clock: Clock, extensions: Mapping[str, Any] | None = None
    ) -> None:
        self._app = app
        self._clock = clock
        self._extensions = dict(extensions or {})
        self._running: set[asyncio.Future[None]] = set()

    async def send(self, request: Request, *, within: Seconds) -> Answer:
        """Send and wait for the whole answer."""
        try:
            async with timeout(self._clock, within), self._run(request) as reply:
                await reply.head()
                parts = []
                while part := await reply.read():
                    parts.append(part)
                return Answer(reply.code, reply.headers, b"".join(parts))
        except TimeoutError as error:
            raise errors.Timeout(f"no answer within {within:g} s") from error

    @asynccontextmanager
    async def stream(self, request: Request, *, within: Seconds) -> AsyncIterator[Stream]:
        """Send and wait for the head of the answer; leaving the block tells the app to stop."""
        async with self._run(request) as reply:
            try:
                async with timeout(self._clock, within):
                    await reply.head()
            except TimeoutError as error:
                raise errors.Timeout(f"no answer within {within:g} s") from error
            yield reply

    async def close(self) -> None:
        """End what the application still does for callers that have gone."""
        for running in self._running:
            running.cancel()
        if self._running:
            await asyncio.wait(self._running)

    @asynccontextmanager
    async def _run(self, request: Request) -> AsyncIterator["_Reply"]:
        reply = _Reply(request.body)
        running = asyncio.ensure_future(self._serve(request, reply))
        self._running.add(running)
        running.add_done_callback(self._running.discard)
        try:
            yield reply
        finally:
            # As over a socket, the application is told and may finish; nobody tears it out of a write.
            reply.hang_up()

    async def _serve(self, request: Request, reply: "_Reply") -> None:
        problem = "the application ended without a whole answer"
        try:
            await self._app(self._scope(request), reply.receive, reply.send)
        except Exception as error:  # noqa: BLE001 (whatever an app raises, its caller must hear of it)
            problem = f"the application failed: {error!r}"
        finally:
            reply.fail(errors.Unreachable(problem))

    def _scope(self, request: Request) -> Message:
        path, _, query = request.target.partition("?")
        headers = [*request.headers, ("Content-Length", str(len(request.body)))]
        if request.identity.authorization is not None:
            headers.append(("Authorization", request.identity.authorization))
        return {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.4"},
            "http_version": "1.1",
            "method": request.method,
            "scheme": "http",
            "path": unquote(path),
            "raw_path": path.encode("ascii"),
            "query_string": query.encode("ascii"),
            "root_path": "",
            "headers": [(name.lower().encode(), value.encode()) for name, value in headers],
            "client": None,
            "server": None,
            "extensions": dict(self._extensions),
        }


class _Reply:
    """The two ends of one exchange: what the application sends, the caller reads."""

    def __init__(self, body: bytes) -> None:
        self.code = 0
        self.headers: dict[str, str] = {}
        self._body: bytes | None = body
        self._gone = asyncio.Event()
        self._room = asyncio.Semaphore(WAITING)
        self._messages: asyncio.Queue[Message | errors.Unreachable] = asyncio.Queue()
        self._expects = "http.response.start"
        self._error: errors.Unreachable | None = None
        self._ended = False

    async def head(self) -> None:
        """Wait for the code and the headers."""
        message = await self._next()
        self.code = message["status"]
        self.headers = {
            name.decode("latin-1").lower(): value.decode("latin-1")
            for name, value in message.get("headers", ())
        }

    async def read(self) -> bytes:
        """Wait for more of the body; empty at its end."""
        while not self._ended:
            message = await self._next()
            self._ended = not message.get("more_body", False)
            if body := message.get("body", b""):
                return bytes(body)
        return b""

    async def receive(self) -> Message:
        """Give the application the body, then, when the caller leaves, the news of that."""
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        """Take a message from the application; wait when the caller is slow."""
        if message["type"] != self._expects:
            raise RuntimeError(f"{message['type']} where {self._expects} was expected")
        self._expects = "http.response.body"
        if not self._gone.is_set():
            await self._room.acquire()
        if self._gone.is_set():
            raise OSError("the caller has gone")
        self._messages.put_nowait(message)

    def hang_up(self) -> None:
        """Tell the application that nobody reads any more."""
        self._gone.set()
        self._room.release()

    def fail(self, error: errors.Unreachable) -> None:
        """Raise `error` at the reader, after what was sent before it."""
        self._messages.put_nowait(error)

    async def _next(self) -> Message:
        if self._error is None:
            message = await self._messages.get()
            self._room.release()
            if not isinstance(message, errors.Unreachable):
                return message
            self._error = message
        raise self._error
