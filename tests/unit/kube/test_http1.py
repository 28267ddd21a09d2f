import asyncio

import pytest

from jobferry.errors import BadInput
from jobferry.kube.access import Identity
from jobferry.kube.http1 import HIGH_WATER, PACE, Connection, Reply, encode
from jobferry.kube.wire import Request
from tests.unit.kube.peers import Visitor, answer, saying, until
from tests.unit.kube.reach import connected

pytestmark = pytest.mark.usefixtures("tidy")

GET = Request("GET", "/")

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
ENDLESS = b"HTTP/1.1 200 OK\r\nX-Kind: endless\r\n\r\n"

ANSWERS: dict[str, tuple[bytes, int, bytes]] = {
    "with a length": (answer(b"hello", 201), 201, b"hello"),
    "with nothing in it": (answer(b""), 200, b""),
    "in chunks": (CHUNKED + b"3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\n\r\n", 200, b"hello"),
    "in no chunks": (CHUNKED + b"0\r\n\r\n", 200, b""),
    "with a trailer": (CHUNKED + b"5\r\nhello\r\n0\r\nX-Sum: 7\r\n\r\n", 200, b"hello"),
    "announced": (
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\n"
        + answer(b"hello"),
        200,
        b"hello",
    ),
    "that can have no body": (b"HTTP/1.1 204 No Content\r\n\r\n", 204, b""),
    "with empty headers": (
        b"HTTP/1.1 200 OK\r\nX-A:\r\nContent-Length: 2\r\nX-B: \r\n\r\nok",
        200,
        b"ok",
    ),
}


# -- what comes back ---------------------------------------------------------------------------


@pytest.mark.parametrize(("wire", "code", "body"), ANSWERS.values(), ids=ANSWERS)
async def test_an_answer_is_the_same_however_it_is_cut(
    fed: Connection, wire: bytes, code: int, body: bytes
) -> None:
    for cut in range(len(wire)):
        reply = fed.ask(GET)
        for part in (wire[:cut], wire[cut:]):
            fed.data_received(part)

        got = await reply.whole()

        assert (got.code, got.body) == (code, body), cut
        assert fed.is_idle


@pytest.mark.parametrize(("wire", "code", "body"), ANSWERS.values(), ids=ANSWERS)
async def test_an_answer_may_come_byte_by_byte(
    fed: Connection, wire: bytes, code: int, body: bytes
) -> None:
    reply = fed.ask(GET)
    for byte in wire:
        fed.data_received(bytes([byte]))

    got = await reply.whole()

    assert (got.code, got.body) == (code, body)


async def test_headers_are_known_by_their_names_in_lower_case(fed: Connection) -> None:
    reply = fed.ask(GET)
    fed.data_received(answer(b"", 429, "Retry-After: 7", "X-Name: ü"))

    headers = (await reply.whole()).headers

    assert headers["retry-after"] == "7"
    assert headers["content-length"] == "0"


async def test_the_headers_of_an_announcement_are_not_those_of_the_answer(
    fed: Connection,
) -> None:
    reply = fed.ask(GET)
    fed.data_received(b"HTTP/1.1 103 Early Hints\r\nRetry-After: 7\r\n\r\n" + answer())

    assert "retry-after" not in (await reply.whole()).headers


async def test_the_head_is_there_before_the_body(fed: Connection) -> None:
    reply = fed.ask(GET)
    fed.data_received(answer(b"hello", 201)[:-5])

    await reply.head()

    assert (reply.code, reply.is_complete, fed.is_idle) == (201, False, False)


async def test_a_stream_gives_all_that_has_come_and_then_its_end(fed: Connection) -> None:
    reply = fed.ask(GET)
    fed.data_received(CHUNKED + b"2\r\nhe\r\n1\r\nl\r\n")

    first = await reply.read()
    fed.data_received(b"2\r\nlo\r\n0\r\n\r\n")

    assert (first, await reply.read(), await reply.read()) == (b"hel", b"lo", b"")
    assert await reply.read() == b""


