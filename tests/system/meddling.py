"""A hand in the requests of a dispatcher: what others between it and a cluster, or in the cluster, may do to them."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from functools import partial

import orjson

from jobferry.clock import Clock, Seconds
from jobferry.kube.access import Server
from jobferry.kube.client import Reach
from jobferry.kube.wire import Answer, Request, Stream, Transport
from jobferry.objects import Obj

Send = Callable[[Request], Awaitable[Answer]]
Meddle = Callable[[Request, Send], Awaitable[Answer]]
"""Gets a request, and how to send it on; returns the answer to it."""


class Meddling:
    """Ways to clusters on which requests can be meddled with, and the news about Jobs be kept back."""

    def __init__(self, reach: Reach) -> None:
        self._reach = reach
        self._by_url: dict[str, Meddle] = {}
        self._everywhere: Meddle | None = None
        self._news: dict[str, asyncio.Event] = {}
        self._on_watch: dict[str, Callable[[], object]] = {}

    def reach(self, server: Server, clock: Clock) -> Transport:
        """Return a transport to a server."""
        return _Meddled(self, self._reach(server, clock), server.url)

    def meddle(self, url: str, meddle: Meddle) -> None:
        """Let `meddle` have all requests to a server, but for watches."""
        self._by_url[url] = meddle

    def meddle_everywhere(self, meddle: Meddle) -> None:
        """Let `meddle` have the requests to all other servers, but for watches."""
        self._everywhere = meddle

    def on_watch(self, url: str, listener: Callable[[], object]) -> None:
        """Call `listener` when a server has told of all Jobs that there are, and will tell what changes."""
        self._on_watch[url] = listener

    def keep_back(self, url: str) -> None:
        """Let a server's watches of Jobs lag behind, until they are let go."""
        self._news.setdefault(url, _flowing()).clear()

    def let_go(self, url: str) -> None:
        """Let all watches catch up."""
        self._news[url].set()

    async def answer(self, url: str, request: Request, send: Send) -> Answer:
        """Answer a request."""
        meddle = self._by_url.get(url, self._everywhere)
        return await (meddle(request, send) if meddle else send(request))

    def tell_of_watch(self, url: str) -> None:
        """Take note that a server has told of all Jobs that there are."""
        self._on_watch.get(url, _nobody)()

    def news(self, url: str) -> asyncio.Event:
        """Return what is set while watches of Jobs flow."""
        return self._news.setdefault(url, _flowing())


class _Meddled:
    def __init__(self, meddling: Meddling, inner: Transport, url: str) -> None:
        self._meddling = meddling
        self._inner = inner
        self._url = url

    async def send(self, request: Request, *, within: Seconds) -> Answer:
        async def send(sent: Request) -> Answer:
            return await self._inner.send(sent, within=within)

        return await self._meddling.answer(self._url, request, send)

    def stream(
        self, request: Request, *, within: Seconds
    ) -> AbstractAsyncContextManager[Stream]:
        if is_of_jobs(request):
            return self._late(request, within)
        return self._inner.stream(request, within=within)

    @asynccontextmanager
    async def _late(self, request: Request, within: Seconds) -> AsyncIterator[Stream]:
        async with self._inner.stream(request, within=within) as stream:
            told = partial(self._meddling.tell_of_watch, self._url)
            if "sendInitialEvents" not in request.target:
                told()  # it was asked for a list before
            yield _Late(stream, self._meddling.news(self._url), told)

    async def close(self) -> None:
        await self._inner.close()


class _Late:
    """A stream that is kept back."""

    def __init__(self, stream: Stream, flows: asyncio.Event, told: Callable[[], None]) -> None:
        self.code, self.headers = stream.code, stream.headers
        self.fail = stream.fail
        self._stream = stream
        self._flows = flows
        self._told = told

    async def read(self) -> bytes:
        read = await self._stream.read()
        await self._flows.wait()
        if b"k8s.io/initial-events-end" in read:
            self._told()
        return read


def is_of_jobs(request: Request) -> bool:
    """Tell whether a request is about all Jobs, or makes one."""
    return request.target.partition("?")[0].endswith("/jobs")


def makes_a_job(request: Request) -> bool:
    """Tell whether a request is to create a Job."""
    return request.method == "POST" and is_of_jobs(request)


def altered(request: Request, alter: Callable[[Obj], object]) -> Request:
    """Return a request whose body was altered."""
    body: Obj = orjson.loads(request.body)
    alter(body)
    return replace(request, body=orjson.dumps(body))


def _nobody() -> None: ...


def _flowing() -> asyncio.Event:
    flows = asyncio.Event()
    flows.set()
    return flows
