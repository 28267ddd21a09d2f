"""A server that sends without end, or more than any API server does, takes no more than a bit of memory."""

import pytest

from jobferry.kube import errors
from jobferry.kube.http1 import MOST_BESIDES, Connection
from jobferry.kube.wire import Request
from tests.unit.kube.peers import Visitor, answer, saying
from tests.unit.kube.reach import connected

pytestmark = pytest.mark.usefixtures("tidy")

SHORT = Request("GET", "/", longest=1000)
OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


async def test_a_body_as_long_as_it_may_be_comes_whole(fed: Connection) -> None:
    reply = fed.ask(SHORT)
    fed.data_received(answer(bytes(1000)))

    assert (await reply.whole()).body == bytes(1000)
    assert fed.is_idle


async def test_an_answer_that_announces_too_much_is_not_read() -> None:
    async with connected(saying(OK + b"Content-Length: 1001\r\n\r\n")) as connection:
        with pytest.raises(errors.TooLong, match="longer than 1000 bytes"):
            await connection.ask(SHORT).whole()
        assert not connection.is_open


@pytest.mark.parametrize(
    ("head", "part"),
    [
        (CHUNKED, b"64\r\n" + bytes(100) + b"\r\n"),
        (CHUNKED, b"2\r\n" + bytes(2) + b"\r\n"),
        (OK + b"X-Kind: endless\r\n\r\n", bytes(100)),
    ],
)
async def test_who_hears_no_end_of_an_answer_hangs_up(head: bytes, part: bytes) -> None:
    async def flood(visitor: Visitor) -> None:
        await visitor.request()
        await visitor.say(head)
        while True:
            await visitor.say(part)

    async with connected(flood) as connection:
        with pytest.raises(errors.TooLong, match="longer than 1000 bytes"):
            await connection.ask(SHORT).whole()
        assert not connection.is_open


@pytest.mark.parametrize(
    ("head", "part"),
    [
        (OK, b"X-More: and so on\r\n"),
        (OK + b"X-More: ", b"and so on "),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        (CHUNKED + b"0\r\n", b"X-More: and so on\r\n"),
        (CHUNKED + b"1;extended=", b"anything"),
    ],
)
async def test_who_hears_no_end_of_headers_hangs_up(
    fed: Connection, head: bytes, part: bytes
) -> None:
    reply = fed.ask(SHORT)
    fed.data_received(head)
    for _ in range(MOST_BESIDES // len(part) + 1):
        if fed.is_open:
            fed.data_received(part)

    with pytest.raises(errors.TooLong, match="without a body"):
        await reply.whole()
    assert not fed.is_open


async def test_a_stream_may_be_of_any_length(fed: Connection) -> None:
    reply = fed.ask(SHORT)
    fed.data_received(CHUNKED)
    await reply.head()
    for _ in range(100):
        fed.data_received(b"64\r\n" + bytes(100) + b"\r\n")
        assert len(await reply.read()) == 100

    assert fed.is_open