async def test_an_answer_without_a_length_ends_with_its_connection() -> None:
    async with connected(saying(ENDLESS + b"hello")) as connection:
        got = await connection.ask(GET).whole()

        assert (got.code, got.body) == (200, b"hello")
        assert not connection.is_idle


@pytest.mark.parametrize(
    "wire",
    [
        answer(b"hello", 200, "Connection: close"),
        answer(b"hello").replace(b"HTTP/1.1", b"HTTP/1.0"),
    ],
    ids=["it says so", "its protocol is old"],
)
async def test_a_connection_that_will_be_closed_serves_nobody_else(
    fed: Connection, wire: bytes
) -> None:
    reply = fed.ask(GET)
    fed.data_received(wire)

    assert (await reply.whole()).body == b"hello"
    assert not fed.is_idle


async def test_a_body_of_fifty_megabytes_comes_whole() -> None:
    body = bytes(range(256)) * 200_000

    async with connected(saying(answer(body))) as connection:
        got = await connection.ask(GET).whole()

    assert got.body == body


# -- a reader that is slower than the server ---------------------------------------------------


async def flood(visitor: Visitor) -> None:
    await visitor.request()
    await visitor.say(b"HTTP/1.1 200 OK\r\nContent-Length: 20971520\r\n\r\n")
    for _ in range(320):
        await visitor.say(bytes(1 << 16))


def is_reading(connection: Connection) -> bool:
    assert connection._source is not None
    return connection._source.is_reading()


async def test_a_slow_reader_makes_the_server_wait() -> None:
    async with connected(flood) as connection:
        reply = connection.ask(GET)
        await reply.head()
        parts = []
        for _ in range(5):
            await until(lambda: reply.is_too_full)
            assert not is_reading(connection)
            parts.append(len(await reply.read()))
        while part := await reply.read():
            parts.append(len(part))

        assert sum(parts) == 20 << 20
        assert max(parts) < 2 * HIGH_WATER


async def test_a_busy_stream_is_read_again_only_after_a_moment(fed: Connection) -> None:
    reply = fed.ask(GET)
    fed.data_received(CHUNKED + b"3\r\none\r\n")
    assert is_reading(fed)
    fed.data_received(b"3\r\ntwo\r\n")
    assert not is_reading(fed)

    assert await reply.read() == b"onetwo"
    await until(lambda: is_reading(fed))


async def test_a_quiet_stream_is_read_at_once(fed: Connection) -> None:
    fed.ask(GET)
    fed.data_received(CHUNKED + b"3\r\none\r\n")

    await asyncio.sleep(3 * PACE)
    fed.data_received(b"3\r\ntwo\r\n")

    assert is_reading(fed)


async def test_a_stream_that_is_too_full_is_not_read_until_somebody_takes_it(
    fed: Connection,
) -> None:
    reply = fed.ask(GET)
    fed.data_received(CHUNKED + b"%x\r\n" % (2 * HIGH_WATER) + bytes(HIGH_WATER + 1))
    await asyncio.sleep(3 * PACE)
    assert not is_reading(fed)

    assert len(await reply.read()) == HIGH_WATER + 1
    assert is_reading(fed)


async def test_the_end_of_a_stream_leaves_no_pause_behind(fed: Connection) -> None:
    fed.ask(GET)
    fed.data_received(CHUNKED + b"3\r\none\r\n")
    fed.data_received(b"3\r\ntwo\r\n")
    assert not is_reading(fed)
    fed.data_received(b"0\r\n\r\n")

    assert fed.is_idle
    assert is_reading(fed)


async def test_who_wants_it_all_never_stops_the_server(fed: Connection) -> None:
    reply = fed.ask(GET)
    body = bytes(3 * HIGH_WATER)
    waiting = asyncio.create_task(reply.whole())
    await asyncio.sleep(0)
    fed.data_received(answer(body)[:-1])

    assert is_reading(fed)

    fed.data_received(b"\0")
    assert (await waiting).body == body


