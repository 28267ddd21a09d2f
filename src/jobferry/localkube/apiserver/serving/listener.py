"""Connections: uvicorn's protocols, and whose certificate each client showed."""

import asyncio
import logging
import socket
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from random import Random
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from jobferry.clock import Seconds
from jobferry.errors import BadInput
from jobferry.localkube.apiserver.identity.authenticate import user_from_certificate
from jobferry.localkube.apiserver.identity.folder import MOST_PORT, Keys, unusable
from jobferry.localkube.apiserver.requests import body
from jobferry.localkube.apiserver.serving.app import HOLDS, TLS, USER, App
from jobferry.localkube.apiserver.timeouts import Timeouts

MOST_HEAD = 1 << 20
"""How many bytes the head of a request may have, as for kube-apiserver."""

MOST_URL = (1 << 16) - 1
"""How long a URL may be for the parser that uvicorn asks."""

_TOO_LARGE = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"Connection: close\r\nContent-Length: 0\r\n\r\n"
)

PORTS = range(20000, 32768)
"""Below what Linux and macOS give to outgoing connections: a port stays free while its server restarts."""
PORT_TRIES = 20

Peer = dict[Any, Any]
"""Whose certificate a client showed, and from when until when it holds (seconds since 1970)."""

_OF_CLIENTS = frozenset(
    (
        "Invalid HTTP request received.",
        "ASGI callable returned without completing handshake.",  # the client went before
    )
)
"""What uvicorn says about clients."""

_NO_CHECK_TIME = ssl.VerifyFlags(0x200000)
"""X509_V_FLAG_NO_CHECK_TIME of OpenSSL, for which Python has no name."""


class _Http(HttpToolsProtocol):
    """Tells the application whose certificate the client showed."""

    peer: Peer
    head_timer: asyncio.TimerHandle | None = None
    """Runs while we wait for the head of a request to be complete."""
    head_size = 0
    running: RequestResponseCycle | None = None
    """The request that is being answered; `cycle` is the newest that came."""

    def __init__(self, head_within: Seconds, **given: Any) -> None:
        super().__init__(**given)
        self.head_within = head_within

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.peer = peer_of(transport)
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)
        if self.running is not None:
            self.running.disconnected = not self.running.response_complete
            self.running.message_event.set()
        # They refer to us; together we would stay until the collector comes, and it comes seldom.
        self.pipeline.clear()
        self.cycle = self.running = None  # type: ignore[assignment]

    def handle_websocket_upgrade(self) -> None:
        super().handle_websocket_upgrade()
        self.parser = None  # type: ignore[assignment]  # likewise

    def data_received(self, data: bytes) -> None:
        if self.head_timer is not None:
            self.head_size += len(data)
            if self.head_size > MOST_HEAD:
                self._stop_waiting()
                self.transport.write(_TOO_LARGE)
                self.transport.close()
                return
        super().data_received(data)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.scope["extensions"] = {TLS: self.peer}
        if self.head_timer is None:  # else it is the first of the connection
            self._await_head()

    def on_headers_complete(self) -> None:
        self._stop_waiting()
        whole = self.url
        if len(whole) <= MOST_URL:
            super().on_headers_complete()
            return
        # The parser of URLs has no room for a long selector; it has nothing to find in a query.
        self.url, _, query = whole.partition(b"?")
        super().on_headers_complete()
        self.url, self.scope["query_string"] = whole, query

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self.running = cycle
        super()._start_asgi_task(cycle, app)

    def _await_head(self) -> None:
        self.head_size = 0
        self.head_timer = self.loop.call_later(self.head_within, self.transport.close)

    def _stop_waiting(self) -> None:
        if self.head_timer is not None:
            self.head_timer.cancel()
            self.head_timer = None

    def send_400_response(self, msg: str) -> None:
        super().send_400_response("400 Bad Request")

    def _should_upgrade(self) -> bool:
        # The library that speaks WebSocket breaks at any other method.
        return self.scope["method"] == "GET" and super()._should_upgrade()

    def _unsupported_upgrade_warning(self) -> None:
        """Say nothing, for the client is told; what it sends after that is not HTTP."""
        self.cycle.keep_alive = False


