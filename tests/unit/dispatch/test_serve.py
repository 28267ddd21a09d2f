import asyncio
import re
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jobferry.clock import SystemClock
from jobferry.dispatch import serve
from jobferry.errors import BadInput
from jobferry.kube.calls import Scope
from jobferry.kube.informer import Informer
from jobferry.kube.items import Head
from jobferry.kube.resources import JOBS
from jobferry.metrics import CONTENT_TYPE, Registry
from jobferry.runtime import supervise
from jobferry.settings.readers import Address
from jobferry.testing.clock import ManualClock
from tests.unit.kube.peers import until
from tests.unit.kube.wires import Wire, client_over


@dataclass
class Server:
    """A server under test."""

    clock: ManualClock = field(default_factory=ManualClock)
    registry: Registry = field(default_factory=Registry)
    missing: list[str] = field(default_factory=list)
    port: int = 0

    def readiness(self) -> list[str]:
        return self.missing

    async def ask(self, request: str | bytes) -> "Answer":
        """Send these bytes and read until the server ends."""
        async with self.caller() as (reader, writer):
            writer.write(request.encode() if isinstance(request, str) else request)
            return parse(await reader.read())

    async def get(self, path: str) -> "Answer":
        return await self.ask(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n")

    @asynccontextmanager
    async def caller(
        self,
    ) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            yield reader, writer
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()


@dataclass
class Answer:
    code: int
    headers: dict[str, str]
    body: str


def parse(raw: bytes) -> Answer:
    head, _, body = raw.decode().partition("\r\n\r\n")
    first, *rest = head.split("\r\n")
    match = re.fullmatch(r"HTTP/1\.1 (\d{3}) [A-Z][A-Za-z ]+", first)
    assert match is not None
    headers = dict(line.split(": ") for line in rest)
    assert int(headers["Content-Length"]) == len(body.encode())
    assert headers["Connection"] == "close"
    return Answer(int(match[1]), headers, body)


@asynccontextmanager
async def running() -> AsyncIterator[Server]:
    server = Server()
    pages = serve.pages(server.registry, server.readiness)
    async with serve.listening(Address("127.0.0.1", 0), pages, server.clock) as listener:
        server.port = listener.sockets[0].getsockname()[1]
        yield server


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with running() as server:
        yield server


# -- what is served ----------------------------------------------------------------------------


async def test_metrics_are_served_as_prometheus_wants_them(server: Server) -> None:
    server.registry.counter("a_total", "Ä.").add(by=3)

    answer = await server.get("/metrics")

    assert (answer.code, answer.headers["Content-Type"]) == (200, CONTENT_TYPE)
    assert answer.body == "# HELP a_total Ä.\n# TYPE a_total counter\na_total 3\n"


async def test_a_process_that_answers_is_alive(server: Server) -> None:
    server.missing.append("Jobs: not listed yet")

    answer = await server.get("/healthz")

    assert (answer.code, answer.body) == (200, "ok\n")


async def test_it_is_ready_once_nothing_is_missing_and_says_what_is(server: Server) -> None:
    server.missing += ["Jobs: not listed yet", "Queues: not listed yet"]
    answer = await server.get("/readyz")
    assert answer.code == 503
    assert answer.body == "not ready\nJobs: not listed yet\nQueues: not listed yet\n"

    server.missing.clear()

    answer = await server.get("/readyz")
    assert (answer.code, answer.body) == (200, "ready\n")


async def test_a_query_makes_no_difference(server: Server) -> None:
    assert (await server.get("/healthz?verbose=1")).code == 200


async def test_an_old_caller_and_bare_line_ends_are_understood(server: Server) -> None:
    assert (await server.ask("GET /healthz HTTP/1.0\n\n")).code == 200


async def test_a_request_may_come_byte_by_byte(server: Server) -> None:
    async with server.caller() as (reader, writer):
        for byte in b"GET /healthz HTTP/1.1\r\n\r\n":
            writer.write(bytes([byte]))
            await writer.drain()
        assert parse(await reader.read()).code == 200


async def test_large_metrics_arrive_whole(server: Server) -> None:
    counter = server.registry.counter("a_total", "", "name")
    for number in range(20_000):
        counter.add(f"{number}-{'x' * 50}")

    answer = await server.get("/metrics")

    assert answer.body.count("\n") == 20_002


# -- what is refused ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("request_line", "code"),
    [
        ("POST /metrics HTTP/1.1", 405),
        ("HEAD /healthz HTTP/1.1", 405),
        ("GET / HTTP/1.1", 404),
        ("GET /metrics/ HTTP/1.1", 404),
        ("GET /metrics/../../etc/passwd HTTP/1.1", 404),
        ("GET http://localhost/metrics HTTP/1.1", 404),
        ("OPTIONS * HTTP/1.1", 404),
        ("PRI * HTTP/2.0", 400),
        ("GET /metrics HTTP/1.2", 400),
        ("GET /metrics", 400),
        ("get /metrics HTTP/1.1", 400),
        ("GET  /metrics HTTP/1.1", 400),
        ("GET /met\trics HTTP/1.1", 400),
        ("\r\nGET /metrics HTTP/1.1", 400),
        ("", 400),
        ("\x16\x03\x01\x02\x00\x01", 400),
    ],
)
async def test_other_requests_are_answered_with_their_fault(
    server: Server, request_line: str, code: int
) -> None:
    answer = await server.ask(f"{request_line}\r\nHost: localhost\r\n\r\n\r\n")

    assert answer.code == code
    assert answer.headers["Allow"] == "GET"
    assert "passwd" not in answer.body


