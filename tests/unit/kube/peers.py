"""Servers on loopback that say what a test makes them say."""

import asyncio
import ipaddress
import re
import ssl
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

from jobferry.testing.certificates import Pair

LOOPBACK = "127.0.0.1"

_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)


class Visitor:
    """One connection, as the server sees it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def request(self) -> bytes:
        """Read one request, head and body."""
        head = await self.reader.readuntil(b"\r\n\r\n")
        length = _LENGTH.search(head)
        return head + await self.reader.readexactly(int(length[1]) if length else 0)

    async def say(self, data: bytes) -> None:
        """Send; wait when the other side does not read."""
        self.writer.write(data)
        await self.writer.drain()

    async def gone(self) -> None:
        """Wait until the other side has closed."""
        with suppress(ConnectionError):
            while await self.reader.read(1 << 16):
                pass


async def until(holds: Callable[[], bool]) -> None:
    """Let everything run until a condition holds; the timeout of the test is the limit."""
    while not holds():  # noqa: ASYNC110 (what is waited for is in the code under test, which has no event)
        await asyncio.sleep(0)


Script = Callable[[Visitor], Awaitable[None]]
"""What a server does with a connection; it hangs up at the end."""


class Peer:
    """A server that follows a script with each of its visitors."""

    def __init__(self, script: Script) -> None:
        self.visitors: list[Visitor] = []
        self.url = ""
        self.port = 0
        self._script = script
        self._tasks: list[asyncio.Task[None]] = []

    def meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Follow the script with one more visitor."""
        visitor = Visitor(reader, writer)
        self.visitors.append(visitor)
        self._tasks.append(asyncio.create_task(self._serve(visitor)))

    async def end(self) -> None:
        """Stop, and raise what went wrong in a script."""
        for task in self._tasks:
            task.cancel()
        for outcome in await asyncio.gather(*self._tasks, return_exceptions=True):
            if isinstance(outcome, Exception):
                raise outcome

    async def _serve(self, visitor: Visitor) -> None:
        try:
            # Visitors leave when they like; a script need not foresee it.
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                await self._script(visitor)
        finally:
            visitor.writer.close()
            with suppress(ConnectionError, ssl.SSLError):
                await visitor.writer.wait_closed()


@asynccontextmanager
async def served(
    script: Script, *, tls: ssl.SSLContext | None = None, host: str = LOOPBACK
) -> AsyncIterator[Peer]:
    """Run a server for the length of the block."""
    peer = Peer(script)
    server = await asyncio.start_server(peer.meet, host, 0, ssl=tls)
    peer.port = server.sockets[0].getsockname()[1]
    scheme = "http" if tls is None else "https"
    peer.url = f"{scheme}://{f'[{host}]' if ':' in host else host}:{peer.port}"
    try:
        yield peer
    finally:
        server.close()
        await peer.end()
        await server.wait_closed()


def answer(body: bytes = b"{}", code: int = 200, *headers: str) -> bytes:
    """Write an answer as an API server does."""
    lines = [f"HTTP/1.1 {code} Whatever", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


def saying(*answers: bytes) -> Script:
    """Answer one request after the other, then hang up."""

    async def script(visitor: Visitor) -> None:
        for data in answers:
            await visitor.request()
            await visitor.say(data)

    return script


async def always_ok(visitor: Visitor) -> None:
    """Answer every request with its own first line."""
    while True:
        line = (await visitor.request()).partition(b"\r\n")[0]
        await visitor.say(answer(line))


async def silent(visitor: Visitor) -> None:
    """Never say a word."""
    await visitor.gone()


def tls_of(pair: Pair, *, clients: bytes | None = None) -> ssl.SSLContext:
    """Make what a server proves itself by; `clients` signs the certificates that it then demands."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.NamedTemporaryFile() as file:
        file.write(pair.certificate + pair.key)
        file.flush()
        context.load_cert_chain(file.name)
    if clients is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(cadata=clients.decode())
    return context


class ConnectProxy:
    """An HTTP proxy that knows CONNECT; goes where it is sent, or to `instead`."""

    def __init__(self, *, instead: int | None = None) -> None:
        self.heads: list[str] = []
        self._instead = instead

    async def __call__(self, visitor: Visitor) -> None:
        """Serve one visitor."""
        head = (await visitor.request()).decode()
        self.heads.append(head)
        host, _, port = head.split()[1].rpartition(":")
        await visitor.say(b"HTTP/1.1 200 Connection established\r\nVia: test\r\n\r\n")
        await _relay(visitor, host.strip("[]"), self._instead or int(port))


class Socks5Proxy:
    """A SOCKS5 proxy that may want a user and password."""

    def __init__(self, *, user: bytes = b"", password: bytes = b"", family: int = 1) -> None:
        self.targets: list[tuple[int, bytes]] = []
        """The kind of address, and the address, that each visitor asked for."""
        self._user = user
        self._password = password
        self._bound = {1: bytes(4), 3: b"\x04here", 4: bytes(16)}[family]
        self._family = family

    async def __call__(self, visitor: Visitor) -> None:
        """Serve one visitor."""
        exactly = visitor.reader.readexactly
        _, count = await exactly(2)
        methods = await exactly(count)
        wanted = 2 if self._user else 0
        if wanted not in methods:
            await visitor.say(b"\x05\xff")
            return
        await visitor.say(bytes([5, wanted]))
        if wanted and not await self._knows(visitor):
            return
        family = (await exactly(4))[3]
        length = {1: 4, 4: 16}.get(family) or (await exactly(1))[0]
        address = await exactly(length)
        self.targets.append((family, address))
        port = int.from_bytes(await exactly(2), "big")
        # In pieces, as a network might bring it.
        await visitor.say(b"\x05\x00")
        await visitor.say(bytes([0, self._family]) + self._bound + b"\x00\x50")
        host = address.decode() if family == 3 else str(ipaddress.ip_address(address))
        await _relay(visitor, host, port)

    async def _knows(self, visitor: Visitor) -> bool:
        exactly = visitor.reader.readexactly
        user = await exactly((await exactly(2))[1])
        password = await exactly((await exactly(1))[0])
        is_known = (user, password) == (self._user, self._password)
        await visitor.say(b"\x01\x00" if is_known else b"\x01\x01")
        return is_known


async def _relay(visitor: Visitor, host: str, port: int) -> None:
    reader, writer = await asyncio.open_connection(host, port)
    there = asyncio.create_task(_copy(visitor.reader, writer))
    try:
        await _copy(reader, visitor.writer)
    finally:
        there.cancel()
        await asyncio.wait([there])
        writer.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
        writer.close()
