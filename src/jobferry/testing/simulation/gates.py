"""The front of each API server of a simulation, and the way of those who live in its cluster."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from jobferry.clock import Clock, Seconds
from jobferry.kube import errors
from jobferry.kube.access import ANONYMOUS, Identity
from jobferry.kube.in_process import App, InProcessTransport
from jobferry.kube.wire import Answer, Request, Stream, Transport
from jobferry.localkube.apiserver.identity.user import MASTERS, User
from jobferry.localkube.apiserver.serving.app import IN_PROCESS

ADMIN = "admin"
PASS = "Bearer sim:"  # noqa: S105 (guards nothing)
"""There is no TLS to tell who calls: here a token does, by name."""


class Gate:
    """The front of one API server: open, shut (connections are refused) or frozen (they hang)."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.url = f"https://{name}.test"
        self.revoked: set[str] = set()
        """Tokens that are good no more."""

        self._app: App | None = None
        self._flows = asyncio.Event()
        self._flows.set()
        self._open: dict[Stream, None] = {}

    @property
    def is_open(self) -> bool:
        """Whether it takes connections, and answers."""
        return self._app is not None and not self.is_frozen

    @property
    def is_frozen(self) -> bool:
        """Whether connections hang."""
        return not self._flows.is_set()

    def open(self, app: App) -> None:
        """Let requests in."""
        self._app = app

    def shut(self) -> None:
        """Drop all connections and refuse new ones."""
        self._app = None
        self.drop()

    def drop(self) -> None:
        """Drop all connections."""
        for stream in self._open:
            stream.fail(errors.Unreachable("the connection was lost"))

    def freeze(self) -> None:
        """Keep all connections, and let nothing pass."""
        self._flows.clear()

    def thaw(self) -> None:
        """Let pass what has waited."""
        self._flows.set()

    async def flows(self) -> None:
        """Wait until it is not frozen."""
        await self._flows.wait()

    def transport(self, request: Request, clock: Clock) -> tuple[Transport, Request]:
        """Return the way in for one request; raises `Unreachable`."""
        if self._app is None:
            raise errors.Unreachable(f"{self.url} refuses connections")
        user = self._user(request.identity)
        inner = InProcessTransport(self._app, clock, {IN_PROCESS: user} if user else None)
        return inner, replace(request, identity=ANONYMOUS) if user else request

    def note(self, stream: Stream) -> None:
        """Keep a stream, to be dropped with the others."""
        self._open[stream] = None

    def forget(self, stream: Stream) -> None:
        """Take note that a stream is over."""
        self._open.pop(stream, None)

    def _user(self, identity: Identity) -> User | None:
        shown = identity.authorization or ""
        if not shown.startswith(PASS) or shown in self.revoked:
            return None
        name = shown.removeprefix(PASS).partition("#")[0]
        return User(name, groups=(MASTERS,) if name == ADMIN else ())


class Inside:
    """The way of a cluster's own controllers to its API server: nothing gets lost, but it may be away."""

    def __init__(self, gate: Gate, clock: Clock) -> None:
        self._gate = gate
        self._clock = clock

    async def send(self, request: Request, *, within: Seconds) -> Answer:
        """Send and wait for the whole answer."""
        await self._gate.flows()
        inner, sent = self._gate.transport(request, self._clock)
        answer = await inner.send(sent, within=within)
        await self._gate.flows()
        return answer

    @asynccontextmanager
    async def stream(self, request: Request, *, within: Seconds) -> AsyncIterator[Stream]:
        """Send and wait for the head of the answer."""
        await self._gate.flows()
        inner, sent = self._gate.transport(request, self._clock)
        async with inner.stream(sent, within=within) as stream:
            self._gate.note(stream)
            try:
                yield _Held(stream, self._gate)
            finally:
                self._gate.forget(stream)

    async def close(self) -> None:
        """Nothing is kept open."""


class _Held:
    """A stream that stands still while its server does."""

    def __init__(self, inner: Stream, gate: Gate) -> None:
        self.code, self.headers, self.fail = inner.code, inner.headers, inner.fail
        self._inner = inner
        self._gate = gate

    async def read(self) -> bytes:
        """Wait for more."""
        data = await self._inner.read()
        await self._gate.flows()
        return data
