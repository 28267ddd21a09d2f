import socket

import pytest

from jobferry.kube import errors
from jobferry.kube.http1 import Connection
from jobferry.kube.wire import Request
from tests.unit.kube.peers import Visitor, answer, saying, silent, until
from tests.unit.kube.reach import connected

pytestmark = pytest.mark.usefixtures("tidy")

GET = Request("GET", "/")

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
ENDLESS = b"HTTP/1.1 200 OK\r\nX-Kind: endless\r\n\r\n"


@pytest.mark.parametrize(
    "garbage",
    [
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"\x15\x03\x03\x00\x02\x02\x46",
        b"HTTP/1.1 abc OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
        CHUNKED + b"zz\r\n",
        CHUNKED + b"1\r\nab\r\n",
    ],
)
async def test_what_is_not_http_is_told(fed: Connection, garbage: bytes) -> None:
    reply = fed.ask(GET)
    fed.data_received(garbage)

    with pytest.raises(errors.Unreachable, match="does not speak HTTP"):
        await reply.whole()
    assert not fed.is_open


@pytest.mark.parametrize("upgrade", ["", "Connection: upgrade\r\nUpgrade: websocket\r\n"])
async def test_a_switch_to_another_protocol_is_refused(fed: Connection, upgrade: str) -> None:
    reply = fed.ask(GET)
    fed.data_received(f"HTTP/1.1 101 Switching Protocols\r\n{upgrade}\r\nxyz".encode())

    with pytest.raises(errors.Unreachable, match="does not speak HTTP"):
        await reply.whole()
    assert not fed.is_open


@pytest.mark.parametrize(
    "part",
    [
        b"",
        b"HTTP/1.1 200 O",
        b"HTTP/1.1 200 OK\r\nX-A: b\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n",
        answer(b"hello")[:-1],
        CHUNKED,
        CHUNKED + b"5\r\nhel",
        CHUNKED + b"5\r\nhello\r\n",
        CHUNKED + b"5\r\nhello\r\n0\r\n",
    ],
)
async def test_an_answer_cut_short_is_no_answer(part: bytes) -> None:
    async with connected(saying(part)) as connection:
        reply = connection.ask(GET)

        with pytest.raises(errors.Unreachable, match="the server closed the connection"):
            await reply.whole()
        assert not connection.is_open


async def test_a_connection_that_is_reset_is_told() -> None:
    async def reset(visitor: Visitor) -> None:
        await visitor.request()
        await visitor.say(ENDLESS + b"hel")
        sock: socket.socket = visitor.writer.get_extra_info("socket")
        # Linger for no time at all: the system then sends a reset instead of a goodbye.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")

    async with connected(reset) as connection:
        reply = connection.ask(GET)

        with pytest.raises(errors.Unreachable, match=r"lost: .*reset"):
            await reply.whole()


async def test_what_came_before_a_cut_can_be_read_before_it_is_told() -> None:
    async with connected(saying(CHUNKED + b"5\r\nhello\r\n")) as connection:
        reply = connection.ask(GET)
        await reply.head()

        assert await reply.read() == b"hello"
        for _ in range(2):
            with pytest.raises(errors.Unreachable):
                await reply.read()


async def test_a_request_on_a_closed_connection_fails_at_once() -> None:
    async with connected(silent) as connection:
        connection.close()

        with pytest.raises(errors.Unreachable, match="already closed"):
            await connection.ask(GET).whole()


async def test_a_connection_on_its_way_out_is_not_idle_and_says_why_it_ends(
    fed: Connection,
) -> None:
    assert fed._transport is not None
    fed._transport.close()  # what event loops do when the other side says goodbye

    assert fed.is_open
    assert not fed.is_idle
    with pytest.raises(errors.Unreachable, match="the server closed the connection"):
        await fed.ask(GET).whole()


async def test_a_server_that_hangs_up_while_idle_is_noticed() -> None:
    async def one_answer(visitor: Visitor) -> None:
        await visitor.request()
        await visitor.say(answer())

    async with connected(one_answer) as connection:
        await connection.ask(GET).whole()
        await until(lambda: not connection.is_open)

        assert not connection.is_idle


@pytest.mark.parametrize("part", [answer(), answer()[:20], b"H"])
async def test_an_answer_that_nobody_asked_for_ends_the_connection(
    fed: Connection, part: bytes
) -> None:
    fed.data_received(part)

    assert not fed.is_idle


@pytest.mark.parametrize("part", [answer(b"two"), answer(b"two")[:20], b"H", b"garbage"])
async def test_of_two_answers_to_one_question_the_first_counts_and_the_connection_ends(
    fed: Connection, part: bytes
) -> None:
    reply = fed.ask(GET)
    fed.data_received(answer(b"one") + part)

    assert (await reply.whole()).body == b"one"
    assert not fed.is_idle