@pytest.mark.parametrize("end", ["", "\r\n\r\n"])
async def test_a_request_that_is_too_large_is_refused(server: Server, end: str) -> None:
    answer = await server.ask("GET /healthz HTTP/1.1\r\nX: " + "x" * 1_000_000 + end)

    assert answer.code == 431


async def test_the_answer_arrives_though_the_caller_still_sends(server: Server) -> None:
    body = "x" * 1_000_000

    answer = await server.ask(f"POST /metrics HTTP/1.1\r\nContent-Length: 9\r\n\r\n{body}")

    assert answer.code == 405


async def test_of_several_requests_on_one_connection_the_first_is_answered(
    server: Server,
) -> None:
    answer = await server.ask("GET /healthz HTTP/1.1\r\n\r\n" * 2)

    assert (answer.code, answer.body) == (200, "ok\n")


async def test_what_comes_after_the_answer_is_not_read(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    async with server.caller() as (reader, writer):
        writer.write(b"GET /healthz HTTP/1.1\r\n\r\n")
        assert parse(await reader.read()).code == 200

        writer.write(b"GET /healthz HTTP/1.1\r\n\r\n")
        assert (await server.get("/healthz")).code == 200

    await until(lambda: server.clock.waiting == 0)
    assert caplog.messages == []


async def test_a_page_that_fails_takes_nothing_else_with_it(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    def read() -> dict[tuple[str, ...], float]:
        raise KeyError("hunter2")

    server.registry.gauge("g", "").read_from(read)

    answer = await server.get("/metrics")

    assert (answer.code, answer.body) == (500, "Internal Server Error\n")
    assert "Page failed" in caplog.text
    assert (await server.get("/healthz")).code == 200


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.binary(max_size=200), max_size=5))
def test_no_bytes_do_any_harm(parts: list[bytes]) -> None:
    async def send() -> None:
        async with running() as server:
            async with server.caller() as (reader, writer):
                for part in parts:
                    writer.write(part)
                writer.write_eof()
                if raw := await reader.read():
                    assert 400 <= parse(raw).code < 500
            assert (await server.get("/healthz")).code == 200

    asyncio.run(send())


# -- time and numbers --------------------------------------------------------------------------


async def is_cut_off(reader: asyncio.StreamReader) -> bool:
    try:
        return await reader.read() == b""
    except ConnectionError:
        return True


@pytest.mark.parametrize("sent", [b"", b"GET /healthz HTTP/1.1\r\nX: "])
async def test_a_caller_who_takes_too_long_is_cut_off(server: Server, sent: bytes) -> None:
    async with server.caller() as (reader, writer):
        writer.write(sent)
        await server.clock.until_waiting()

        server.clock.advance(serve.PATIENCE)

        assert await is_cut_off(reader)