def _websocket(**given: Any) -> asyncio.Protocol:
    """Return what goes on with a connection that becomes a WebSocket: few do, and few need the library."""
    from jobferry.localkube.apiserver.serving.websocket_protocol import (  # noqa: PLC0415 (heavy)
        WebSocket,
    )

    return WebSocket(peer_of, **given)


def peer_of(transport: asyncio.BaseTransport) -> Peer:
    """Return whose certificate the client of a connection showed."""
    connection = transport.get_extra_info("ssl_object")
    certificate = connection.getpeercert() if connection is not None else None
    if not certificate:
        return {}
    return {
        USER: user_from_certificate(certificate, connection.getpeercert(True)),
        HOLDS: tuple(
            ssl.cert_time_to_seconds(certificate[name]) for name in ("notBefore", "notAfter")
        ),
    }


def tls(keys: Keys) -> ssl.SSLContext:
    """Return how the server shows itself and which clients it knows: those of its own authority."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(keys.server, keys.server_key)
        context.load_verify_locations(keys.authority)
    except OSError as error:  # also that of ssl
        raise unusable(keys.folder, error) from error
    context.verify_mode = ssl.CERT_OPTIONAL
    # A certificate out of its time is for the application to refuse: with 401, as kube-apiserver does.
    context.verify_flags |= _NO_CHECK_TIME
    context.set_alpn_protocols(["http/1.1"])
    return context


@contextmanager
def bound(
    host: str,
    port: int,
    *,
    random: Random,
    hint: str = "Choose another port, or end what listens there.",
) -> Iterator[socket.socket]:
    """Take a port within the block, 0 being any that is free; nobody is answered yet. `hint`: if it cannot be had."""
    if not 0 <= port <= MOST_PORT:
        raise BadInput(f"{port}: ports are numbers from 0 to {MOST_PORT}")
    try:
        door = _opened(host, port, random)
    except OSError as error:
        raise BadInput(
            f"{host}:{port}: cannot listen: {error.strerror or error}", hint=hint
        ) from error
    with door:
        door.setblocking(False)
        yield door


def _opened(host: str, port: int, random: Random) -> socket.socket:
    family, *_, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    address = str(place[0])
    for tried in () if port else random.sample(PORTS, k=PORT_TRIES):
        with suppress(OSError):
            return socket.create_server((address, tried), family=family, backlog=2048)
    return socket.create_server((address, port), family=family, backlog=2048)


@asynccontextmanager
async def listening(
    app: App, door: socket.socket, context: ssl.SSLContext, timeouts: Timeouts
) -> AsyncIterator[None]:
    """Serve connections within the block; at its end, streams are ended, which would not end by themselves."""
    config = uvicorn.Config(
        app,
        http=_Http,
        ws=_websocket,  # type: ignore[arg-type]  # anything that makes a protocol will do
        lifespan="off",
        log_config=None,
        access_log=False,
        timeout_keep_alive=int(timeouts.idle),
        proxy_headers=False,
        ws_max_size=body.LIMIT,
        ws_per_message_deflate=False,  # the Go clients of Kubernetes have none
        ws_ping_interval=timeouts.ping,
        # A client that is held back by a slow process does not hear us and cannot answer.
        # One that is gone makes the ping fail.
        ws_ping_timeout=None,
    )
    config.load()
    logging.getLogger("uvicorn.error").addFilter(_is_ours)
    state = ServerState()
    server = await asyncio.get_running_loop().create_server(
        lambda: _Http(timeouts.head, config=config, server_state=state, app_state={}),
        sock=door,
        ssl=context,
    )
    try:
        yield
    finally:
        server.close()
        app.end_streams()
        await _end(state, timeouts.end)


def _is_ours(record: logging.LogRecord) -> bool:
    """Tell what is worth a line in our log from what clients do wrong: they could fill the disk with it."""
    return record.getMessage() not in _OF_CLIENTS


async def _end(state: ServerState, within: Seconds) -> None:
    """End all connections: idle ones at once, others when their request is answered, or soon."""
    for connection in list(state.connections):
        connection.shutdown()
    if state.tasks:
        await asyncio.wait(state.tasks, timeout=within)
    for task in list(state.tasks):
        task.cancel()
    if state.tasks:
        await asyncio.wait(state.tasks)
    for connection in list(state.connections):
        connection.transport.abort()
    await asyncio.sleep(0)  # noqa: TID251 (lets the loop close what was aborted; takes no time)
