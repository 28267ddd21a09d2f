import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from jobferry.kube import errors
from jobferry.kube.access import Identity
from jobferry.kube.in_process import WAITING, App, InProcessTransport, Message
from jobferry.kube.wire import Request
from jobferry.testing.clock import ManualClock, settle

pytestmark = pytest.mark.usefixtures("tidy")

GET = Request("GET", "/")

Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


@asynccontextmanager
async def calling(
    app: App, clock: ManualClock | None = None, **extensions: Any
) -> AsyncIterator[InProcessTransport]:
    transport = InProcessTransport(app, clock or ManualClock(), extensions)
    yield transport
    await transport.close()


def head(code: int = 200, *headers: tuple[bytes, bytes]) -> Message:
    return {"type": "http.response.start", "status": code, "headers": list(headers)}


def body(data: bytes, *, more: bool = False) -> Message:
    return {"type": "http.response.body", "body": data, "more_body": more}


class Recorder:
    """An application that answers with what it was asked, and keeps the scope."""

    def __init__(self) -> None:
        self.scope: Message = {}

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        self.scope = scope
        request = await receive()
        await send(head(201, (b"X-Kind", b"echo")))
        await send(body(request["body"]))


class Patient:
    """An application that sends its head and then waits to hear that its caller has gone."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.has_spoken = asyncio.Event()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        await receive()
        await send(head())
        self.has_spoken.set()
        self.heard.append((await receive())["type"])


# -- an exchange ----------------------------------------------------------------------------------


async def test_a_request_reaches_the_application_and_its_answer_the_caller() -> None:
    async with calling(Recorder()) as transport:
        got = await transport.send(Request("POST", "/", (), b"{}"), within=1)

    assert (got.code, got.body) == (201, b"{}")
    assert got.headers == {"x-kind": "echo"}


async def test_the_application_sees_the_request_as_over_a_socket() -> None:
    app = Recorder()
    who = Identity(authorization="Bearer abc")
    request = Request("PUT", "/a%2Fb?x=%C3%BC&y", (("Impersonate-User", "Зоя"),), b"12", who)

    async with calling(app, tls={"user": "ann"}) as transport:
        await transport.send(request, within=1)

    assert app.scope["type"] == "http"
    assert app.scope["method"] == "PUT"
    assert app.scope["path"] == "/a/b"
    assert app.scope["raw_path"] == b"/a%2Fb"
    assert app.scope["query_string"] == b"x=%C3%BC&y"
    assert app.scope["extensions"] == {"tls": {"user": "ann"}}
    assert app.scope["headers"] == [
        (b"impersonate-user", "Зоя".encode()),
        (b"content-length", b"2"),
        (b"authorization", b"Bearer abc"),
    ]


async def test_one_request_cannot_change_who_calls_for_the_next() -> None:
    app = Recorder()

    async with calling(app, user="ann") as transport:
        await transport.send(GET, within=1)
        app.scope["extensions"]["user"] = "root"
        await transport.send(GET, within=1)

    assert app.scope["extensions"] == {"user": "ann"}


async def test_a_stream_is_read_while_it_is_written() -> None:
    turn = asyncio.Event()

    async def app(scope: Message, receive: Receive, send: Send) -> None:
        await send(head())
        await send(body(b"one", more=True))
        await turn.wait()
        await send(body(b"", more=True))
        await send(body(b"two"))

    async with calling(app) as transport, transport.stream(GET, within=1) as stream:
        first = await stream.read()
        turn.set()

        assert (stream.code, first) == (200, b"one")
        assert [await stream.read() for _ in range(3)] == [b"two", b"", b""]


async def test_what_an_application_does_after_its_answer_is_done() -> None:
    go_on, is_done = asyncio.Event(), asyncio.Event()

    async def app(scope: Message, receive: Receive, send: Send) -> None:
        await send(head())
        await send(body(b"{}"))
        await go_on.wait()
        is_done.set()

    async with calling(app) as transport:
        await transport.send(GET, within=1)
        go_on.set()
        await settle()

        assert is_done.is_set()


# -- callers that leave ---------------------------------------------------------------------------


async def test_leaving_a_stream_reaches_the_application_as_a_disconnect() -> None:
    app = Patient()

    async with calling(app) as transport:
        async with transport.stream(GET, within=1):
            assert app.heard == []
        await settle()

        assert app.heard == ["http.disconnect"]


async def test_a_caller_that_is_cancelled_reaches_the_application_as_a_disconnect() -> None:
    app = Patient()

    async with calling(app) as transport:
        sending = asyncio.create_task(transport.send(GET, within=1))
        await app.has_spoken.wait()
        sending.cancel()
        await asyncio.wait([sending])
        await settle()

        assert sending.cancelled()
        assert app.heard == ["http.disconnect"]


async def test_a_caller_that_loses_patience_reaches_the_application_as_a_disconnect() -> None:
    app, clock = Patient(), ManualClock()

    async with calling(app, clock) as transport:
        sending = asyncio.create_task(transport.send(GET, within=30))
        await app.has_spoken.wait()
        await clock.pass_time(30)

        with pytest.raises(errors.Timeout, match="no answer within 30 s"):
            await sending
        assert app.heard == ["http.disconnect"]
        assert clock.waiting == 0


async def test_a_write_goes_on_when_its_caller_has_gone() -> None:
    go_on, is_written = asyncio.Event(), asyncio.Event()

    async def app(scope: Message, receive: Receive, send: Send) -> None:
        await go_on.wait()
        is_written.set()
        await send(head())

    async with calling(app) as transport:
        sending = asyncio.create_task(transport.send(GET, within=30))
        await settle()
        sending.cancel()
        await asyncio.wait([sending])
        go_on.set()
        await settle()

        assert is_written.is_set()


async def test_a_head_that_does_not_come_in_time_is_given_up() -> None:
    async def app(scope: Message, receive: Receive, send: Send) -> None:
        await receive()
        await receive()

    clock = ManualClock()
    async with calling(app, clock) as transport:

        async def open_stream() -> None:
            async with transport.stream(GET, within=30):
                raise AssertionError("there is no answer")

        opening = asyncio.create_task(open_stream())
        await clock.pass_time(30)

        with pytest.raises(errors.Timeout):
            await opening


async def test_the_body_of_a_stream_may_take_its_time() -> None:
    app, clock = Patient(), ManualClock()

    async with calling(app, clock) as transport, transport.stream(GET, within=30):
        await clock.pass_time(1000)

        assert app.heard == []


async def test_an_application_that_writes_to_nobody_is_told() -> None:
    sent = 0

    async def app(scope: Message, receive: Receive, send: Send) -> None:
        nonlocal sent
        await send(head())
        while True:
            await send(body(b"x", more=True))
            sent += 1

    async with calling(app) as transport:
        async with transport.stream(GET, within=1) as stream:
            await settle()
            assert sent == WAITING
            await stream.read()
            await settle()
            assert sent == WAITING + 1
        await settle()

        assert sent == WAITING + 1
        assert transport._running == set()


async def test_closing_ends_what_still_runs_and_tells_who_waits() -> None:
    async def app(scope: Message, receive: Receive, send: Send) -> None:
        await asyncio.Event().wait()

    async with calling(app) as transport:
        sending = asyncio.create_task(transport.send(GET, within=30))
        await settle()
        await transport.close()

        with pytest.raises(errors.Unreachable, match="ended without a whole answer"):
            await sending


# -- applications that fail -----------------------------------------------------------------------


async def test_an_application_that_raises_is_told() -> None:
    async def app(scope: Message, receive: Receive, send: Send) -> None:
        raise ZeroDivisionError("oh")

    async with calling(app) as transport:
        with pytest.raises(errors.Unreachable, match=r"failed: ZeroDivisionError\('oh'\)"):
            await transport.send(GET, within=1)
        with pytest.raises(errors.Unreachable, match="failed: ZeroDivisionError"):
            async with transport.stream(GET, within=1):
                pass


@pytest.mark.parametrize("said", [[], [head()], [head(), body(b"x", more=True)]])
async def test_an_application_that_ends_early_is_told(said: list[Message]) -> None:
    async def app(scope: Message, receive: Receive, send: Send) -> None:
        for message in said:
            await send(message)

    async with calling(app) as transport:
        with pytest.raises(errors.Unreachable, match="ended without a whole answer"):
            await transport.send(GET, within=1)


async def test_what_came_before_a_failure_can_be_read_before_it_is_told() -> None:
    async def app(scope: Message, receive: Receive, send: Send) -> None:
        await send(head())
        await send(body(b"x", more=True))
        raise ZeroDivisionError

    async with calling(app) as transport, transport.stream(GET, within=1) as stream:
        assert await stream.read() == b"x"
        for _ in range(2):
            with pytest.raises(errors.Unreachable):
                await stream.read()


@pytest.mark.parametrize("said", [[body(b"x")], [head(), head()]])
async def test_an_application_that_breaks_the_protocol_is_told(said: list[Message]) -> None:
    async def app(scope: Message, receive: Receive, send: Send) -> None:
        for message in said:
            await send(message)

    async with calling(app) as transport:
        with pytest.raises(errors.Unreachable, match="was expected"):
            await transport.send(GET, within=1)
