"""What localkube does not let anybody have: too much of its memory, its time, or its patience."""

import asyncio
import ssl
from collections.abc import AsyncIterator, MutableMapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson
import pytest

from jobferry.clock import SystemClock, sleep
from jobferry.localkube.apiserver.requests import body as bodies
from jobferry.localkube.apiserver.server import Settings, serve
from jobferry.localkube.apiserver.serving import listener
from jobferry.localkube.apiserver.serving.limits import Room
from jobferry.localkube.apiserver.storage.watch import MOST_BYTES
from jobferry.localkube.apiserver.timeouts import Timeouts
from jobferry.testing import assets
from jobferry.testing.clock import ManualClock
from jobferry.testing.control_plane import ControlPlane
from tests.api import fuzz_server
from tests.api.fuzz_plane import at_rest, place_of
from tests.api.fuzz_server import Ask, FuzzServer
from tests.api.fuzz_wire import Place

JSON = (("Content-Type", "application/json"),)
MAPS = "/api/v1/namespaces/default/configmaps"
CLOCK = SystemClock()
SOON = Timeouts(head=0.2)


@pytest.fixture
async def fuzzed(tmp_path: Path) -> AsyncIterator[FuzzServer]:
    async with fuzz_server.running(tmp_path) as found:
        yield found


def place(fuzzed: FuzzServer) -> Place:
    keys = fuzzed.server.keys
    context = ssl.create_default_context(cafile=str(keys.authority))
    context.load_cert_chain(keys.folder / "admin.crt", keys.folder / "admin.key")
    return Place(fuzzed.server.host, fuzzed.server.port, context)


async def say(where: Place, *parts: bytes, within: float = 20) -> bytes:
    """Send parts and return all that comes back until the server closes."""
    reader, writer = await asyncio.open_connection(where.host, where.port, ssl=where.context)
    heard = b""
    try:
        async with asyncio.timeout(within):
            with suppress(OSError, ssl.SSLError):
                for part in parts:
                    writer.write(part)
                    await writer.drain()
            with suppress(OSError, ssl.SSLError):
                while part := await reader.read(65536):
                    heard += part
    finally:
        writer.transport.abort()
    return heard


def head(method: str, path: str, *more: str) -> bytes:
    lines = (f"{method} {path} HTTP/1.1", "Host: x", "Connection: close", *more, "", "")
    return "\r\n".join(lines).encode()


TYPED = "Content-Type: application/json"


async def test_a_body_over_3_mib_is_refused_before_it_is_read(fuzzed: FuzzServer) -> None:
    length = f"Content-Length: {bodies.LIMIT + 1}"
    heard = await say(place(fuzzed), head("POST", MAPS, TYPED, length))
    assert heard.startswith(b"HTTP/1.1 413 ")
    assert b'"reason":"RequestEntityTooLarge"' in heard


