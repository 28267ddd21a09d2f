"""What goes on over a WebSocket once a request for it is granted."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol


class Gone(Exception):
    """The client is not there any more."""


class Socket(Protocol):
    """The client at the other end."""

    async def send(self, message: bytes | str) -> None:
        """Send a message, and wait while the client is slow to read; raise `Gone` if it went."""

    async def receive(self) -> bytes | str:
        """Wait for a message; raise `Gone` when there will be none."""


@dataclass(frozen=True, slots=True)
class Session:
    """The protocol that the server chose ("" for none), and what is done then, to its end."""

    protocol: str
    run: Callable[[Socket], Awaitable[None]]
