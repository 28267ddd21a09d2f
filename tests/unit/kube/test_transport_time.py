import asyncio
from random import Random

import pytest

from jobferry.kube import errors
from jobferry.kube.access import ANONYMOUS, Identity, Server
from jobferry.kube.http1 import HIGH_WATER
from jobferry.kube.transport import HttpTransport
from jobferry.kube.wire import Request
from jobferry.testing.clock import ManualClock
from tests.unit.kube.peers import Visitor, always_ok, answer, served, silent, until
from tests.unit.kube.reach import AUTHORITY, open_at, reaching, reaching_securely, somebody

pytestmark = pytest.mark.usefixtures("tidy")

GET = Request("GET", "/")
HEAD_ONLY = answer(b"hello")[:-5]


def get(path: str = "/", identity: Identity = ANONYMOUS) -> Request:
    return Request("GET", path, identity=identity)


# -- time --------------------------------------------------------------------------------------


@pytest.mark.parametrize("said", [b"", b"HTTP/1.1 200 OK\r\n", HEAD_ONLY, HEAD_ONLY + b"hell"])
async def test_an_answer_that_does_not_come_in_time_is_given_up(said: bytes) -> None:
    async def stuck(visitor: Visitor) -> None:
        await visitor.request()
        await visitor.say(said)
        await visitor.gone()

    clock = ManualClock()
    async with reaching(stuck, clock) as (http, peer):
        sending = asyncio.create_task(http.send(GET, within=30))
        await until(lambda: bool(peer.visitors))
        await clock.pass_time(29.9)
        assert not sending.done()
        await clock.pass_time(0.1)

        with pytest.raises(errors.Timeout, match=r"^no answer within 30 s$"):
            await sending
        await until(lambda: open_at(peer) == 0)
        assert clock.waiting == 0


async def test_a_head_that_does_not_come_in_time_is_given_up() -> None:
    clock = ManualClock()
    async with reaching(silent, clock) as (http, peer):

        async def open_stream() -> None:
            async with http.stream(GET, within=30):
                raise AssertionError("there is no answer")

        opening = asyncio.create_task(open_stream())
        await until(lambda: bool(peer.visitors))
        await clock.pass_time(30)

        with pytest.raises(errors.Timeout):
            await opening
        await until(lambda: open_at(peer) == 0)


async def test_the_body_of_a_stream_may_take_its_time() -> None:
    go_on = asyncio.Event()

    async def slow(visitor: Visitor) -> None:
        await visitor.request()
        await visitor.say(HEAD_ONLY)
        await go_on.wait()
        await visitor.say(b"hello")

    clock = ManualClock()
    async with reaching(slow, clock) as (http, _), http.stream(GET, within=30) as stream:
        await clock.pass_time(1000)
        go_on.set()

        assert await stream.read() == b"hello"


async def test_time_runs_out_while_dialling_too() -> None:
    clock = ManualClock()
    async with served(silent) as peer:
        server = Server(url=peer.url.replace("http:", "https:"), ca=AUTHORITY.certificate)
        http = HttpTransport(server, clock)
        sending = asyncio.create_task(http.send(GET, within=30))
        await until(lambda: bool(peer.visitors))
        await clock.pass_time(30)

        with pytest.raises(errors.Timeout):
            await sending


# -- giving up ---------------------------------------------------------------------------------


@pytest.mark.parametrize("said", [b"", HEAD_ONLY, HEAD_ONLY + b"hel"])
async def test_a_connection_with_half_an_answer_serves_nobody_else(said: bytes) -> None:
    has_spoken = asyncio.Event()

    async def stuck_at_first(visitor: Visitor) -> None:
        if len(peer.visitors) > 1:
            await always_ok(visitor)
        await visitor.request()
        await visitor.say(said)
        has_spoken.set()
        await visitor.gone()

    async with reaching(stuck_at_first) as (http, peer):
        sending = asyncio.create_task(http.send(GET, within=5))
        await has_spoken.wait()
        sending.cancel()
        await asyncio.wait([sending])

        assert sending.cancelled()
        assert (await http.send(get("/2"), within=5)).body == b"GET /2 HTTP/1.1"
        assert len(peer.visitors) == 2


async def test_no_answer_goes_astray_whenever_requests_are_given_up() -> None:
    random = Random(7)

    async def one(http: HttpTransport, number: int) -> bool:
        sending = asyncio.create_task(http.send(get(f"/{number}"), within=5))
        if number % 2:  # the others are answered, however busy the machine is
            for _ in range(random.randrange(30)):
                await asyncio.sleep(0)
            sending.cancel()
        await asyncio.wait([sending])
        if not sending.cancelled():
            assert sending.result().body == f"GET /{number} HTTP/1.1".encode()
        return sending.cancelled()

    async with reaching(always_ok) as (http, _):
        given_up = 0
        for number in range(0, 400, 4):
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(one(http, number + lane)) for lane in range(4)]
            given_up += sum(task.result() for task in tasks)

        assert given_up > 20


# -- a reader that is slower than the server ---------------------------------------------------


async def test_a_slow_reader_makes_the_server_wait_through_tls_too() -> None:
    sent = 0

    async def flood(visitor: Visitor) -> None:
        nonlocal sent
        await visitor.request()
        await visitor.say(b"HTTP/1.1 200 OK\r\nContent-Length: 33554432\r\n\r\n")
        for _ in range(512):
            await visitor.say(bytes(1 << 16))
            sent += 1 << 16

    async with (
        reaching_securely(flood) as (http, _),
        http.stream(get(identity=somebody("ann")), within=5) as stream,
    ):
        quiet = 0
        while quiet < 500:
            before = sent
            await asyncio.sleep(0)
            quiet = quiet + 1 if sent == before else 0
        stuck_at = sent
        parts = []
        while part := await stream.read():
            parts.append(len(part))

    # A megabyte here, and what the system keeps on both sides.
    assert stuck_at < 20 << 20
    assert sum(parts) == 32 << 20
    assert max(parts) < 2 * HIGH_WATER
