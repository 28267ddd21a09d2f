import asyncio

import pytest

from jobferry.clock import SystemClock
from jobferry.errors import BadInput
from jobferry.kube import errors, transport
from jobferry.kube.access import ANONYMOUS, Identity, Server
from jobferry.kube.http1 import HIGH_WATER
from jobferry.kube.transport import HttpTransport
from jobferry.kube.wire import Request
from tests.unit.kube.peers import Visitor, always_ok, answer, saying, until
from tests.unit.kube.reach import open_at, reaching, reaching_securely, somebody

pytestmark = pytest.mark.usefixtures("tidy")

GET = Request("GET", "/")
HEAD_ONLY = answer(b"hello")[:-5]


def get(path: str = "/", identity: Identity = ANONYMOUS) -> Request:
    return Request("GET", path, identity=identity)


# -- connections are kept ----------------------------------------------------------------------


async def test_one_request_after_the_other_shares_a_connection() -> None:
    async with reaching(always_ok) as (http, peer):
        for number in range(10):
            got = await http.send(get(f"/{number}"), within=5)
            assert got.body == f"GET /{number} HTTP/1.1".encode()

        assert len(peer.visitors) == 1


async def test_requests_at_the_same_time_do_not_wait_for_each_other() -> None:
    everybody_is_here = asyncio.Barrier(20)

    async def together(visitor: Visitor) -> None:
        await visitor.request()
        await everybody_is_here.wait()
        await visitor.say(answer())

    async with reaching(together) as (http, peer):
        await asyncio.gather(*(http.send(GET, within=5) for _ in range(20)))

        assert len(peer.visitors) == 20


async def test_only_so_many_connections_are_kept_for_later() -> None:
    crowd = transport.IDLE + 6

    async with reaching(always_ok) as (http, peer):
        await asyncio.gather(*(http.send(GET, within=5) for _ in range(crowd)))
        assert len(peer.visitors) == crowd

        await until(lambda: open_at(peer) == transport.IDLE)
        await asyncio.gather(*(http.send(GET, within=5) for _ in range(transport.IDLE)))
        assert len(peer.visitors) == crowd


async def test_a_stream_read_to_its_end_leaves_its_connection_to_others() -> None:
    async with reaching(always_ok) as (http, peer):
        async with http.stream(GET, within=5) as stream:
            while await stream.read():
                pass
        await http.send(GET, within=5)

        assert len(peer.visitors) == 1


async def test_an_answer_that_came_whole_but_was_not_read_does_not_block_the_next() -> None:
    long = answer(bytes(HIGH_WATER + 1))

    async with reaching(saying(long, answer(b"next"))) as (http, _):
        async with http.stream(GET, within=5) as stream:
            reply = stream
            await until(lambda: getattr(reply, "is_complete", False))

        assert (await http.send(GET, within=5)).body == b"next"


async def test_a_new_token_needs_no_new_connection() -> None:
    async with reaching(always_ok) as (http, peer):
        for token in ("one", "two"):
            await http.send(get(identity=Identity(authorization=token)), within=5)

        assert len(peer.visitors) == 1


async def test_a_new_certificate_needs_new_connections() -> None:
    names = []

    async def look(visitor: Visitor) -> None:
        names.append(visitor.writer.get_extra_info("peercert")["subject"][0][0][1])
        await always_ok(visitor)

    ann, bob = somebody("ann"), somebody("bob")
    async with reaching_securely(look) as (http, peer):
        for who in (ann, ann, bob, bob, ann):
            await http.send(get(identity=who), within=5)

        assert names == ["ann", "bob", "ann"]
        await until(lambda: open_at(peer) == 1)


async def test_what_runs_goes_on_when_the_certificate_changes_but_is_not_kept() -> None:
    ann, bob = somebody("ann"), somebody("bob")

    async with reaching_securely(always_ok) as (http, peer):
        async with http.stream(get(identity=ann), within=5) as stream:
            await http.send(get(identity=bob), within=5)
            assert await stream.read() == b"GET / HTTP/1.1"

        await until(lambda: open_at(peer) == 1)
        await http.send(get(identity=bob), within=5)
        assert len(peer.visitors) == 2


# -- connections are lost ----------------------------------------------------------------------


