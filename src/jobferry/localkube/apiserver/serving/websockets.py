"""WebSockets of the ASGI server: how a request for one is granted or refused."""

from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from typing import Any

from jobferry.localkube.apiserver import status
from jobferry.localkube.apiserver.requests.call import Answer, answer_error
from jobferry.localkube.apiserver.requests.session import Gone, Session

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

NORMAL, FAILED = 1000, 1011
"""Why a WebSocket ends: all is said, or something broke."""


class AsgiSocket:
    """A client behind an ASGI server."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._send = send

    async def send(self, message: bytes | str) -> None:
        """Send a message, and wait while the client is slow to read; raise `Gone` if it went."""
        await self._put(
            {"type": "websocket.send", "text": message}
            if isinstance(message, str)
            else {"type": "websocket.send", "bytes": message}
        )

    async def receive(self) -> bytes | str:
        """Wait for a message; raise `Gone` when there will be none."""
        message = await self._receive()
        if message["type"] != "websocket.receive":
            raise Gone
        text: str | None = message.get("text")
        data: bytes | None = message.get("bytes")
        return text if text is not None else data or b""

    async def accept(self, protocol: str) -> None:
        """Grant the request."""
        await self._put({"type": "websocket.accept", "subprotocol": protocol or None})

    async def close(self, code: int) -> None:
        """End it."""
        await self._put({"type": "websocket.close", "code": code})

    async def _put(self, message: Message) -> None:
        try:
            await self._send(message)
        except (OSError, RuntimeError) as error:
            # uvicorn says so in either way, depending on which side closed first.
            raise Gone from error


async def hold(session: Session, socket: AsgiSocket) -> None:
    """Grant a session and hold it to its end; a client that goes is no failure."""
    with suppress(Gone):
        await socket.accept(session.protocol)
        try:
            await session.run(socket)
        except Exception:
            await socket.close(FAILED)
            raise
        await socket.close(NORMAL)


def plain(answer: Answer) -> Answer:
    """Return what to answer in place of a WebSocket: a stream (a watch) can only be refused."""
    if answer.stream is None:
        return answer
    why = "this server has no watches over WebSocket: ask without an upgrade"
    return answer_error(status.bad_request(why))


async def refuse(answer: Answer, head: Message, send: Send) -> None:
    """Answer without a WebSocket."""
    await send({**head, "type": "websocket.http.response.start"})
    await send({"type": "websocket.http.response.body", "body": answer.body})
