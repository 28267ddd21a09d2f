import asyncio
from typing import Any

import orjson
import pytest

from jobferry.clock import SystemClock
from jobferry.errors import BadInput, Error
from jobferry.kube import errors
from jobferry.kube.access import Access, Fixed, Identity, Server
from jobferry.kube.calls import Call, PatchKind, Scope
from jobferry.kube.client import USER_AGENT, connect
from jobferry.kube.resources import CONFIG_MAPS, NODES
from jobferry.kube.wire import LONGEST_OBJECT, Answer, Request
from jobferry.testing.clock import ManualClock, settle
from tests.unit.kube.peers import Visitor, answer, served
from tests.unit.kube.wires import (
    CREATE,
    DELETE,
    LOST,
    OK,
    PATCH,
    READ,
    Reading,
    Tokens,
    Wire,
    busy,
    client_over,
    status,
)


async def failure(wire: Wire, call: Call = READ, credentials: Any = None) -> Error:
    """Send a call that fails without any wait."""
    with pytest.raises(Error) as caught:
        await client_over(wire, credentials=credentials).send(call)
    return caught.value


# -- what is sent ------------------------------------------------------------------------------


async def test_every_request_says_who_sends_it_and_what_it_takes() -> None:
    wire = Wire(OK)

    await client_over(wire).get(NODES, "n")

    assert wire.requests == [
        Request(
            "GET",
            "/api/v1/nodes/n",
            (
                ("User-Agent", USER_AGENT),
                ("Impersonate-User", "ann"),
                ("Accept-Encoding", "gzip"),
                ("Accept", "application/json"),
            ),
            longest=LONGEST_OBJECT,
        )
    ]
    assert wire.within == [30.0]


async def test_a_body_is_sent_as_json_of_its_own_type() -> None:
    wire = Wire(OK)

    await client_over(wire).patch(NODES, "n", [{"op": "test"}], kind=PatchKind.JSON)

    assert wire.requests[0].body == b'[{"op":"test"}]'
    assert ("Content-Type", "application/json-patch+json") in wire.requests[0].headers


@pytest.mark.parametrize("body", [{}, []])
async def test_an_empty_body_is_a_body(body: Any) -> None:
    wire = Wire(OK)

    await client_over(wire).patch(NODES, "n", body)

    assert wire.requests[0].body == orjson.dumps(body)


async def test_each_verb_returns_what_it_is_answered_with() -> None:
    obj = {"metadata": {"name": "n"}}
    wire = Wire(*[OK] * 7)
    client = client_over(wire)

    answers = [
        await client.get(NODES, "n"),
        await client.create(NODES, obj),
        await client.update(NODES, obj),
        await client.patch(NODES, "n", {}),
        await client.delete(NODES, "n"),
        await client.delete_collection(Scope(resource=NODES)),
        await client.raw("/version"),
    ]

    assert answers == [{"kind": "Node"}] * 7
    methods = " ".join(request.method for request in wire.requests)
    assert methods == "GET POST PUT PATCH DELETE DELETE GET"


async def test_leaving_the_client_closes_its_transport() -> None:
    wire = Wire()

    async with client_over(wire):
        assert wire.log == []

    assert wire.log == ["closed"]


# -- trying again ------------------------------------------------------------------------------


@pytest.mark.parametrize("call", [READ, CREATE, PATCH, DELETE], ids=str)
@pytest.mark.parametrize("code", [429, 503])
async def test_a_busy_server_is_given_the_time_it_asks_for(call: Call, code: int) -> None:
    clock, wire = ManualClock(), Wire(busy(2, code), busy(1, code), OK)

    sending = asyncio.create_task(client_over(wire, clock=clock).send(call))
    await clock.pass_time(1.99)
    assert len(wire.requests) == 1
    await clock.pass_time(0.51)
    assert len(wire.requests) == 2
    await clock.pass_time(1.25)

    assert await sending == OK
    assert wire.requests[0] == wire.requests[1] == wire.requests[2]
    assert clock.waiting == 0


async def test_a_server_that_stays_busy_is_told() -> None:
    clock, wire = ManualClock(), Wire(*[busy(1)] * 4)

    sending = asyncio.create_task(client_over(wire, clock=clock).send(READ))
    await clock.pass_time(10)

    with pytest.raises(errors.TooManyRequests):
        await sending
    assert wire.outcomes == []


async def test_a_wait_that_is_too_long_is_left_to_the_caller() -> None:
    error = await failure(Wire(busy(11)))

    assert isinstance(error, errors.TooManyRequests)
    assert error.retry_after == 11


@pytest.mark.parametrize("header", ["Wed, 21 Oct 2026 07:28:00 GMT", "-1", "1.5", "", "²"])
async def test_a_wait_that_is_no_number_of_seconds_is_no_wait(header: str) -> None:
    error = await failure(Wire(busy(header)))

    assert isinstance(error, errors.TooManyRequests)
    assert error.retry_after is None


@pytest.mark.parametrize("call", [READ, DELETE], ids=str)
async def test_what_may_be_done_twice_survives_lost_connections(call: Call) -> None:
    clock, wire = ManualClock(), Wire(LOST, LOST, LOST, OK)

    sending = asyncio.create_task(client_over(wire, clock=clock).send(call))
    await clock.pass_time(2)

    assert await sending == OK


@pytest.mark.parametrize("call", [CREATE, PATCH], ids=str)
async def test_what_may_not_be_done_twice_is_not(call: Call) -> None:
    error = await failure(Wire(LOST), call)

    assert type(error) is errors.Unreachable
    assert str(error) == f"east: {call}: the server closed the connection"


