"""Opens TCP connections: to whichever of a host's addresses takes one first."""

import asyncio
import os
import socket
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from jobferry.clock import Clock, Seconds, timeout
from jobferry.kube import errors

HEAD_START: Seconds = 0.25
"""An address that has not answered for so long gets company from the next one (RFC 8305)."""

# A peer that vanished without a word (power cut, dropped route) is noticed within half a minute, also
# on a watch that has nothing to say.
KEEPALIVE = {
    "TCP_KEEPIDLE": 15,
    "TCP_KEEPINTVL": 5,
    "TCP_KEEPCNT": 3,
    "TCP_USER_TIMEOUT": 30_000,
}


class Address(NamedTuple):
    """One of the places where a host may be reached, as the system names it."""

    family: int
    kind: int
    protocol: int
    canonical_name: str
    where: tuple[str, int] | tuple[str, int, int, int] | tuple[int, bytes]


async def connect(host: str, port: int, clock: Clock) -> socket.socket:
    """Open a connection."""
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise errors.Unreachable(
            f"the host name {host!r} cannot be resolved: {error}"
        ) from error
    try:
        return await Race(clock).run([Address(*each) for each in found])
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else error
        raise errors.Unreachable(f"no connection to {host}:{port}: {reason}") from error


class Race:
    """Tries several addresses, each a little later than the one before."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._running = 0
        self._news = asyncio.Event()
        self._winner: socket.socket | None = None
        self._problem = OSError("it has no address")

    async def run(self, addresses: Sequence[Address]) -> socket.socket:
        """Return a connection to the first that takes one; raises what the last one said if none does."""
        try:
            async with asyncio.TaskGroup() as group:
                tries = []
                for address in addresses:
                    self._running += 1
                    tries.append(group.create_task(self._try(address)))
                    with suppress(TimeoutError):
                        async with timeout(self._clock, HEAD_START):
                            await self._decided()
                    if self._winner is not None:
                        break
                await self._decided()
                for each in tries:
                    each.cancel()
        except BaseException:
            if self._winner is not None:
                self._winner.close()
            raise
        if self._winner is None:
            raise self._problem
        return self._winner

    async def _decided(self) -> None:
        while self._running and self._winner is None:
            self._news.clear()
            await self._news.wait()

    async def _try(self, address: Address) -> None:
        try:
            sock = await _open(address)
        except OSError as error:
            self._problem = error
        else:
            if self._winner is None:
                self._winner = sock
            else:
                sock.close()
        finally:
            self._running -= 1
            self._news.set()


async def _open(address: Address) -> socket.socket:
    sock = socket.socket(address.family, address.kind, address.protocol)
    try:
        sock.setblocking(False)
        _keep_alive(sock)
        await asyncio.get_running_loop().sock_connect(sock, address.where)
    except BaseException:
        sock.close()
        raise
    return sock


def _keep_alive(sock: socket.socket) -> None:
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in KEEPALIVE.items():
        if hasattr(socket, option):  # not every system has all of them
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
