import asyncio

import pytest

from jobferry.clock import Seconds
from jobferry.kube import errors
from jobferry.kube.observed import ObservedTransport
from jobferry.kube.wire import Answer, Request, Transport
from jobferry.testing.clock import ManualClock
from tests.unit.kube.wires import LOST, OK, Reading, Wire, status

WRITE = Request("PATCH", "/api/v1/nodes/n")
WATCH = Request("GET", "/api/v1/nodes?watch=1")


class Told:
    """What was told, and the transport that tells it."""

    def __init__(self, inner: Transport) -> None:
        self.clock = ManualClock()
        self.of: list[tuple[str, str, int, Seconds]] = []
        self.transport = ObservedTransport(
            inner, lambda *each: self.of.append(each), cluster="east", clock=self.clock
        )


class Slow(Wire):
    """Never answers."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = asyncio.Event()

    async def send(self, request: Request, *, within: Seconds) -> Answer:
        self.asked.set()
        await asyncio.Event().wait()
        return OK


async def test_each_answer_is_told_with_its_code() -> None:
    told = Told(Wire(OK, status(409, "Conflict")))

    assert await told.transport.send(WRITE, within=5) == OK
    assert (await told.transport.send(WRITE, within=5)).code == 409

    assert told.of == [("east", "PATCH", 200, 0), ("east", "PATCH", 409, 0)]


async def test_a_request_without_an_answer_is_told_too() -> None:
    told = Told(Wire(LOST))

    with pytest.raises(errors.Unreachable):
        await told.transport.send(WRITE, within=5)

    assert told.of == [("east", "PATCH", 0, 0)]


async def test_it_is_told_how_long_it_took_even_if_nobody_waited_for_the_end() -> None:
    wire = Slow()
    told = Told(wire)
    sending = asyncio.ensure_future(told.transport.send(WRITE, within=5))
    await wire.asked.wait()
    told.clock.advance(2)

    sending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sending

    assert told.of == [("east", "PATCH", 0, 2)]


async def test_a_stream_is_told_when_its_answer_begins() -> None:
    wire = Wire(Reading(200, [b"a", b"b"]))
    told = Told(wire)

    async with told.transport.stream(WATCH, within=5) as stream:
        assert told.of == [("east", "GET", 200, 0)]
        told.clock.advance(60)
        assert await stream.read() == b"a"

    assert told.of == [("east", "GET", 200, 0)]


async def test_a_stream_that_cannot_be_opened_is_told_once() -> None:
    told = Told(Wire(LOST))

    with pytest.raises(errors.Unreachable):
        async with told.transport.stream(WATCH, within=5):
            raise AssertionError("it opened")

    assert told.of == [("east", "GET", 0, 0)]
