import asyncio
import socket
from urllib.parse import urlsplit

import pytest

from jobferry.kube.tcp import HEAD_START, Address, Race
from jobferry.testing.clock import ManualClock
from tests.unit.kube.peers import LOOPBACK, always_ok, served, until
from tests.unit.kube.reach import unanswered

pytestmark = pytest.mark.usefixtures("tidy")


def at(port: int | None) -> Address:
    assert port is not None
    where = (LOOPBACK, port)
    return Address(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", where)


def refused() -> Address:
    with socket.create_server((LOOPBACK, 0)) as taken:
        return at(taken.getsockname()[1])


async def test_an_address_that_does_not_answer_gets_company_after_its_head_start() -> None:
    clock = ManualClock()
    async with unanswered() as dead, served(always_ok) as peer:
        addresses = [at(urlsplit(dead.url).port), at(peer.port)]
        race = asyncio.create_task(Race(clock).run(addresses))
        await clock.until_waiting()
        clock.advance(HEAD_START - 0.01)
        for _ in range(200):
            await asyncio.sleep(0)
        assert not race.done()

        clock.advance(0.02)
        sock = await race

        assert sock.getpeername() == (LOOPBACK, peer.port)
        sock.close()


async def test_an_address_that_refuses_is_passed_over_at_once() -> None:
    async with served(always_ok) as peer:
        sock = await Race(ManualClock()).run([refused(), refused(), at(peer.port)])

        assert sock.getpeername() == (LOOPBACK, peer.port)
        sock.close()


async def test_who_comes_second_is_hung_up_on() -> None:
    clock = ManualClock()
    async with served(always_ok) as peer:
        race = asyncio.create_task(Race(clock).run([at(peer.port)] * 3))
        for _ in range(2):
            await clock.until_waiting()
            clock.advance(HEAD_START)
            await asyncio.sleep(0)

        (await race).close()

        await until(lambda: all(visitor.reader.at_eof() for visitor in peer.visitors))


async def test_if_none_takes_it_the_last_reason_is_told() -> None:
    with pytest.raises(ConnectionRefusedError):
        await Race(ManualClock()).run([refused(), refused()])


async def test_a_race_that_is_called_off_leaves_nothing_behind() -> None:
    clock = ManualClock()
    async with unanswered() as dead:
        address = at(urlsplit(dead.url).port)
        race = asyncio.create_task(Race(clock).run([address] * 2))
        await clock.until_waiting()
        clock.advance(HEAD_START)
        for _ in range(200):
            await asyncio.sleep(0)

        race.cancel()
        await asyncio.wait([race])

        assert race.cancelled()
