"""Ways from the code under test to the servers in `peers`."""

import asyncio
import socket
import struct
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress

from jobferry.clock import Clock, SystemClock
from jobferry.kube import dial
from jobferry.kube.access import ANONYMOUS, Identity, Server
from jobferry.kube.http1 import Connection
from jobferry.kube.transport import HttpTransport
from jobferry.kube.wire import Answer, Request
from jobferry.testing.certificates import Authority, Pair
from tests.unit.kube.peers import LOOPBACK, Peer, Script, always_ok, served, tls_of

AUTHORITY = Authority(SystemClock().now())
GET = Request("GET", "/x")
HERE = AUTHORITY.server(["localhost"], [LOOPBACK, "::1"])


@asynccontextmanager
async def connected(script: Script) -> AsyncIterator[Connection]:
    """Open a connection to a server that follows a script."""
    async with served(script) as peer:
        _, connection = await asyncio.get_running_loop().create_connection(
            lambda: Connection("host"), LOOPBACK, peer.port
        )
        try:
            yield connection
        finally:
            connection.close()


async def dialled(server: Server, identity: Identity = ANONYMOUS) -> Connection:
    """Open a connection as the product does."""
    return await dial.dial(server, dial.tls_context(server, identity), SystemClock())


async def ask(server: Server, identity: Identity = ANONYMOUS, request: Request = GET) -> Answer:
    """Open a connection for one question."""
    connection = await dialled(server, identity)
    try:
        return await connection.ask(request).whole()
    finally:
        connection.close()


@asynccontextmanager
async def secure(pair: Pair = HERE) -> AsyncIterator[Server]:
    """Run a TLS server and say how to reach it."""
    async with served(always_ok, tls=tls_of(pair)) as peer:
        yield Server(url=peer.url, ca=AUTHORITY.certificate)


@asynccontextmanager
async def reaching(
    script: Script, clock: Clock | None = None
) -> AsyncIterator[tuple[HttpTransport, Peer]]:
    """Run a server, and a transport to it."""
    async with served(script) as peer:
        http = HttpTransport(Server(url=peer.url), clock or SystemClock())
        yield http, peer
        await http.close()


@asynccontextmanager
async def reaching_securely(script: Script) -> AsyncIterator[tuple[HttpTransport, Peer]]:
    """Run a TLS server that demands a certificate, and a transport to it."""
    tls = tls_of(HERE, clients=AUTHORITY.certificate)
    async with served(script, tls=tls) as peer:
        server = Server(url=peer.url, ca=AUTHORITY.certificate)
        http = HttpTransport(server, SystemClock())
        yield http, peer
        await http.close()


def somebody(name: str) -> Identity:
    """Return a client certificate of that name."""
    pair = AUTHORITY.client(name)
    return Identity(certificate=pair.certificate, key=pair.key)


def open_at(peer: Peer) -> int:
    """Count the connections that a server still has."""
    return sum(not visitor.reader.at_eof() for visitor in peer.visitors)


@asynccontextmanager
async def unanswered() -> AsyncIterator[Server]:
    """Make a server whose queue is full: the system drops who tries to connect."""
    with socket.create_server((LOOPBACK, 0), backlog=0) as listener:
        waiting = [socket.socket() for _ in range(4)]
        for sock in waiting:
            sock.setblocking(False)
            sock.connect_ex(listener.getsockname())
        yield Server(url=f"http://{LOOPBACK}:{listener.getsockname()[1]}")
        for sock in waiting:
            sock.close()


@contextmanager
def resetting() -> Iterator[int]:
    """Reset every connection to a port as soon as it is there, whatever the event loop is doing."""
    with socket.create_server((LOOPBACK, 0)) as listener:

        def reset() -> None:
            with suppress(OSError):
                while True:
                    visitor, _ = listener.accept()
                    no_linger = struct.pack("ii", 1, 0)
                    visitor.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, no_linger)
                    visitor.close()

        thread = threading.Thread(target=reset)
        thread.start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()
