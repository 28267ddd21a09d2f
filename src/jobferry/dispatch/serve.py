"""Serves metrics and health over HTTP: GET, one request a connection, and nothing else.

Whoever calls gets a few kilobytes and a few seconds; what is asked is answered from memory at once, so that
there are no tasks and no queues here that a caller could fill.
"""

import asyncio
import os
import re
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, cast

from jobferry import log, metrics
from jobferry.clock import Clock, Seconds
from jobferry.errors import BadInput
from jobferry.kube.informer import Informer
from jobferry.metrics import Registry
from jobferry.settings.readers import Address

PATIENCE: Seconds = 10.0
"""How long a visit may last, from its first byte to its last."""

MOST_BYTES = 8192
"""Of the head of a request."""

MOST_VISITS = 64
"""At a time; there is one scraper and one kubelet."""

TEXT = "text/plain; charset=utf-8"

_REQUEST = re.compile(rb"([A-Z]+) ([!-~]+) HTTP/1\.[01]\r?\n")
_END = re.compile(rb"\r?\n\r?\n")

_log = log.get(__name__)


@dataclass(frozen=True, slots=True)
class Page:
    """What is answered."""

    status: HTTPStatus
    body: bytes
    type: str = TEXT


Pages = Mapping[bytes, Callable[[], Page]]
"""What there is to see, by path."""


async def serve(
    address: Address, registry: Registry, readiness: Callable[[], list[str]], clock: Clock
) -> None:
    """Serve until cancelled; `readiness` says what there is to wait for before we are ready."""
    async with listening(address, pages(registry, readiness), clock):
        _log.info("Serves metrics and health", address=str(address))
        await asyncio.Event().wait()


def pages(registry: Registry, readiness: Callable[[], list[str]]) -> Pages:
    """Return what is served."""

    def ready() -> Page:
        if missing := readiness():
            text = "".join(f"{line}\n" for line in ("not ready", *missing))
            return Page(HTTPStatus.SERVICE_UNAVAILABLE, text.encode("utf-8", "replace"))
        return Page(HTTPStatus.OK, b"ready\n")

    return {
        b"/metrics": lambda: Page(HTTPStatus.OK, registry.render(), metrics.CONTENT_TYPE),
        b"/healthz": lambda: Page(HTTPStatus.OK, b"ok\n"),
        b"/readyz": ready,
    }


def missing(informers: Mapping[str, Informer[Any]]) -> list[str]:
    """Say which of these have not been listed yet, and why."""
    lines = []
    for name, informer in informers.items():
        freshness = informer.freshness()
        if not freshness.is_synced:
            why = f": {freshness.trouble}" if freshness.trouble else ""
            lines.append(f"{name}: not listed yet{why}")
    return lines


@asynccontextmanager
async def listening(
    address: Address, pages: Pages, clock: Clock
) -> AsyncIterator[asyncio.Server]:
    """Answer callers during the block; raises `BadInput` if the address cannot be had."""
    visits: set[_Visit] = set()
    loop = asyncio.get_running_loop()
    try:
        server = await loop.create_server(
            lambda: _Visit(pages, clock, visits), address.host or None, address.port
        )
    except (OSError, UnicodeError) as error:  # the latter for what cannot be a host's name
        raise BadInput(f"cannot listen on {address}: {_reason(error)}") from None
    try:
        yield server
    finally:
        server.close()
        for visit in visits:
            visit.end()
        await server.wait_closed()


def _reason(error: Exception) -> str:
    if isinstance(error, socket.gaierror) or not isinstance(error, OSError):
        return "no such host"
    # In words of the system alone: asyncio's own repeat the address.
    return os.strerror(error.errno) if error.errno else str(error)


class _Visit(asyncio.Protocol):
    """One connection: reads one request, answers it, and waits for the caller to hang up."""

    def __init__(self, pages: Pages, clock: Clock, visits: "set[_Visit]") -> None:
        self._pages = pages
        self._clock = clock
        self._visits = visits
        self._heard = b""
        self._is_answered = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Give the caller some time, unless too many others are here."""
        self._transport = cast("asyncio.Transport", transport)
        self._visits.add(self)
        patience = PATIENCE if len(self._visits) <= MOST_VISITS else 0.0
        self._timer = self._clock.call_later(patience, self.end)

    def data_received(self, data: bytes) -> None:
        """Answer as soon as the head of the request is there; what follows it is not read."""
        if self._is_answered:
            return
        self._heard += data
        if _END.search(self._heard, 0, MOST_BYTES):
            self._answer(self._page())
        elif len(self._heard) >= MOST_BYTES:
            self._answer(_plain(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE))

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the caller."""
        self._timer.cancel()
        self._visits.discard(self)

    def end(self) -> None:
        """Hang up, whatever is still to be said."""
        self._transport.abort()

    def _page(self) -> Page:
        request = _REQUEST.match(self._heard)
        if request is None:
            return _plain(HTTPStatus.BAD_REQUEST)
        method, target = request.groups()
        page = self._pages.get(target.partition(b"?")[0])
        if page is None:
            return _plain(HTTPStatus.NOT_FOUND)
        if method != b"GET":
            return _plain(HTTPStatus.METHOD_NOT_ALLOWED)
        try:
            return page()
        except Exception as error:  # noqa: BLE001 (a number that cannot be read stops nobody's work)
            _log.failure("Page failed", error, path=target.decode())
            return _plain(HTTPStatus.INTERNAL_SERVER_ERROR)

    def _answer(self, page: Page) -> None:
        self._is_answered = True
        self._heard = b""
        lines = (
            f"HTTP/1.1 {page.status.value} {page.status.phrase}",
            f"Content-Type: {page.type}",
            f"Content-Length: {len(page.body)}",
            "Allow: GET",
            "Connection: close",
        )
        head = "".join(f"{line}\r\n" for line in (*lines, ""))
        self._transport.write(head.encode() + page.body)
        # Not closed yet: what the caller still sends would reset the connection, and the answer be lost.
        self._transport.write_eof()


def _plain(status: HTTPStatus) -> Page:
    return Page(status, f"{status.phrase}\n".encode())