async def test_a_caller_who_does_not_hang_up_is_cut_off(server: Server) -> None:
    async with server.caller() as (reader, writer):
        writer.write(b"GET /healthz HTTP/1.1\r\n\r\n")
        assert parse(await reader.read()).code == 200
        assert server.clock.waiting == 1

        server.clock.advance(serve.PATIENCE)
        await until(lambda: server.clock.waiting == 0)

        with pytest.raises(ConnectionError):  # noqa: PT012 (the first write may still find room)
            while True:
                writer.write(b"x")
                await writer.drain()
                await asyncio.sleep(0)


async def test_a_caller_who_does_not_read_is_cut_off(server: Server) -> None:
    """Nor does what was to be said to it stay in memory."""
    server.registry.counter("a_total", "x" * 20_000_000)
    async with server.caller() as (_, writer):
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        writer.write(b"GET /metrics HTTP/1.1\r\n\r\n")
        assert (await server.get("/healthz")).code == 200
        await until(lambda: server.clock.waiting == 1)

        server.clock.advance(serve.PATIENCE)

        await until(lambda: server.clock.waiting == 0)
        assert (await server.get("/healthz")).code == 200


async def test_no_timer_outlives_its_visit(server: Server) -> None:
    for _ in range(3):
        await server.get("/healthz")

    await until(lambda: server.clock.waiting == 0)


async def test_callers_beyond_a_number_are_turned_away_until_others_leave(
    server: Server,
) -> None:
    callers = [
        await asyncio.open_connection("127.0.0.1", server.port)
        for _ in range(serve.MOST_VISITS)
    ]
    await server.clock.until_waiting(serve.MOST_VISITS)

    async with server.caller() as (reader, _):
        assert await is_cut_off(reader)

    for _, writer in callers:
        writer.close()
    await until(lambda: server.clock.waiting == 0)
    assert (await server.get("/healthz")).code == 200


async def test_at_the_end_callers_are_cut_off_and_the_port_is_free_again() -> None:
    async with running() as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        await server.clock.until_waiting()

    assert await is_cut_off(reader)
    writer.close()
    with pytest.raises(ConnectionRefusedError):
        await server.get("/healthz")


# -- as a whole --------------------------------------------------------------------------------


async def test_it_serves_until_it_is_stopped(server: Server) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        free = Address("127.0.0.1", taken.getsockname()[1])
    clock = SystemClock()
    async with supervise.tasks("test", clock=clock) as tasks:
        child = tasks.start("serve", lambda: serve.serve(free, Registry(), list, clock))
        server.port = free.port
        while True:
            with suppress(ConnectionRefusedError):
                assert (await server.get("/healthz")).code == 200
                break
            await asyncio.sleep(0)
        await child.stop()

    with pytest.raises(ConnectionRefusedError):
        await server.get("/healthz")


async def test_an_address_that_is_taken_is_told(server: Server) -> None:
    taken = Address("127.0.0.1", server.port)

    with pytest.raises(BadInput) as caught:
        await serve.serve(taken, Registry(), list, ManualClock())

    assert str(caught.value) == f"cannot listen on {taken}: Address already in use"


@pytest.mark.parametrize(
    ("host", "problem"),
    [
        ("192.0.2.1", "Cannot assign requested address"),
        ("fe80::1%nosuch", "no such host"),
        ("a..b", "no such host"),
    ],
)
async def test_an_address_that_is_not_ours_is_told(host: str, problem: str) -> None:
    with pytest.raises(BadInput, match=rf"^cannot listen on \S+:8080: {problem}$"):
        await serve.serve(Address(host, 8080), Registry(), list, ManualClock())


def test_an_informer_that_was_never_listed_is_missing() -> None:
    jobs = Informer(client_over(Wire()), Scope(resource=JOBS), Head)
    assert serve.missing({"Jobs": jobs}) == ["Jobs: not listed yet"]

    jobs.synced.set()

    assert serve.missing({"Jobs": jobs}) == []
