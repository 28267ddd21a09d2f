"""The network of a fleet in one process: URLs that lead to applications, by ways that a test can cut, and mend."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Self

from jobferry.clock import Clock, Seconds, timeout
from jobferry.kube import errors
from jobferry.kube.access import ANONYMOUS, Identity, Server
from jobferry.kube.in_process import App, InProcessTransport
from jobferry.kube.wire import Answer, Request, Stream, Transport
from jobferry.localkube.apiserver.identity.user import MASTERS, User
from jobferry.localkube.apiserver.serving.app import IN_PROCESS

ADMIN = "admin"
PASS = "Bearer test:"
"""There is no TLS to tell who calls: here a token does, by name. Others are for the server to judge."""


class Line:
    """A way to one cluster, as `Proxy` is one over sockets."""

    def __init__(self, url: str, app: App, there: str) -> None:
        self.url = url
        self.app = app
        self._there = there
        self._is_cut = False
        self._flows = asyncio.Event()
        self._flows.set()
        self._open: set[Stream] = set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.cut()

    def through(self, kubeconfig: str) -> str:
        """Return a kubeconfig that leads this way."""
        return kubeconfig.replace(self._there, self.url)

    async def cut(self) -> None:
        """Close every connection and take no new one."""
        self._is_cut = True
        self.drop()

    def drop(self) -> None:
        """Close every connection."""
        for stream in self._open:
            stream.fail(errors.Unreachable("the connection was lost"))

    async def mend(self) -> None:
        """Take connections again."""
        self._is_cut = False

    def freeze(self) -> None:
        """Keep all connections open, and pass nothing on."""
        self._flows.clear()

    def thaw(self) -> None:
        """Pass on what has waited."""
        self._flows.set()

    def strand(self) -> None:
        """Pass on again what is new; of the connections there were nobody will hear any more."""
        self._flows.clear()
        self._flows = asyncio.Event()
        self._flows.set()

    @asynccontextmanager
    async def passing(
        self, inner: Transport, request: Request, within: Seconds, clock: Clock
    ) -> AsyncIterator[Stream]:
        """Pass a request on, and its answer while it comes."""
        flows = self._flows
        try:
            async with timeout(clock, within):
                await flows.wait()
        except TimeoutError as error:
            raise errors.Timeout(f"no answer within {within:g} s") from error
        if self._is_cut:
            raise errors.Unreachable(f"{self.url} refuses connections")
        async with inner.stream(request, within=within) as stream:
            self._open.add(stream)
            try:
                yield _Held(stream, flows)
            finally:
                self._open.discard(stream)


class _Held:
    """A stream that is held back while its line is frozen."""

    def __init__(self, stream: Stream, flows: asyncio.Event) -> None:
        self.code, self.headers = stream.code, stream.headers
        self._stream = stream
        self._flows = flows

    async def read(self) -> bytes:
        read = await self._stream.read()
        await self._flows.wait()
        return read

    def fail(self, error: errors.Unreachable) -> None:
        self._stream.fail(error)


class Wires:
    """All lines there are."""

    def __init__(self) -> None:
        self._lines: dict[str, Line] = {}

    def add(self, url: str, app: App) -> None:
        """Let a URL lead to an application."""
        self._lines[url] = Line(url, app, url)

    def line(self, there: str) -> Line:
        """Lay another line to where a URL leads."""
        url = f"https://line-{len(self._lines)}.test"
        self._lines[url] = Line(url, self._lines[there].app, there)
        return self._lines[url]

    def reach(self, server: Server, clock: Clock) -> Transport:
        """Return a transport to a server."""
        return _Wire(self._lines.get(server.url), clock)


class _Wire:
    """Sends requests over a line, if there is one."""

    def __init__(self, line: Line | None, clock: Clock) -> None:
        self._line = line
        self._clock = clock
        self._inner: dict[User | None, InProcessTransport] = {}

    async def send(self, request: Request, *, within: Seconds) -> Answer:
        try:
            async with (
                timeout(self._clock, within),
                self.stream(request, within=within) as stream,
            ):
                parts = []
                while part := await stream.read():
                    parts.append(part)
                return Answer(stream.code, stream.headers, b"".join(parts))
        except TimeoutError as error:
            raise errors.Timeout(f"no answer within {within:g} s") from error

    @asynccontextmanager
    async def stream(self, request: Request, *, within: Seconds) -> AsyncIterator[Stream]:
        if self._line is None:
            raise errors.Unreachable("the host cannot be resolved")
        user = _user(request.identity)
        if user not in self._inner:
            who = {IN_PROCESS: user} if user else None
            self._inner[user] = InProcessTransport(self._line.app, self._clock, who)
        sent = replace(request, identity=ANONYMOUS) if user else request
        async with self._line.passing(self._inner[user], sent, within, self._clock) as stream:
            yield stream

    async def close(self) -> None:
        for inner in self._inner.values():
            await inner.close()


def _user(identity: Identity) -> User | None:
    shown = identity.authorization or ""
    if not shown.startswith(PASS):
        return None
    name = shown.removeprefix(PASS)
    return User(name, groups=(MASTERS,) if name == ADMIN else ())
