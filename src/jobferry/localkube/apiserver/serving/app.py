"""The ASGI application: from a request to its answer.

Authenticate, find out what is asked, authorise, make room, answer. What goes wrong on the way is a Status.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping
from contextlib import AbstractAsyncContextManager, aclosing, nullcontext
from datetime import datetime
from email.utils import format_datetime
from functools import lru_cache
from typing import Any

from jobferry import log
from jobferry.clock import timeout
from jobferry.localkube.apiserver import status
from jobferry.localkube.apiserver.access.attributes import Attributes
from jobferry.localkube.apiserver.access.impersonation import impersonated
from jobferry.localkube.apiserver.access.rbac import require
from jobferry.localkube.apiserver.handlers import pacing, routing
from jobferry.localkube.apiserver.handlers.backend import Backend
from jobferry.localkube.apiserver.handlers.routing import Handler, SpecialKey
from jobferry.localkube.apiserver.identity.authenticate import (
    IGNORED,
    Authenticator,
    is_ignored,
)
from jobferry.localkube.apiserver.identity.user import ANONYMOUS, User
from jobferry.localkube.apiserver.requests import accept, body, options, target
from jobferry.localkube.apiserver.requests.call import Answer, Call, answer_error
from jobferry.localkube.apiserver.requests.session import Session
from jobferry.localkube.apiserver.serving import warnings, websockets
from jobferry.localkube.apiserver.serving.audit import Audit
from jobferry.localkube.apiserver.serving.limits import Room
from jobferry.localkube.apiserver.serving.meters import Meters
from jobferry.localkube.apiserver.serving.non_resource_paths import Paths
from jobferry.localkube.apiserver.serving.websockets import AsgiSocket
from jobferry.localkube.apiserver.status import StatusError
from jobferry.localkube.apiserver.storage.errors import CommitFailed
from jobferry.objects import quantities

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

TLS, USER, HOLDS = "tls", "user", "holds"
"""The extension of a scope, and its parts, by which we are told whose certificate the client showed."""
GONE = "jobferry.gone"
"""The extension by which we are told that the client of a WebSocket went: a future."""
IN_PROCESS = "jobferry.user"
"""The extension by which a caller from within the process says who it is."""

_LONG = frozenset({"watch"})
_LONG_SUBRESOURCES = frozenset({"log", "exec", "attach", "portforward"})
_log = log.get(__name__)


class App:
    """Serves the API."""

    def __init__(
        self,
        backend: Backend,
        authenticator: Authenticator,
        special: Mapping[SpecialKey, Handler],
        paths: Paths,
        room: Room,
        meters: Meters,
        audit: Audit | None = None,
    ) -> None:
        self._backend = backend
        self._authenticator = authenticator
        self._special = special
        self._paths = paths
        self._room = room
        self._meters = meters
        self._audit = audit
        self._streams: dict[asyncio.Future[None], None] = {}

    def end_streams(self) -> None:
        """End all watches and WebSockets: their clients come again elsewhere, or later."""
        for stream in self._streams:
            stream.cancel()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "http":
            await self._serve(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._talk(scope, receive, send)
        else:
            await _live(receive, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        call, answer = await self._answered(scope, receive)
        async with _closing(answer):
            await self._reply(answer, call, scope, receive, send)

    async def _talk(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request for a WebSocket: where there is none to be had, the answer is a plain one."""
        await receive()  # that there is a client, which we know
        call, answer = await self._answered({**scope, "method": "GET"}, receive)
        async with _closing(answer):
            if answer.session is not None:
                await self._converse(answer.session, AsgiSocket(receive, send), scope)
                return
        answer = websockets.plain(answer)
        await websockets.refuse(answer, _head(answer, call), send)

    async def _converse(self, session: Session, socket: AsgiSocket, scope: Scope) -> None:
        """Hold a session until it ends, or the client goes, or the server does."""
        running = asyncio.ensure_future(websockets.hold(session, socket))
        self._streams[running] = None
        gone = (scope.get("extensions") or {}).get(GONE)
        ends = (running,) if gone is None else (running, gone)
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._streams.pop(running, None)
            running.cancel()
            await asyncio.wait((running,))
        if not running.cancelled() and (error := running.exception()):
            _log.failure("A WebSocket failed", error, path=scope["path"])

    async def _answered(self, scope: Scope, receive: Receive) -> tuple[Call | None, Answer]:
        """Find the answer to a request, whatever it is, and note it."""
        # Of a header that is there twice the first counts, as for Go.
        headers = {
            name.decode("latin-1"): value.decode("latin-1")
            for name, value in reversed(scope["headers"])
        }
        call: Call | None = None
        begun, received = self._meters.begin(), self._backend.clock.now()
        try:
            call = self._understood(scope, headers)
            answer = await self._answer(call, scope, receive)
        except StatusError as error:
            answer = answer_error(error, call)
        except quantities.OutOfRange as error:
            answer = answer_error(status.bad_request(str(error)), call)
        except RecursionError:
            answer = answer_error(status.bad_request("json: exceeded max depth"))
        except CommitFailed as error:
            _log.failure("A write was not stored", error, path=scope["path"])
            answer = answer_error(status.internal(str(error)))
        except Exception as error:  # noqa: BLE001 (whatever goes wrong, the client must hear of it)
            _log.failure("A request failed", error, path=scope["path"])
            answer = answer_error(status.internal("see the log of the server"))
        self._meters.end(begun, call, answer.code)
        number = headers.get("audit-id") or self._backend.new_uid()
        answer.headers += (
            ("Audit-Id", number),
            ("Date", _date(received.replace(microsecond=0))),
        )
        if self._audit is not None and call is not None:
            uri = scope["path"] + (
                f"?{query}" if (query := scope["query_string"].decode("latin-1")) else ""
            )
            self._audit.write(call, number, uri, answer.code, received)
        return call, answer

    def _understood(self, scope: Scope, headers: Mapping[str, str]) -> Call:
        """Find out who asks for what."""
        raw_path = (scope.get("raw_path") or scope["path"].encode()).decode("latin-1")
        query = target.query_of(scope["query_string"].decode("latin-1"))
        wanted = target.find(scope["method"], raw_path.partition("?")[0], query)
        if not _is_long(wanted):
            options.check_timeout(query)
        user = self._caller(scope, headers)
        call = Call(
            method=scope["method"],
            query=query,
            headers=headers,
            body=b"",
            target=wanted,
            user=impersonated(scope["headers"], user, self._backend.decide),
            protocols=scope["subprotocols"] if scope["type"] == "websocket" else None,
        )
        if user is ANONYMOUS and is_ignored(headers.get("authorization", "")):
            call.warn(IGNORED)
        return call

    def _caller(self, scope: Scope, headers: Mapping[str, str]) -> User:
        extensions = scope.get("extensions") or {}
        shown = extensions.get(TLS) or {}
        authorization = headers.get("authorization", "")
        peer = shown.get(USER)
        if peer is not None and not self._holds(shown[HOLDS]):
            if not authorization:
                raise status.unauthorized()
            peer = None
        return self._authenticator.caller(
            in_process=extensions.get(IN_PROCESS),
            peer=peer,
            authorization=authorization,
            protocols=scope.get("subprotocols", ()),
        )

    def _holds(self, certificate: tuple[float, float]) -> bool:
        begins, ends = certificate
        return begins <= self._backend.clock.now().timestamp() <= ends

    async def _answer(self, call: Call, scope: Scope, receive: Receive) -> Answer:
        self._authorise(call)
        if call.target.path.startswith("//"):
            raise status.no_page()
        if not call.target.is_resource:
            return await self._paths.answer(call)
        if _is_long(call.target):
            return await self._handle(call, scope, receive)
        with self._room.taken(reads=call.method in ("GET", "HEAD")):
            return await self._handle(call, scope, receive)

    async def _handle(self, call: Call, scope: Scope, receive: Receive) -> Answer:
        handler, resource = routing.find(self._backend, call, self._special)
        if call.target.subresource in _LONG_SUBRESOURCES:
            return await handler(self._backend, call, resource)  # no objects go in or out
        call.form = accept.form(
            call.headers.get("accept", ""),
            streams=call.target.verb in ("list", "watch"),
            tables=not routing.only_answers(call, resource),
        )
        if call.method in ("POST", "PUT", "PATCH", "DELETE"):
            call.body = await self._whole_body(call, receive)
            if body.takes_long(call):
                await self._backend.execution.run(body.read_ahead, call)
        return await routing.serve(handler, self._backend, call, resource)

    async def _whole_body(self, call: Call, receive: Receive) -> bytes:
        within = self._backend.timeouts.body
        try:
            async with timeout(self._backend.clock, within):
                return await _body(call.headers, receive)
        except TimeoutError:
            why = f"request did not complete within requested timeout - {within:g}s"
            raise status.timeout(f"Timeout: {why}") from None

    async def _reply(
        self, answer: Answer, call: Call | None, scope: Scope, receive: Receive, send: Send
    ) -> None:
        await send(_head(answer, call))
        if answer.stream is not None:
            await self._stream(answer.stream, receive, send)
            return
        content = b"" if scope["method"] == "HEAD" else answer.body
        for part in answer.rest:
            await send({"type": "http.response.body", "body": content, "more_body": True})
            content = part
            await pacing.others()  # to encrypt a part takes its time
        await send({"type": "http.response.body", "body": content})

    async def _stream(self, parts: AsyncIterator[bytes], receive: Receive, send: Send) -> None:
        """Send parts as they come, until they end, or the client goes, or the server does."""
        gone = asyncio.ensure_future(_gone(receive))
        sending = asyncio.ensure_future(_send_parts(parts, send))
        self._streams[sending] = None
        try:
            await asyncio.wait((gone, sending), return_when=asyncio.FIRST_COMPLETED)
            # What breaks off must not look complete.
            is_whole = sending.cancelled() or (sending.done() and not sending.exception())
            if is_whole and not gone.done():
                await send({"type": "http.response.body", "body": b""})
        finally:
            self._streams.pop(sending, None)
            gone.cancel()
            sending.cancel()
            await asyncio.wait((gone, sending))
        if not sending.cancelled() and (error := sending.exception()):
            raise error

    def _authorise(self, call: Call) -> None:
        about = call.target
        wanted = Attributes(
            call.user,
            about.verb,
            about.group,
            about.version,
            about.resource,
            about.subresource,
            about.namespace,
            about.name,
            about.path,
            about.is_resource,
        )
        require(self._backend.decide, wanted)


