"""Sends requests over sockets: a pool of connections to one API server."""

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from jobferry.clock import Clock, Seconds, timeout
from jobferry.kube import dial, errors
from jobferry.kube.access import Identity, Server
from jobferry.kube.http1 import Connection
from jobferry.kube.wire import Answer, Request, Stream

IDLE = 64
"""Connections kept open for the next request; more are opened as needed and closed after use."""


@dataclass(slots=True)
class _Lane:
    """The connections that bear one client certificate."""

    certificate: bytes | None
    key: bytes | None
    context: ssl.SSLContext | None
    idle: list[Connection] = field(default_factory=list)


class HttpTransport:
    """HTTP/1.1 to one server; a changed client certificate gets connections of its own."""

    def __init__(self, server: Server, clock: Clock) -> None:
        self._server = server
        self._clock = clock
        self._lane: _Lane | None = None
        self._busy: set[Connection] = set()
        """Of any lane: a watch goes on with the certificate it was begun with."""

    async def send(self, request: Request, *, within: Seconds) -> Answer:
        """Send and wait for the whole answer."""
        lane = self._lane_of(request.identity)
        connection: Connection | None = None
        try:
            async with timeout(self._clock, within):
                connection = await self._take(lane)
                answer = await connection.ask(request).whole()
        except TimeoutError as error:
            raise errors.Timeout(f"no answer within {within:g} s") from error
        finally:
            # Also when we are cancelled: a connection with half an answer serves nobody else.
            if connection is not None:
                self._put_back(lane, connection)
        return answer

    @asynccontextmanager
    async def stream(self, request: Request, *, within: Seconds) -> AsyncIterator[Stream]:
        """Send and wait for the head of the answer; leaving the block drops the rest."""
        lane = self._lane_of(request.identity)
        connection: Connection | None = None
        try:
            try:
                async with timeout(self._clock, within):
                    connection = await self._take(lane)
                    reply = connection.ask(request)
                    await reply.head()
            except TimeoutError as error:
                raise errors.Timeout(f"no answer within {within:g} s") from error
            yield reply
        finally:
            if connection is not None:
                self._put_back(lane, connection)

    async def close(self) -> None:
        """Drop every connection."""
        idle = self._lane.idle if self._lane is not None else []
        for connection in [*idle, *self._busy]:
            connection.close()
        self._lane = None

    def _lane_of(self, identity: Identity) -> _Lane:
        lane = self._lane
        if lane is None or (lane.certificate, lane.key) != (identity.certificate, identity.key):
            context = dial.tls_context(self._server, identity)
            if lane is not None:
                for connection in lane.idle:
                    connection.close()
            lane = self._lane = _Lane(identity.certificate, identity.key, context)
        return lane

    async def _take(self, lane: _Lane) -> Connection:
        connection = _pop_idle(lane)
        if connection is None:
            connection = await dial.dial(self._server, lane.context, self._clock)
        self._busy.add(connection)
        return connection

    def _put_back(self, lane: _Lane, connection: Connection) -> None:
        self._busy.discard(connection)
        if connection.is_idle and lane is self._lane and len(lane.idle) < IDLE:
            lane.idle.append(connection)
        else:
            connection.close()


def _pop_idle(lane: _Lane) -> Connection | None:
    """Take the connection used last, passing over those that the server has closed meanwhile."""
    while lane.idle:
        connection = lane.idle.pop()
        if connection.is_idle:
            return connection
    return None