async def test_a_connection_that_was_closed_meanwhile_is_passed_over() -> None:
    async with reaching(saying(answer())) as (http, peer):
        for _ in range(3):
            assert (await http.send(GET, within=5)).code == 200
            lane = http._lane
            assert lane is not None
            await until(lambda: not lane.idle[-1].is_open)  # noqa: B023 (awaited at once)

        assert len(peer.visitors) == 3


async def test_a_connection_that_is_closed_just_when_it_is_used_again_fails_that_one_alone() -> (
    None
):
    async def one_answer(visitor: Visitor) -> None:
        await visitor.request()
        await visitor.say(answer())
        await visitor.request()

    async with reaching(one_answer) as (http, peer):
        await http.send(GET, within=5)
        with pytest.raises(errors.Unreachable, match="the server closed the connection"):
            await http.send(GET, within=5)

        assert (await http.send(GET, within=5)).code == 200
        assert len(peer.visitors) == 2


@pytest.mark.parametrize("part", [answer(b"evil"), b"HTTP/1.1 200 OK\r\nContent-Le"])
async def test_an_answer_that_nobody_asked_for_reaches_nobody(part: bytes) -> None:
    async def talkative(visitor: Visitor) -> None:
        await visitor.request()
        await visitor.say(answer(b"good") + part)
        await always_ok(visitor)

    async with reaching(talkative) as (http, peer):
        for _ in range(3):
            assert (await http.send(GET, within=5)).body == b"good"

        assert len(peer.visitors) == 3


async def test_an_answer_cut_short_is_not_taken_for_whole() -> None:
    async with reaching(saying(answer(b"hello")[:-1])) as (http, _):
        with pytest.raises(errors.Unreachable):
            await http.send(GET, within=5)
        async with http.stream(GET, within=5) as stream:
            assert await stream.read() == b"hell"
            with pytest.raises(errors.Unreachable):
                await stream.read()


async def test_leaving_a_stream_early_drops_its_connection() -> None:
    async def half(visitor: Visitor) -> None:
        await visitor.request()
        await visitor.say(HEAD_ONLY + b"hel")
        await visitor.gone()

    async with reaching(half) as (http, peer):
        async with http.stream(GET, within=5) as stream:
            assert stream.code == 200

        await until(lambda: open_at(peer) == 0)


async def test_an_error_in_the_block_of_a_stream_drops_its_connection() -> None:
    async def half(visitor: Visitor) -> None:
        await visitor.request()
        await visitor.say(HEAD_ONLY)
        await visitor.gone()

    async with reaching(half) as (http, peer):
        with pytest.raises(ZeroDivisionError):
            async with http.stream(GET, within=5):
                raise ZeroDivisionError

        await until(lambda: open_at(peer) == 0)


async def test_closing_drops_every_connection_whoever_it_belongs_to() -> None:
    async def half(visitor: Visitor) -> None:
        if b"/slow" not in await visitor.request():
            await visitor.say(answer())
        await visitor.gone()

    ann, bob = somebody("ann"), somebody("bob")
    async with reaching_securely(half) as (http, peer):
        waiting = [
            asyncio.create_task(http.send(get("/slow", who), within=5)) for who in (ann, bob)
        ]
        await until(lambda: len(peer.visitors) == 2)
        await http.send(get(identity=bob), within=5)
        await http.close()
        outcomes = await asyncio.gather(*waiting, return_exceptions=True)

        assert [type(outcome) for outcome in outcomes] == [errors.Unreachable] * 2
        await until(lambda: open_at(peer) == 0)


# -- what cannot be sent -----------------------------------------------------------------------


async def test_a_token_with_a_line_break_is_refused_and_costs_no_connection() -> None:
    async with reaching(always_ok) as (http, peer):
        for _ in range(3):
            with pytest.raises(BadInput, match="line break"):
                await http.send(get(identity=Identity(authorization="a\r\nb: c")), within=5)
        await http.send(GET, within=5)

        assert len(peer.visitors) == 1


async def test_an_authority_that_is_none_is_refused_at_the_first_request() -> None:
    http = HttpTransport(Server(url="https://x", ca=b"junk"), SystemClock())

    with pytest.raises(BadInput, match="certificate-authority"):
        await http.send(GET, within=5)