async def _body(headers: Mapping[str, str], receive: Receive) -> bytes:
    """Read a body, but not more of it than the limit."""
    length = headers.get("content-length", "")
    if length.isdigit() and int(length) > body.LIMIT:
        raise status.too_large(body.LIMIT)
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise status.bad_request("the client went away before its request was complete")
        part = message.get("body", b"")
        size += len(part)
        if size > body.LIMIT:
            raise status.too_large(body.LIMIT)
        parts.append(part)
        if not message.get("more_body"):
            return b"".join(parts)


def _is_long(wanted: target.Target) -> bool:
    """Tell whether a request may take as long as it likes, and so takes nobody's place."""
    return wanted.verb in _LONG or wanted.subresource in _LONG_SUBRESOURCES


def _head(answer: Answer, call: Call | None) -> Message:
    headers = [(name.lower().encode(), value.encode()) for name, value in answer.headers]
    if not any(name == b"cache-control" for name, _ in headers):
        headers.append((b"cache-control", b"no-cache, private"))
    if answer.content_type:
        headers.append((b"content-type", answer.content_type.encode()))
    if call is not None:
        headers += [(b"warning", line) for line in warnings.lines(call.warnings)]
    if answer.stream is None and answer.content_type:
        length = len(answer.body) + sum(map(len, answer.rest))
        headers.append((b"content-length", str(length).encode()))
    return {"type": "http.response.start", "status": answer.code, "headers": headers}


@lru_cache(maxsize=1)
def _date(moment: datetime) -> str:
    return format_datetime(moment, usegmt=True)


async def _send_parts(parts: AsyncIterator[bytes], send: Send) -> None:
    # An empty part at once: the client learns that its watch stands before anything happens.
    await send({"type": "http.response.body", "body": b"", "more_body": True})
    async for part in parts:
        if part:
            await send({"type": "http.response.body", "body": part, "more_body": True})


def _closing(answer: Answer) -> AbstractAsyncContextManager[object]:
    """Close the stream of an answer at the end of the block, also if nothing was read of it."""
    return nullcontext() if answer.stream is None else aclosing(answer.stream)  # type: ignore[type-var]


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _live(receive: Receive, send: Send) -> None:
    """Answer the server's questions about start and end: there is nothing to do for us."""
    while True:
        message = await receive()
        if message["type"] == "lifespan.startup":
            await send({"type": "lifespan.startup.complete"})
        elif message["type"] == "lifespan.shutdown":
            await send({"type": "lifespan.shutdown.complete"})
            return