async def test_a_call_that_is_given_up_while_it_waits_leaves_no_timer() -> None:
    clock, wire = ManualClock(), Wire(busy(2))

    sending = asyncio.create_task(client_over(wire, clock=clock).send(READ))
    await clock.until_waiting()
    sending.cancel()
    await asyncio.wait([sending])

    assert clock.waiting == 0


@pytest.mark.parametrize(
    "outcome",
    [
        status(400, "BadRequest"),
        status(403, "Forbidden", retry_after="1"),
        status(404, "NotFound"),
        status(409, "Conflict", retry_after="1"),
        status(410, "Expired"),
        status(422, "Invalid"),
        status(500, "InternalError", retry_after="1"),
        status(503, "ServiceUnavailable"),
        status(504, "Timeout", retry_after="1"),
        errors.Timeout("no answer"),
        errors.Untrusted("no trust"),
    ],
    ids=lambda outcome: str(getattr(outcome, "code", outcome)),
)
async def test_every_other_failure_is_final(outcome: Answer | Error) -> None:
    wire = Wire(outcome)

    error = await failure(wire)

    assert str(error).startswith("east: GET /api/v1/nodes/n: no")
    assert wire.outcomes == []


async def test_an_error_keeps_its_kind_and_its_hint_when_it_is_named() -> None:
    error = await failure(Wire(BadInput("the key is encrypted", hint="Decrypt it.")))

    assert type(error) is BadInput
    assert str(error) == "east: GET /api/v1/nodes/n: the key is encrypted"
    assert error.hint == "Decrypt it."


# -- who we are --------------------------------------------------------------------------------


@pytest.mark.parametrize("call", [READ, CREATE], ids=str)
async def test_a_refused_token_is_renewed_once(call: Call) -> None:
    tokens, wire = Tokens("old", "new"), Wire(status(401), OK)

    assert await client_over(wire, credentials=tokens).send(call) == OK
    assert tokens.rejected == ["old"]
    assert [request.identity.authorization for request in wire.requests] == ["old", "new"]


async def test_a_renewed_token_that_is_refused_too_ends_it() -> None:
    tokens, wire = Tokens("old", "new", "newest"), Wire(status(401), status(401))

    error = await failure(wire, credentials=tokens)

    assert isinstance(error, errors.Unauthorized)
    assert len(wire.requests) == 2


async def test_a_refused_token_that_cannot_be_renewed_ends_it() -> None:
    tokens, wire = Tokens("only"), Wire(status(401))

    error = await failure(wire, credentials=tokens)

    assert isinstance(error, errors.Unauthorized)
    assert tokens.rejected == ["only"]


async def test_no_right_is_no_reason_to_renew_a_token() -> None:
    tokens = Tokens("old", "new")

    error = await failure(Wire(status(403)), credentials=tokens)

    assert isinstance(error, errors.Forbidden)
    assert tokens.rejected == []


async def test_a_stream_is_opened_again_with_a_renewed_token() -> None:
    tokens = Tokens("old", "new")
    wire = Wire(Reading(401, [None]), Reading(200, [b"hello"]))

    async with client_over(wire, credentials=tokens).stream(READ) as stream:
        assert await stream.read() == b"hello"
        # The refused one does not keep a connection for as long as the other lasts.
        assert wire.log == ["opened", "left", "opened"]

    assert tokens.rejected == ["old"]
    assert wire.log[-1] == "left"


async def test_a_stream_that_is_refused_twice_ends_it() -> None:
    tokens = Tokens("old", "new", "newest")
    wire = Wire(Reading(401, []), Reading(401, []))

    with pytest.raises(errors.Unauthorized):
        async with client_over(wire, credentials=tokens).stream(READ):
            pass

    assert tokens.rejected == ["old"]


# -- answers that are not what was asked for ---------------------------------------------------


@pytest.mark.parametrize("body", [b"", b"<html>hello</html>", b'{"half":', b"\xff"])
async def test_an_answer_that_is_not_json_is_told(body: bytes) -> None:
    with pytest.raises(
        errors.ServerFailure, match=r"^east: GET /version: the answer is not JSON$"
    ):
        await client_over(Wire(Answer(200, {}, body))).raw("/version")


@pytest.mark.parametrize("code", [301, 302, 307])
async def test_a_login_page_is_no_answer(code: int) -> None:
    page = Answer(code, {"location": "https://login"}, b"<a href='https://login'>Found</a>")

    error = await failure(Wire(page))

    assert isinstance(error, errors.ApiError)
    assert f"HTTP {code}" in str(error)


# -- over sockets ------------------------------------------------------------------------------


async def test_a_connected_client_talks_to_the_server_it_was_given() -> None:
    heads = []

    async def script(visitor: Visitor) -> None:
        while True:
            heads.append(await visitor.request())
            await visitor.say(answer(b'{"kind": "ConfigMap"}'))

    async with served(script) as peer:
        access = Access(
            server=Server(url=f"{peer.url}/prefix"),
            credentials=Fixed(Identity(authorization="Bearer abc")),
            headers=(("Impersonate-User", "ann"),),
        )
        async with connect(access, name="east", clock=SystemClock()) as client:
            got = await client.create(CONFIG_MAPS, {"metadata": {"namespace": "ns"}})
        await settle()

    assert got == {"kind": "ConfigMap"}
    assert heads[0].split(b"\r\n") == [
        b"POST /prefix/api/v1/namespaces/ns/configmaps HTTP/1.1",
        f"Host: 127.0.0.1:{peer.port}".encode(),
        f"User-Agent: {USER_AGENT}".encode(),
        b"Impersonate-User: ann",
        b"Accept: application/json",
        b"Content-Type: application/json",
        b"Authorization: Bearer abc",
        b"Content-Length: 68",
        b"",
        b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":"ns"}}',
    ]
