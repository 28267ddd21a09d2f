"""Connections that became WebSockets: uvicorn's protocol, with what `listener` adds to that of HTTP."""

import asyncio
from collections.abc import Callable
from typing import Any

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from jobferry.localkube.apiserver.serving.app import GONE, TLS

Peer = dict[Any, Any]


class WebSocket(WebSocketsSansIOProtocol):
    """Tells the application whose certificate the client showed, and when it is gone.

    The latter beside what is read: while a client is held back, nothing is.
    """

    gone: asyncio.Future[None] | None = None

    def __init__(self, peer_of: Callable[[asyncio.BaseTransport], Peer], **given: Any) -> None:
        super().__init__(**given)
        self._peer_of = peer_of

    def handle_connect(self, event: Any) -> None:
        """Begin, with the scope filled in."""
        super().handle_connect(event)
        if self.response.status_code != 101:
            return  # no proper handshake: it is refused already
        self.gone = self.loop.create_future()
        ours: dict[str, Any] = {GONE: self.gone, TLS: self._peer_of(self.transport)}
        self.scope["extensions"] = {**(self.scope.get("extensions") or {}), **ours}

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell the application."""
        super().connection_lost(exc)
        # Why a handshake failed knows us by its traceback: we would stay until the collector comes, and it comes seldom.
        error: BaseException | None = self.conn.handshake_exc
        while error is not None:
            error = error.with_traceback(None).__context__
        if self.gone is not None and not self.gone.done():
            self.gone.set_result(None)
