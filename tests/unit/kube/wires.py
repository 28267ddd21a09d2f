"""Transports that answer what a test tells them to."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import orjson

from jobferry.clock import Seconds
from jobferry.errors import Error
from jobferry.kube import calls, errors
from jobferry.kube.access import Fixed, Identity
from jobferry.kube.client import Client
from jobferry.kube.resources import NODES
from jobferry.kube.retry import Patience
from jobferry.kube.wire import Answer, Request, Stream
from jobferry.testing.clock import ManualClock

PATIENCE = Patience(answer=30.0, retries=3, first_pause=0.1, longest_pause=10.0)

READ = calls.get(NODES, "n")
CREATE = calls.create(NODES, {"metadata": {"name": "n"}})
PATCH = calls.patch(NODES, "n", {})
DELETE = calls.delete(NODES, "n")

OK = Answer(200, {}, b'{"kind":"Node"}')
LOST = errors.Unreachable("the server closed the connection")


def status(code: int, reason: str = "", **headers: str) -> Answer:
    body = {"kind": "Status", "code": code, "reason": reason, "message": f"no: {reason}"}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(code, named, orjson.dumps(body))


def busy(seconds: float | str = 2, code: int = 429) -> Answer:
    return status(code, "TooManyRequests", retry_after=str(seconds))


@dataclass
class Reading:
    """An answer whose body is still coming in; an error in it is raised, None never comes."""

    code: int
    parts: list[bytes | Error | None]
    headers: Mapping[str, str] = field(default_factory=dict)

    def fail(self, error: Error) -> None:
        self.parts.append(error)

    async def read(self) -> bytes:
        if not self.parts:
            return b""
        part = self.parts.pop(0)
        if part is None:
            await asyncio.Event().wait()
        if isinstance(part, Error):
            raise part
        return part or b""


class Wire:
    """A transport that answers what a test tells it to, and keeps what it was asked."""

    def __init__(self, *outcomes: Answer | Reading | Error) -> None:
        self.outcomes = list(outcomes)
        self.requests: list[Request] = []
        self.log: list[str] = []
        self.within: list[Seconds] = []

    async def send(self, request: Request, *, within: Seconds) -> Answer:
        outcome = self._next(request, within)
        assert isinstance(outcome, Answer)
        return outcome

    @asynccontextmanager
    async def stream(self, request: Request, *, within: Seconds) -> AsyncIterator[Stream]:
        outcome = self._next(request, within)
        assert isinstance(outcome, Reading)
        self.log.append("opened")
        try:
            yield outcome
        finally:
            self.log.append("left")

    async def close(self) -> None:
        self.log.append("closed")

    def _next(self, request: Request, within: Seconds) -> Answer | Reading:
        self.requests.append(request)
        self.within.append(within)
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, Error):
            raise outcome
        return outcome


class Tokens:
    """Credentials that have one token after the other."""

    def __init__(self, *tokens: str) -> None:
        self._tokens = list(tokens)
        self.rejected: list[str | None] = []

    async def identity(self) -> Identity:
        return Identity(authorization=self._tokens[0])

    def reject(self, identity: Identity) -> bool:
        self.rejected.append(identity.authorization)
        if len(self._tokens) > 1:
            self._tokens.pop(0)
            return True
        return False


def client_over(
    wire: Wire, *, clock: ManualClock | None = None, credentials: Any = None
) -> Client:
    return Client(
        wire,
        name="east",
        clock=clock or ManualClock(),
        credentials=credentials or Fixed(),
        headers=(("Impersonate-User", "ann"),),
        patience=PATIENCE,
    )
