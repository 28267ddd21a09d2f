"""One HTTP/1.1 connection, one exchange at a time: the only module that knows the HTTP library.

The library parses; this module writes requests and keeps what comes back until somebody reads it. Why
not a whole client library: docs/decisions/0002-http-client.md.
"""

import asyncio
import ssl
from collections.abc import Callable
from math import inf
from typing import cast

import httptools

from jobferry.clock import Seconds
from jobferry.errors import BadInput, Error
from jobferry.kube import errors
from jobferry.kube.wire import Answer, Request

HIGH_WATER = 1 << 20
"""Bytes of an unread body at which the peer is made to wait."""

PACE: Seconds = 0.005
"""A stream of which more came within this time is left alone for as long: reading it costs far more than what
is in it, and what comes meanwhile is taken together. One that is quieter is read at once."""

MOST_BESIDES = 1 << 18
"""Bytes that may come in a row without any of a body among them: heads, announcements, trailers."""

WEIGHT = 64
"""Bytes that a part of a body takes besides its own: it may come in very many parts."""

INFORMATIONAL = 200
"""Codes below it announce an answer; they are none."""


class Reply:
    """The answer to one request, as far as it has come in; who wants all of it gets no more than `longest`."""

    def __init__(self, resume: Callable[[], None], longest: int) -> None:
        self.code = 0
        self.headers: dict[str, str] = {}
        self.has_head = False
        self.is_complete = False
        self.size = 0
        self._chunks: list[bytes] = []
        self._error: Error | None = None
        self._resume = resume
        self._waiter: asyncio.Future[None] | None = None
        self._wants_all = False
        self._longest = longest
        self._weight = 0

    async def head(self) -> None:
        """Wait for the code and the headers."""
        while not self.has_head:
            await self._more()

    async def read(self) -> bytes:
        """Wait for more of the body and return all that has come; empty at its end."""
        while not self._chunks and not self.is_complete:
            await self._more()
        return self._take()

    async def whole(self) -> Answer:
        """Wait for the end and return it all."""
        self._wants_all = True
        while not self.is_complete:
            await self._more()
        return Answer(self.code, self.headers, self._take())

    @property
    def is_stream(self) -> bool:
        """Whether the body is read while it comes in."""
        return self.has_head and not self._wants_all and not self.is_complete

    @property
    def is_too_full(self) -> bool:
        """Whether the peer should wait until somebody has read."""
        return self.size > HIGH_WATER and self.is_stream

    def check_length(self) -> None:
        """Raise `errors.TooLong` if what is announced is too much for who wants all of it."""
        announced = self.headers.get("content-length", "")
        if self._wants_all and announced.isdecimal() and int(announced) > self._longest:
            raise self._too_long()

    def add(self, chunk: bytes) -> None:
        """Take in a part of the body; raises `errors.TooLong`."""
        self._chunks.append(chunk)
        self.size += len(chunk)
        self._weight += len(chunk) + WEIGHT
        if not self._wants_all:
            self.wake()
        elif self._weight > self._longest + WEIGHT:
            raise self._too_long()

    def complete(self) -> None:
        """Take note that nothing more will come."""
        self.is_complete = True
        self.wake()

    def fail(self, error: Error) -> None:
        """Raise `error` at whoever waits, once what has come before is read."""
        self._error = error
        self.wake()

    def wake(self) -> None:
        """Let whoever waits look again."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _too_long(self) -> errors.TooLong:
        self._chunks.clear()
        return errors.TooLong(f"the answer is longer than {self._longest} bytes")

    async def _more(self) -> None:
        if self._error is not None:
            raise self._error
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _take(self) -> bytes:
        chunks, self._chunks = self._chunks, []
        was_too_full, self.size = self.is_too_full, 0
        if was_too_full:
            self._resume()
        return chunks[0] if len(chunks) == 1 else b"".join(chunks)


class Connection(asyncio.Protocol):
    """An open connection to one server.

    `host` is what the Host header says; `prefix` goes before every path, for servers behind others.
    """

    def __init__(self, host: str, prefix: str = "") -> None:
        self.is_open = False
        self._host = host
        self._prefix = prefix
        self._transport: asyncio.Transport | None = None
        self._source: asyncio.Transport | None = None
        self._read_at: Seconds = -inf
        self._is_paused = False
        self._pause_end: asyncio.TimerHandle | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._reply: Reply | None = None
        self._ends_with_connection = False
        self._besides = 0
        self._end: Error = errors.Unreachable("the connection was already closed")

    @property
    def is_idle(self) -> bool:
        """Whether the next exchange may begin."""
        is_closing = self._transport is None or self._transport.is_closing()
        return self.is_open and self._reply is None and not is_closing

    def ask(self, request: Request) -> Reply:
        """Send a request; its reply fills up as the answer comes in."""
        data = encode(request, self._host, self._prefix)
        self._reply = reply = Reply(self._resume, request.longest)
        self._besides = 0
        if self._transport is None or not self.is_open:
            reply.fail(self._end)
        elif not self._transport.is_closing():  # else its loss is on the way, and says why
            self._transport.write(data)
        return reply

    def secure(self, transport: asyncio.Transport) -> None:
        """Write through TLS from now on; reading is still paused and resumed below it."""
        self._transport = transport

    def close(self) -> None:
        """Drop the connection at once, whatever is under way."""
        self.is_open = False
        self._end_pause()
        if self._transport is not None:
            self._transport.abort()

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the way to write, and to make the peer wait."""
        self._transport = self._source = cast("asyncio.Transport", transport)
        self.is_open = True

    def data_received(self, data: bytes) -> None:
        """Parse what came; the parser calls the methods below."""
        self._besides += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._hang_up(errors.Unreachable(f"the server does not speak HTTP/1.1: {error}"))
        if self._besides > MOST_BESIDES and self._reply is not None:
            self._hang_up(errors.TooLong(f"more than {MOST_BESIDES} bytes came without a body"))
        if self._reply is not None and self._reply.is_stream:
            self._pause()

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell whoever waits for the rest of an answer."""
        self.is_open = False
        self._end = lost(exc)
        reply = self._reply
        if reply is not None and reply.has_head and self._ends_with_connection and exc is None:
            self.on_message_complete()
        else:
            self._fail(self._end)

    # What the parser calls.

    def on_message_begin(self) -> None:
        """Hang up on an answer that nobody asked for: it would be taken for the next one."""
        if self._reply is None:
            self.close()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep one header; what comes after the body is for nobody."""
        if self._reply is not None and not self._reply.has_head:
            self._reply.headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        """Let the waiting reader see code and headers."""
        reply = self._reply
        code = self._parser.get_status_code()
        if reply is None:
            return
        if code < INFORMATIONAL:
            reply.headers.clear()
        else:
            reply.code, reply.has_head = code, True
            self._ends_with_connection = not (
                reply.headers.keys() & {"content-length", "transfer-encoding"}
            )
            self._besides = 0
            reply.wake()
            try:
                reply.check_length()
            except errors.TooLong as error:
                self._hang_up(error)

    def on_body(self, body: bytes) -> None:
        """Pass on a part of the body."""
        self._besides = 0
        if self._reply is not None:
            try:
                self._reply.add(body)
            except errors.TooLong as error:
                self._hang_up(error)

    def on_message_complete(self) -> None:
        """Finish the exchange; the connection may serve the next one."""
        reply = self._reply
        if reply is None or not reply.has_head:
            return
        self._reply = None
        reply.complete()
        if self._parser.should_keep_alive():
            self._resume()  # the next answer is not to wait for the reader of this one
        else:
            self.close()

    def _hang_up(self, error: Error) -> None:
        self._fail(error)
        self.close()

    def _fail(self, error: Error) -> None:
        reply, self._reply = self._reply, None
        if reply is not None:
            reply.fail(error)

    def _pause(self) -> None:
        """Read no more of a busy stream for a moment; nor of one that nobody reads, until somebody has."""
        loop = asyncio.get_running_loop()
        last, self._read_at = self._read_at, loop.time()
        is_busy = self._read_at - last < 2 * PACE  # of which one may have been a pause
        is_full = self._reply is not None and self._reply.is_too_full
        if self._source is None or not self.is_open or self._is_paused:
            return
        if is_busy or is_full:
            self._is_paused = True
            self._source.pause_reading()
            self._pause_end = loop.call_later(PACE, self._resume)

    def _resume(self) -> None:
        if not self._is_paused or (self._reply is not None and self._reply.is_too_full):
            return
        self._end_pause()
        if self._source is not None and not self._source.is_closing():
            self._source.resume_reading()

    def _end_pause(self) -> None:
        self._is_paused = False
        if self._pause_end is not None:
            self._pause_end.cancel()
            self._pause_end = None


def lost(exc: Exception | None) -> Error:
    """Say why a connection ended before its answer did."""
    if isinstance(exc, ssl.SSLError) and "ALERT" in (exc.reason or ""):
        # In TLS 1.3 a server looks at our certificate only when the connection is already set up.
        return errors.Untrusted(f"the server ended TLS: {exc.reason}")
    return errors.Unreachable(
        f"the connection was lost: {exc}" if exc else "the server closed the connection"
    )


def encode(request: Request, host: str, prefix: str = "") -> bytes:
    """Write a request as HTTP/1.1 has it."""
    lines = [f"{request.method} {prefix}{request.target} HTTP/1.1", f"Host: {host}"]
    lines += [f"{name}: {value}" for name, value in request.headers]
    if request.identity.authorization is not None:
        lines.append(f"Authorization: {request.identity.authorization}")
    if request.body or request.method in {"POST", "PUT", "PATCH"}:
        lines.append(f"Content-Length: {len(request.body)}")
    if any("\r" in line or "\n" in line for line in lines):
        raise BadInput("a token, header or path holds a line break, which HTTP cannot carry")
    # UTF-8, as API servers take it: the name of an impersonated user must not become another one.
    return "\r\n".join([*lines, "", ""]).encode() + request.body
