"""A server in this process, asked without a socket, that has to stand whatever it is asked."""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import process_time
from typing import Any
from urllib.parse import unquote

import orjson

from jobferry.clock import Seconds, SystemClock
from jobferry.localkube.apiserver.identity.user import User
from jobferry.localkube.apiserver.server import Server, Settings, serve
from jobferry.localkube.apiserver.timeouts import TIMEOUTS, Timeouts

ADMIN = User("fuzzer", groups=("system:masters", "system:authenticated"))
WITHIN: Seconds = 10.0
"""What an answer may take of the processor: a request is a matter of milliseconds."""

STREAM: Seconds = 0.01
"""How long we listen to a stream."""

OURS = "see the log of the server"


@dataclass(frozen=True, slots=True)
class Ask:
    """One request."""

    method: str
    target: str
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()
    anonymous: bool = False

    def __str__(self) -> str:
        return f"{self.method} {self.target} {dict(self.headers)}\n    {self.body[:3000]!r}"


@dataclass(slots=True)
class Reply:
    """What came back."""

    code: int = 0
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    body: bytes = b""
    streamed: bool = False

    @property
    def type(self) -> bytes:
        """The type of the body."""
        return dict(self.headers).get(b"content-type", b"")

    def object(self) -> Any:
        """Return the body, read as JSON."""
        return orjson.loads(self.body)


class Complaints(logging.Handler):
    """Keeps what the server logs, or the libraries that know of failures in tasks.

    What other tests left running in this process may have its own worries.
    """

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a line."""
        if record.name.startswith(("asyncio", "uvicorn", "jobferry.localkube")):
            self.found.append(
                logging.Formatter().format(record) + str(getattr(record, "facts", ""))
            )


@dataclass(slots=True)
class FuzzServer:
    """The server, and what was wrong with its answers."""

    server: Server
    complaints: Complaints
    codes: Counter[int] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    by_design: Counter[str] = field(default_factory=Counter)

    @property
    def watches(self) -> int:
        """How many watches stand in storage."""
        return len(self.server.storage._watchers)

    async def ask(self, ask: Ask) -> Reply:
        """Ask, and judge the answer."""
        begun, complained = process_time(), len(self.complaints.found)
        try:
            async with asyncio.timeout(10 * WITHIN):
                reply = await _call(self.server.app, ask)
        except Exception as error:
            self.wrong.append(f"{error!r} at {ask}")
            raise
        if (took := process_time() - begun) > WITHIN:
            self.wrong.append(f"took {took:.1f} s: {ask}")
        self.codes[reply.code] += 1
        if why := self._misfit(reply):
            said = "".join(self.complaints.found[complained:])
            self.wrong.append(f"{why}: {ask}\n    {reply.body[:400]!r}\n{said}")
        return reply

    def _misfit(self, reply: Reply) -> str:
        if reply.streamed:
            return ""
        if reply.type.startswith(b"application/json") and reply.body:
            try:
                found = reply.object()
            except ValueError:
                return "no JSON"
        else:
            return "500" if reply.code == 500 else ""
        if reply.code >= 400 and (found.get("kind"), found.get("code")) != (
            "Status",
            reply.code,
        ):
            return "no Status"
        if reply.code >= 500:
            message = found.get("message", "")
            self.by_design[message[:60]] += 1
            if OURS in message:
                return "500"
        return ""


@asynccontextmanager
async def running(
    folder: Path, *, in_memory: bool = True, timeouts: Timeouts = TIMEOUTS
) -> AsyncIterator[FuzzServer]:
    """Run a server within the block."""
    complaints = Complaints()
    logging.getLogger().addHandler(complaints)
    try:
        settings = Settings(
            folder=folder, in_memory=in_memory, durability="normal", timeouts=timeouts
        )
        async with serve(settings, SystemClock()) as server:
            yield FuzzServer(server, complaints)
    finally:
        logging.getLogger().removeHandler(complaints)


async def _call(app: Any, ask: Ask) -> Reply:
    reply, gone = Reply(), asyncio.Event()
    waiting = [ask.body]
    loop = asyncio.get_running_loop()

    async def receive() -> dict[str, Any]:
        if waiting:
            return {"type": "http.request", "body": waiting.pop(), "more_body": False}
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            reply.code, reply.headers = message["status"], message["headers"]
        else:
            reply.body += message.get("body", b"")
            if message.get("more_body") and not reply.streamed:
                reply.streamed = True
                loop.call_later(STREAM, gone.set)

    await app(scope(ask), receive, send)
    assert reply.code, "no answer"
    return reply


def scope(ask: Ask) -> dict[str, Any]:
    """Return a request as an ASGI application sees it."""
    path, _, query = ask.target.partition("?")
    headers = [*ask.headers, ("Content-Length", str(len(ask.body)))]
    return {
        "type": "http",
        "method": ask.method,
        "path": unquote(path),
        "raw_path": path.encode("latin-1", "replace"),
        "query_string": query.encode("latin-1", "replace"),
        "headers": [
            (name.lower().encode("latin-1", "replace"), value.encode("latin-1", "replace"))
            for name, value in headers
        ],
        "extensions": {} if ask.anonymous else {"jobferry.user": ADMIN},
    }
