"""The client of one cluster: sends calls, repeats what may be repeated, raises typed errors.

There is no client-side rate limit: the API server has its own, and says so with Retry-After.
"""

import copy
import functools
import zlib
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from itertools import count
from random import Random
from typing import Any, Concatenate, ParamSpec, Self

import orjson

from jobferry import __version__, clock
from jobferry.clock import Clock, Seconds
from jobferry.errors import BadInput, Error
from jobferry.kube import calls, errors, retry
from jobferry.kube.access import NOBODY, Access, Credentials, Identity, Server
from jobferry.kube.calls import Call, Scope
from jobferry.kube.hearing import HeardTransport, Hearing
from jobferry.kube.observed import Observe, ObservedTransport
from jobferry.kube.transport import HttpTransport
from jobferry.kube.wire import (
    LONGEST_LIST,
    LONGEST_OBJECT,
    Answer,
    Request,
    Stream,
    Transport,
)
from jobferry.objects import Obj

P = ParamSpec("P")

USER_AGENT = f"jobferry/{__version__}"

Headers = tuple[tuple[str, str], ...]

Reach = Callable[[Server, Clock], Transport]
"""Makes the transport to a server: over sockets (`HttpTransport`), unless all is in one process."""

Check = Callable[[], None]
"""Raises if nothing is to be sent."""

PACKED: Headers = (("Accept-Encoding", "gzip"),)
"""As Go's clients ask: API servers compress long lists."""

LONGEST_EXCUSE = 1 << 16
"""Bytes that are read of why a stream was refused; the code alone will do where there are more."""

FAILED = 300
"""Codes from here on are errors; API servers send no redirects, but login pages do."""

REFUSED = 401
"""The server did not accept who we said we are."""


@dataclass(frozen=True, slots=True)
class Listing:
    """What a list gave: every object there was at one resourceVersion."""

    items: list[Obj]
    resource_version: str


def _verb(
    build: Callable[P, Call],
) -> Callable[Concatenate["Client", P], Coroutine[Any, Any, Obj]]:
    """Make the method that sends what `build` builds and returns the object it is answered with."""

    async def method(self: "Client", /, *args: P.args, **kwargs: P.kwargs) -> Obj:
        answer: Obj = await self.json(build(*args, **kwargs))
        return answer

    return functools.update_wrapper(method, build)