async def test_a_body_over_3_mib_in_pieces_is_refused(fuzzed: FuzzServer) -> None:
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    sent = [chunk] * (bodies.LIMIT // 0x10000 + 1)
    heard = await say(
        place(fuzzed), head("POST", MAPS, TYPED, "Transfer-Encoding: chunked"), *sent
    )
    assert heard.startswith(b"HTTP/1.1 413 ")


async def test_a_body_of_3_mib_is_read(fuzzed: FuzzServer) -> None:
    empty = b'{"metadata":{"name":"a"}}'
    body = empty + b" " * (bodies.LIMIT - len(empty))
    heard = await say(
        place(fuzzed), head("POST", MAPS, TYPED, f"Content-Length: {len(body)}"), body
    )
    assert heard.startswith(b"HTTP/1.1 201 ")


async def test_what_is_nested_too_deep_is_refused(fuzzed: FuzzServer) -> None:
    deep = b'{"data":' + b'{"a":' * bodies.DEPTH + b"1" + b"}" * bodies.DEPTH + b"}"
    for kind in ("application/json", "application/yaml"):
        reply = await fuzzed.ask(Ask("POST", MAPS, deep, (("Content-Type", kind),)))
        assert reply.code == 400
        assert b"exceeded max depth" in reply.body
    assert not fuzzed.complaints.found


async def test_a_head_over_1_mib_is_refused(fuzzed: FuzzServer) -> None:
    endless = [b"X: " + b"x" * 0x10000] * (listener.MOST_HEAD // 0x10000 + 1)
    heard = await say(place(fuzzed), b"GET / HTTP/1.1\r\n", *endless)
    assert heard.startswith(b"HTTP/1.1 431 ")


@pytest.mark.parametrize("sent", [b"", b"GET / HT", b"GET /healthz HTTP/1.1\r\nHost: x\r\n"])
async def test_half_a_head_and_silence_end_the_connection(tmp_path: Path, sent: bytes) -> None:
    async with fuzz_server.running(tmp_path, timeouts=SOON) as fuzzed:
        assert await say(place(fuzzed), sent) == b""


async def test_half_a_second_request_and_silence_end_the_connection(
    tmp_path: Path,
) -> None:
    async with fuzz_server.running(tmp_path, timeouts=SOON) as fuzzed:
        first = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
        heard = await say(place(fuzzed), first, b"GET / HTTP/1.1\r\n")
        assert heard.startswith(b"HTTP/1.1 200 ")
        assert heard.count(b"HTTP/1.1") == 1


async def test_a_watch_outlasts_the_time_for_heads(
    tmp_path: Path,
) -> None:
    async with fuzz_server.running(tmp_path, timeouts=SOON) as fuzzed:
        heard = await say(place(fuzzed), head("GET", f"{MAPS}?watch=1&timeoutSeconds=1"))
        assert heard.endswith(b"0\r\n\r\n"), "it was cut off"


async def test_half_a_body_and_silence_end_the_request(tmp_path: Path) -> None:
    clock = ManualClock()
    async with serve(Settings(folder=tmp_path, in_memory=True), clock) as server:
        fuzzed = FuzzServer(server, fuzz_server.Complaints())
        asking = asyncio.ensure_future(
            say(place(fuzzed), head("POST", MAPS, TYPED, "Content-Length: 9"), b"{")
        )
        while server.app._room.writes == Room().writes:
            await sleep(CLOCK, 0.01)
        clock.advance(Timeouts().body)
        heard = await asking
        assert heard.startswith(b"HTTP/1.1 504 ")
        assert b'"reason":"Timeout"' in heard
        assert server.app._room.writes == Room().writes


async def test_who_finds_no_room_is_told_to_come_again(fuzzed: FuzzServer) -> None:
    room = fuzzed.server.app._room
    room.reads = room.writes = 0
    for ask in (Ask("GET", MAPS), Ask("GET", f"{MAPS}/a"), Ask("POST", MAPS, b"{}", JSON)):
        reply = await fuzzed.ask(ask)
        assert reply.code == 429
        assert (b"retry-after", b"1") in reply.headers
        assert reply.object()["reason"] == "TooManyRequests"
    for ask in (Ask("GET", f"{MAPS}?watch=1"), Ask("GET", "/readyz"), Ask("GET", "/livez")):
        assert (await fuzzed.ask(ask)).code == 200
    room.reads = 1
    for _ in range(3):
        assert (await fuzzed.ask(Ask("GET", MAPS))).code == 200


class Watcher:
    """Watches, and reads as fast as it is allowed to."""

    def __init__(self, fuzzed: FuzzServer) -> None:
        self.may_read = asyncio.Event()
        self.heard: list[bytes] = []
        self._begun = asyncio.Event()
        ask = Ask("GET", f"{MAPS}?watch=1&resourceVersion=0")
        self.running = asyncio.ensure_future(
            fuzzed.server.app(fuzz_server.scope(ask), self._receive, self._send)
        )

    async def begun(self) -> "Watcher":
        await self._begun.wait()
        return self

    async def _receive(self) -> dict[str, object]:
        await asyncio.get_running_loop().create_future()  # nothing more comes from it
        raise AssertionError

    async def _send(self, message: MutableMapping[str, Any]) -> None:
        self._begun.set()
        if body := message.get("body"):
            await self.may_read.wait()
            self.heard.append(bytes(body[:200]))


async def test_a_watcher_that_does_not_read_is_cut_off_and_others_see_everything(
    fuzzed: FuzzServer,
) -> None:
    nobody = fuzzed.watches
    slow, quick = await Watcher(fuzzed).begun(), await Watcher(fuzzed).begun()
    quick.may_read.set()
    assert fuzzed.watches == nobody + 2
    count = MOST_BYTES // 900_000 + 5
    for number in range(count):
        obj = {"metadata": {"name": f"m{number}"}, "data": {"x": "x" * 900_000}}
        reply = await fuzzed.ask(Ask("POST", MAPS, orjson.dumps(obj), JSON))
        assert reply.code == 201
    assert fuzzed.watches == nobody + 1, "the slow one still has a buffer"
    names = [f'"name":"m{number}"'.encode() for number in range(count)]
    assert all(any(name in part for part in quick.heard) for name in names)
    slow.may_read.set()
    await slow.running
    assert len(slow.heard) < count
    quick.running.cancel()
    await asyncio.wait((quick.running,))
    assert fuzzed.watches == nobody


@pytest.mark.timeout(120)
async def test_a_thousand_idle_watches_cost_little() -> None:
    async with ControlPlane(version=assets.LOCALKUBE) as plane:
        where = place_of(plane)
        writers = [await watching(where)]
        before = await at_rest(plane)
        for _ in range(20):
            writers += await asyncio.gather(*(watching(where) for _ in range(50)))
        during = await at_rest(plane)
        each = (during.memory - before.memory) / 1000
        print(f"{each / 1024:.1f} KB for each watch")  # noqa: T201 (worth knowing)
        assert during.files >= before.files + 1000
        assert each < 120 * 1024
        for writer in writers:
            writer.transport.abort()
        after = await at_rest(plane, before.files - 1)
        assert after.files < before.files


async def watching(where: Place) -> asyncio.StreamWriter:
    reader, writer = await asyncio.open_connection(where.host, where.port, ssl=where.context)
    writer.write(head("GET", f"{MAPS}?watch=1"))
    assert (await reader.readline()).startswith(b"HTTP/1.1 200 ")
    return writer


async def test_a_watch_goes_with_its_client_though_it_had_asked_for_more(
    fuzzed: FuzzServer,
) -> None:
    where, before = place(fuzzed), fuzzed.watches
    reader, writer = await asyncio.open_connection(where.host, where.port, ssl=where.context)
    asked = f"GET {MAPS}?watch=1 HTTP/1.1\r\nHost: x\r\n\r\n".encode()
    writer.write(asked + asked)
    assert (await reader.readline()).startswith(b"HTTP/1.1 200 ")
    assert fuzzed.watches == before + 1
    writer.transport.abort()
    while fuzzed.watches > before:
        await sleep(CLOCK, 0.01)


async def test_no_watch_stays_where_one_was_refused(fuzzed: FuzzServer) -> None:
    before = fuzzed.watches
    upgrade = (
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        f"Sec-WebSocket-Key: {'a' * 22}==",
    )
    asked = head("GET", f"{MAPS}?watch=1", *upgrade).replace(b"close", b"Upgrade")
    heard = await say(place(fuzzed), asked)
    assert heard.startswith(b"HTTP/1.1 400 ")
    assert b"no watches over WebSocket" in heard
    assert fuzzed.watches == before