async def test_a_long_answer_that_nobody_reads_does_not_block_the_next_one() -> None:
    async def long_then_short(visitor: Visitor) -> None:
        await visitor.request()
        await visitor.say(answer(bytes(HIGH_WATER + 1)))
        await visitor.request()
        await visitor.say(answer(b"next"))

    async with connected(long_then_short) as connection:
        unread = connection.ask(GET)
        await until(lambda: unread.is_complete)
        assert connection.is_idle

        assert (await connection.ask(GET).whole()).body == b"next"
        assert len(await unread.read()) == HIGH_WATER + 1


async def test_a_reader_that_left_does_not_hear_of_the_end(fed: Connection) -> None:
    reply = fed.ask(GET)
    waiting = asyncio.create_task(reply.read())
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait([waiting])

    fed.data_received(answer(b"hello"))

    assert await reply.read() == b"hello"


# -- what is sent ------------------------------------------------------------------------------


def lines(request: Request, host: str = "host", prefix: str = "") -> list[bytes]:
    return encode(request, host, prefix).split(b"\r\n")


def test_a_request_is_written_as_http_has_it() -> None:
    who = Identity(authorization="Bearer abc")
    request = Request("PATCH", "/a?b=c", (("X-A", "b"), ("X-C", "d")), b"{}", who)

    assert lines(request) == [
        b"PATCH /a?b=c HTTP/1.1",
        b"Host: host",
        b"X-A: b",
        b"X-C: d",
        b"Authorization: Bearer abc",
        b"Content-Length: 2",
        b"",
        b"{}",
    ]


@pytest.mark.parametrize(
    ("method", "body", "length"),
    [
        ("GET", b"", None),
        ("DELETE", b"", None),
        ("DELETE", b"{}", b"Content-Length: 2"),
        ("POST", b"", b"Content-Length: 0"),
        ("PUT", b"", b"Content-Length: 0"),
        ("PATCH", b"", b"Content-Length: 0"),
    ],
)
def test_the_length_is_told_where_a_body_is_expected(
    method: str, body: bytes, length: bytes | None
) -> None:
    told = [line for line in lines(Request(method, "/", (), body)) if b"Length" in line]

    assert told == ([] if length is None else [length])


def test_paths_begin_where_the_server_does() -> None:
    first, *_ = lines(Request("GET", "/api?x=y"), prefix="/k8s/clusters/c-1")

    assert first == b"GET /k8s/clusters/c-1/api?x=y HTTP/1.1"


def test_headers_are_sent_as_utf_8_which_is_how_api_servers_read_them() -> None:
    request = Request("GET", "/", (("Impersonate-User", "Зоя"),))

    assert "Impersonate-User: Зоя".encode() in lines(request)


@pytest.mark.parametrize("ending", ["\r\n", "\n", "\r"])
@pytest.mark.parametrize("place", ["target", "name", "value", "token"])
def test_a_line_break_is_refused_wherever_it_hides(place: str, ending: str) -> None:
    parts = dict.fromkeys(("target", "name", "value", "token"), "x")
    parts[place] = f"x{ending}Evil: yes"
    request = Request(
        "GET",
        parts["target"],
        ((parts["name"], parts["value"]),),
        identity=Identity(authorization=parts["token"]),
    )

    with pytest.raises(BadInput, match="line break") as caught:
        encode(request, "host")

    assert "Evil" not in str(caught.value)


async def test_a_request_that_cannot_be_written_leaves_the_connection_usable(
    fed: Connection,
) -> None:
    with pytest.raises(BadInput):
        fed.ask(Request("GET", "/\n"))

    reply: Reply = fed.ask(GET)
    fed.data_received(answer(b"hello"))

    assert (await reply.whole()).body == b"hello"