class Client:
    """Talks to one cluster; `name` is what error messages call it."""

    def __init__(
        self,
        transport: Transport,
        *,
        name: str,
        clock: Clock,
        credentials: Credentials = NOBODY,
        headers: Headers = (),
        patience: retry.Patience = retry.PATIENT,
        random: Random | None = None,
        hearing: Hearing | None = None,
    ) -> None:
        self.name = name
        self.clock = clock
        self.hearing = hearing or Hearing(clock)
        self.random = random or Random()  # noqa: S311 (spreads retries, guards no secret)
        self._transport = HeardTransport(transport, self.hearing, clock)
        self._credentials = credentials
        self._headers = (("User-Agent", USER_AGENT), *headers)
        self._patience = patience
        self._check: Check | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._transport.close()

    def insisting(self, *, within: Seconds) -> "Client":
        """Return a client of the same cluster that asks it even while it is silent, each thing once."""
        other = copy.copy(self)
        other._transport = self._transport.insisting()  # noqa: SLF001 (our own)
        other._patience = retry.Patience(answer=within, retries=0)  # noqa: SLF001
        return other

    def guarded(self, check: Check) -> "Client":
        """Return a client of the same cluster that asks right before each try of a call whether it may be sent."""
        other = copy.copy(self)
        other._check = check  # noqa: SLF001 (our own)
        return other

    get = _verb(calls.get)
    create = _verb(calls.create)
    update = _verb(calls.update)
    patch = _verb(calls.patch)
    delete = _verb(calls.delete)
    delete_collection = _verb(calls.delete_collection)
    raw = _verb(calls.raw)

    async def list(self, scope: Scope, *, page: int = calls.PAGE) -> Listing:
        """Read a collection whole, `page` objects at a time."""
        try:
            return await self._list(scope, page)
        except errors.Expired:
            # It took longer than the server remembers. All in one go cannot expire half-way.
            return await self._list(scope, 0)

    @asynccontextmanager
    async def stream(self, call: Call) -> AsyncIterator[Stream]:
        """Send a call and read its answer while it comes in; leaving the block drops the rest."""
        async with AsyncExitStack() as stack:
            stream = await self._open(call, stack)
            yield _Named(stream, lambda error: self._named(error, call))

    async def json(self, call: Call) -> Any:
        """Send a call and return the JSON it is answered with."""
        answer = await self.send(call)
        try:
            return orjson.loads(answer.body)
        except orjson.JSONDecodeError as error:
            raise errors.ServerFailure(f"{self._what(call)}: the answer is not JSON") from error

    async def send(self, call: Call) -> Answer:
        """Send a call, again where that is safe and may help."""
        body = b"" if call.body is None else orjson.dumps(call.body)
        for tries in count(1):
            try:
                return await self._try(call, body)
            except Error as error:
                spread = self.random.random()
                pause = retry.pause_after(error, call, tries, self._patience, spread)
                if pause is None:
                    raise
            await clock.sleep(self.clock, pause)
        raise AssertionError("count() never ends")

    async def _list(self, scope: Scope, page: int) -> Listing:
        items: list[Obj] = []
        resume = ""
        while True:
            call = calls.list_(scope, limit=page, resume=resume)
            part = await self.json(call)
            try:
                meta = part["metadata"]
                items += part["items"] or ()
                resume, version = meta.get("continue"), meta["resourceVersion"]
            except (KeyError, TypeError) as error:
                raise errors.ServerFailure(f"{self._what(call)}: not a list") from error
            if not resume:
                return Listing(items, version)

    async def _try(self, call: Call, body: bytes) -> Answer:
        identity = await self._credentials.identity()
        answer = await self._exchange(call, body, identity)
        if answer.code == REFUSED and self._credentials.reject(identity):
            answer = await self._exchange(call, body, await self._credentials.identity())
        if answer.code >= FAILED:
            raise self._error(call, answer)
        return answer

    async def _exchange(self, call: Call, body: bytes, identity: Identity) -> Answer:
        request = self._request(call, body, identity, PACKED if call.method == "GET" else ())
        if self._check is not None:
            self._check()
        try:
            answer = await self._transport.send(request, within=self._patience.answer)
        except (errors.Unreachable, BadInput) as error:
            raise self._named(error, call) from error
        is_packed = "content-encoding" in answer.headers
        return _unpacked(answer, self._what(call), request.longest) if is_packed else answer

    async def _open(self, call: Call, stack: AsyncExitStack) -> Stream:
        identity = await self._credentials.identity()
        stream = await self._enter(call, identity, stack)
        if stream.code == REFUSED and self._credentials.reject(identity):
            await stack.aclose()
            stream = await self._enter(call, await self._credentials.identity(), stack)
        if stream.code >= FAILED:
            body = await self._rest(stream)
            raise self._error(call, Answer(stream.code, stream.headers, body))
        return stream

    async def _enter(self, call: Call, identity: Identity, stack: AsyncExitStack) -> Stream:
        request = self._request(call, b"", identity)
        try:
            return await stack.enter_async_context(
                self._transport.stream(request, within=self._patience.answer)
            )
        except (errors.Unreachable, BadInput) as error:
            raise self._named(error, call) from error

    async def _rest(self, stream: Stream) -> bytes:
        """Read what a failed call was answered with; the code alone will do where that is cut short."""
        said = b""
        with suppress(errors.Unreachable, TimeoutError):
            async with clock.timeout(self.clock, self._patience.answer):
                while len(said) < LONGEST_EXCUSE and (part := await stream.read()):
                    said += part
        return said

    def _request(
        self, call: Call, body: bytes, identity: Identity, extra: Headers = ()
    ) -> Request:
        headers = (*self._headers, *extra, ("Accept", call.accept))
        if body:
            headers = (*headers, ("Content-Type", call.content_type))
        longest = LONGEST_LIST if call.is_about_many else LONGEST_OBJECT
        return Request(call.method, call.target, headers, body, identity, longest)

    def _what(self, call: Call) -> str:
        return f"{self.name}: {call}"

    def _named(self, error: Error, call: Call) -> Error:
        return type(error)(f"{self._what(call)}: {error}", hint=error.hint)

    def _error(self, call: Call, answer: Answer) -> Error:
        retry_after = _seconds(answer.headers.get("retry-after"))
        return errors.from_answer(self._what(call), answer.code, answer.body, retry_after)


class _Named:
    """A stream whose errors say what was asked, and of whom."""

    def __init__(self, stream: Stream, named: Callable[[Error], Error]) -> None:
        self.code = stream.code
        self.headers = stream.headers
        self._stream = stream
        self._named = named
        self._told: Error | None = None

    async def read(self) -> bytes:
        """Wait for more of the body and return all that has come; empty at its end."""
        try:
            return await self._stream.read()
        except errors.Unreachable as error:
            if error is self._told:
                raise
            raise self._named(error) from error

    def fail(self, error: errors.Unreachable) -> None:
        """Raise `error`, as it is, at the reader, after what has come before."""
        self._told = error
        self._stream.fail(error)


def connect(
    access: Access,
    *,
    name: str,
    clock: Clock,
    patience: retry.Patience = retry.PATIENT,
    observe: Observe | None = None,
    reach: Reach = HttpTransport,
    random: Random | None = None,
    hearing: Hearing | None = None,
) -> Client:
    """Return a client, by default over sockets; nothing is opened until the first call.

    `random` spreads retries; `hearing` takes note of what is heard, where that is to outlive the client.
    """
    transport = reach(access.server, clock)
    if observe is not None:
        transport = ObservedTransport(transport, observe, cluster=name, clock=clock)
    return Client(
        transport,
        name=name,
        clock=clock,
        credentials=access.credentials,
        headers=access.headers,
        patience=patience,
        random=random,
        hearing=hearing,
    )


def _unpacked(answer: Answer, what: str, longest: int) -> Answer:
    """Undo the compression that API servers give to long lists."""
    unpacking = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    try:
        body = unpacking.decompress(answer.body, longest)
    except zlib.error as error:
        raise errors.ServerFailure(f"{what}: the answer cannot be unpacked: {error}") from error
    if unpacking.unconsumed_tail:
        raise errors.TooLong(f"{what}: the answer unpacks to more than {longest} bytes")
    if not unpacking.eof:
        raise errors.ServerFailure(f"{what}: the answer was cut short")
    return replace(answer, body=body)


def _seconds(header: str | None) -> Seconds | None:
    """Read a Retry-After; the API server gives seconds, never a date."""
    return float(header) if header and header.isdecimal() else None
