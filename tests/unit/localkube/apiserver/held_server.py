"""A server in this process whose writes become durable when a test says so."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Protocol

import orjson

from jobferry.clock import Clock, SystemClock
from jobferry.kube.access import Identity
from jobferry.kube.in_process import InProcessTransport
from jobferry.kube.wire import Answer, Request
from jobferry.localkube.apiserver.handlers.backend import Backend
from jobferry.localkube.apiserver.identity.user import MASTERS, User
from jobferry.localkube.apiserver.serving.app import App
from jobferry.localkube.apiserver.storage.store import Storage
from jobferry.localkube.in_process import in_process
from jobferry.objects import Obj
from jobferry.testing.clock import settle
from tests.unit.localkube.apiserver.storage.held_journal import HeldJournal

ADMIN = User("admin", groups=(MASTERS,))


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back."""

    code: int
    body: Obj

    @property
    def version(self) -> str:
        """The version of the object."""
        return str(self.body["metadata"]["resourceVersion"])


class Served(Protocol):
    """A server of whatever kind."""

    @property
    def app(self) -> App: ...

    @property
    def backend(self) -> Backend: ...

    @property
    def storage(self) -> Storage: ...


class Asker:
    """Asks a server without a socket, for each answer once."""

    def __init__(self, server: Served) -> None:
        self.server = server
        self._transport = InProcessTransport(
            server.app, server.backend.clock, extensions={"jobferry.user": ADMIN}
        )

    async def ask(self, method: str, target: str, body: Obj | None = None) -> Reply:
        """Return the answer to one request."""
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        content = b"" if body is None else orjson.dumps(body)
        request = Request(method, target, (("Content-Type", kind),), content, Identity())
        answer: Answer = await self._transport.send(request, within=60)
        return Reply(answer.code, orjson.loads(answer.body))

    async def asked(
        self, method: str, target: str, body: Obj | None = None
    ) -> asyncio.Future[Reply]:
        """Ask, and let the server go as far as it can without its disk."""
        asking = asyncio.ensure_future(self.ask(method, target, body))
        await settle()
        return asking


@asynccontextmanager
async def asker(clock: Clock | None = None) -> AsyncIterator[Asker]:
    """A server in memory."""
    async with in_process(clock or SystemClock()) as server:
        yield Asker(server)


def hold(server: Served) -> HeldJournal:
    """From now on, let no write become durable by itself."""
    journal = HeldJournal()
    journal.listener = server.storage
    server.storage._journal = journal
    return journal
