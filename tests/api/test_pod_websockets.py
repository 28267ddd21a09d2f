"""exec, attach and logs over WebSockets: each protocol, each limit, and clients that do not behave."""

import asyncio
import base64
import contextlib
import json
from collections.abc import AsyncIterator, Sequence
from http.client import IncompleteRead
from pathlib import Path

import orjson
import pytest
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed, InvalidStatus

from jobferry.clock import SystemClock
from jobferry.localkube.apiserver.timeouts import Timeouts
from jobferry.testing.clock import settle
from jobferry.testing.fake_node import FakeNode
from tests.api.stream_world import V5, World, ended, stream_world, trusting

V4 = "v4.channel.k8s.io"


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with stream_world(tmp_path) as found:
        await found.pod("one")
        yield found


def command(*words: str, **streams: str) -> list[tuple[str, str]]:
    return [*(("command", word) for word in words), *streams.items()]


async def rest(socket: ClientConnection) -> list[bytes | str]:
    """Return all messages to the end."""
    return [message async for message in socket]


async def refusal(world: World, path: str, **more: object) -> tuple[int, dict[str, object]]:
    with pytest.raises(InvalidStatus) as caught:
        async with world.socket(path, **more):  # type: ignore[arg-type]
            pass
    response = caught.value.response
    assert response.body is not None
    return response.status_code, json.loads(response.body)


async def test_a_process_says_how_it_ended(world: World) -> None:
    query = command("complain", "7", "oh", stdout="1", stderr="true")
    async with world.socket("pods/one/exec", query) as socket:
        assert socket.subprotocol == V5
        connected, words, end = await rest(socket)
        assert socket.close_code == 1000
    assert (connected, words) == (b"\x01", b"\x02oh\n")
    assert ended(end) == {
        "metadata": {},
        "status": "Failure",
        "message": "command terminated with non-zero exit code: command terminated with exit code 7",
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": "7"}]},
    }


async def test_a_success_is_told_too(world: World) -> None:
    async with world.socket("pods/one/exec", command("exit", "0", stderr="1")) as socket:
        connected, end = await rest(socket)
    assert connected == b"\x02"
    assert ended(end) == {"metadata": {}, "status": "Success"}


async def test_what_is_not_asked_for_is_not_sent(world: World) -> None:
    query = command("complain", "0", "oh", stdout="1", stderr="false")
    async with world.socket("pods/one/exec", query) as socket:
        assert len(await rest(socket)) == 2


async def test_a_terminal_has_one_output(world: World) -> None:
    query = command("complain", "0", "oh", stdout="1", stderr="1", tty="1")
    async with world.socket("pods/one/exec", query) as socket:
        assert len(await rest(socket)) == 2


async def test_input_ends_when_its_channel_is_closed(world: World) -> None:
    async with world.socket("pods/one/exec", command("cat", stdin="1", stdout="1")) as socket:
        assert await socket.recv() == b"\x01"
        await socket.send(b"\x00hello")
        assert await socket.recv() == b"\x01hello"
        await socket.send(b"\xff\x00")
        assert ended(*await rest(socket))["status"] == "Success"


async def test_a_terminal_changes_its_size(world: World) -> None:
    async with world.socket("pods/one/exec", command("size", stdout="1", tty="1")) as socket:
        await socket.recv()
        await socket.send(b'\x04{"Width":80,"Height":24}')
        assert await socket.recv() == b"\x0180x24\n"
        await socket.send(b"\x04nonsense")
        await socket.send(b'\x04{"Width":70000,"Height":24}')
        await socket.send(b'\x04{"width":1,"height":2}')
        assert await socket.recv() == b"\x011x2\n"


async def test_the_older_protocol_works(world: World) -> None:
    query = command("cat", stdin="1", stdout="1")
    async with world.socket("pods/one/exec", query, protocols=[V4]) as socket:
        assert socket.subprotocol == V4
        await socket.recv()
        await socket.send(b"\x00hello")
        assert await socket.recv() == b"\x01hello"
        await socket.send(b"\xff\x00")  # no signal here: channel 255, which there is not
        await socket.send(b"\x00more")
        assert await socket.recv() == b"\x01more"
    await world.node.until_open(0)


async def test_the_protocol_in_text_works(world: World) -> None:
    query = command("cat", stdin="1", stdout="1")
    protocol = "v4.base64.channel.k8s.io"
    async with world.socket("pods/one/exec", query, protocols=[protocol]) as socket:
        assert await socket.recv() == "1"
        await socket.send("0" + base64.b64encode(b"hello").decode())
        assert await socket.recv() == "1" + base64.b64encode(b"hello").decode()


async def test_the_oldest_protocol_tells_the_end_in_words(world: World) -> None:
    query = command("exit", "3", stdout="1")
    async with world.socket("pods/one/exec", query, protocols=[]) as socket:
        assert socket.subprotocol is None
        assert (await rest(socket))[-1] == (
            b"\x03command terminated with non-zero exit code: command terminated with exit code 3"
        )


async def test_an_unknown_protocol_is_refused(world: World) -> None:
    code, status = await refusal(world, "pods/one/exec", protocols=["v6.channel.k8s.io"])
    assert code == 403
    assert "not supported: [v6.channel.k8s.io]" in str(status["message"])


@pytest.mark.parametrize(
    ("query", "why"),
    [
        (command("ls"), "you must specify at least 1 of stdin, stdout, stderr"),
        (command(stdout="1"), "you must specify a command"),
    ],
)
async def test_a_node_refuses_what_it_cannot_run(
    world: World, query: Sequence[tuple[str, str]], why: str
) -> None:
    async with world.socket("pods/one/exec", query) as socket:
        end = ended((await rest(socket))[-1])
    assert end["message"] == f"Internal error occurred: unable to upgrade connection: {why}"


async def test_a_node_that_breaks_is_told(world: World) -> None:
    async with world.socket("pods/one/exec", command("break", stdout="1")) as socket:
        end = ended((await rest(socket))[-1])
    assert end["code"] == 500


async def test_a_pod_that_is_not_there_is_refused(world: World) -> None:
    code, status = await refusal(world, "pods/none/attach")
    assert (code, status["message"]) == (404, 'pods "none" not found')


async def test_a_client_that_vanishes_ends_the_process(world: World) -> None:
    before = asyncio.all_tasks()
    for verb in ("exec", "attach"):
        query = command("hang", stdin="1", stdout="1")
        async with world.socket(f"pods/one/{verb}", query) as socket:
            await world.node.until_open(1)
            socket.transport.abort()
            await world.node.until_open(0)
    await settle()
    assert asyncio.all_tasks() <= before


async def test_a_client_that_vanishes_while_it_is_held_back_ends_the_process(
    tmp_path: Path,
) -> None:
    async with stream_world(tmp_path / "pinging", Timeouts(ping=0.1)) as world:
        await world.pod("one")
        async with world.socket("pods/one/exec", command("hang", stdin="1")) as socket:
            await world.node.until_open(1)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(0.5):
                    await _flood(socket)
            socket.transport.abort()
            await world.node.until_open(0)


async def test_a_client_that_says_farewell_ends_the_process(world: World) -> None:
    async with world.socket("pods/one/exec", command("hang", stdout="1")):
        await world.node.until_open(1)
    await world.node.until_open(0)


async def test_the_end_of_the_server_ends_the_process(tmp_path: Path) -> None:
    async with stream_world(tmp_path / "short") as world:
        await world.pod("one")
        opening = world.socket("pods/one/exec", command("hang", stdin="1", stdout="1"))
        socket = await opening.__aenter__()
        await world.node.until_open(1)
        # More than there is room for: the server hears nothing more from this client.
        flooding = asyncio.ensure_future(_flood(socket))
    await world.node.until_open(0)
    await flooding


async def test_the_end_of_the_server_ends_those_who_follow_a_log(tmp_path: Path) -> None:
    async with stream_world(tmp_path / "short") as world:
        await world.pod("one")
        await world.node.write("one", "hello", container="main")
        reader, writer = await asyncio.open_connection(
            world.server.host, world.server.port, ssl=trusting(world.keys)
        )
        path = "/api/v1/namespaces/default/pods/one/log?follow=1"
        writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        assert await reader.readuntil(b"hello\n")
    await world.node.until_open(0)
    assert (await reader.read()).endswith(b"0\r\n\r\n")
    writer.close()


async def _flood(socket: ClientConnection) -> None:
    with contextlib.suppress(ConnectionClosed):
        while True:
            await socket.send(b"\x00" + bytes(64 * 1024))


async def test_a_process_that_does_not_read_holds_its_client_back(world: World) -> None:
    async with world.socket("pods/one/exec", command("hang", stdin="1")) as socket:
        await world.node.until_open(1)

        async def flood() -> None:
            for _ in range(1024):
                await socket.send(b"\x00" + bytes(64 * 1024))

        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1):
                await flood()
        socket.transport.abort()


async def test_a_client_that_does_not_read_holds_its_process_back(world: World) -> None:
    query = command("flood", str(1 << 30), stdout="1")
    async with world.socket("pods/one/exec", query, max_queue=1) as socket:
        assert await socket.recv() == b"\x01"
        await asyncio.sleep(0.5)  # a gigabyte would have been sent by now
        await world.node.until_open(1)
        socket.transport.abort()
    await world.node.until_open(0)


async def test_a_huge_message_is_refused(world: World) -> None:
    async with world.socket("pods/one/exec", command("hang", stdin="1", stdout="1")) as socket:
        await world.node.until_open(1)
        await socket.send(bytes(4 << 20))
        with pytest.raises(ConnectionClosed):
            await rest(socket)
        assert socket.close_code == 1009
    await world.node.until_open(0)


async def test_a_signal_that_is_none_ends_it(world: World) -> None:
    async with world.socket("pods/one/exec", command("hang", stdin="1", stdout="1")) as socket:
        await world.node.until_open(1)
        await socket.send(b"\xff\x00\x00")
        await rest(socket)
    await world.node.until_open(0)


async def test_logs_come_over_a_websocket(world: World) -> None:
    await world.node.write("one", "hello", container="main")
    follow = [("follow", "1")]
    async with world.socket("pods/one/log", follow, protocols=["binary.k8s.io"]) as socket:
        assert await socket.recv() == b"hello\n"
        await world.node.write("one", "again", container="main")
        assert await socket.recv() == b"again\n"
        await world.node.end("one", container="main")
        assert await rest(socket) == []
    async with world.socket("pods/one/log", protocols=["base64.binary.k8s.io"]) as socket:
        assert [base64.b64decode(each) for each in await rest(socket)] == [
            b"hello\n",
            b"again\n",
        ]
    async with world.socket("pods/one/log", follow, protocols=[]) as socket:
        await socket.recv()
    await world.node.until_open(0)


async def test_what_is_no_stream_is_answered_without_a_websocket(world: World) -> None:
    code, pod = await refusal(world, "pods/one")
    assert (code, pod["kind"]) == (200, "Pod")
    code, status = await refusal(world, "pods", query=[("watch", "1")])
    assert (code, status["reason"]) == (400, "BadRequest")


async def test_ports_are_not_forwarded(world: World) -> None:
    code, status = await world.ask("POST", "pods/one/portforward")
    message = "the server could not find the requested resource"
    assert (code, status["message"]) == (404, message)


async def test_a_browser_shows_its_token_as_a_protocol(world: World) -> None:
    shown = base64.urlsafe_b64encode(b"nonsense").rstrip(b"=").decode()
    bearer = f"base64url.bearer.authorization.k8s.io.{shown}"
    nobody = trusting(world.keys, shows=False)
    code, _ = await refusal(world, "pods/one/exec", protocols=[V5, bearer], ssl=nobody)
    assert code == 401
    code, status = await refusal(world, "pods/one/exec", ssl=nobody)
    assert code == 403
    assert 'User "system:anonymous" cannot get resource "pods/exec"' in str(status["message"])
    await world.create(
        "serviceaccounts", {"metadata": {"name": "robot", "namespace": "default"}}
    )
    _, answered = await world.ask("POST", "serviceaccounts/robot/token", {})
    token = answered["status"]["token"]
    shown = base64.urlsafe_b64encode(token.encode()).rstrip(b"=").decode()
    bearer = f"base64url.bearer.authorization.k8s.io.{shown}"
    code, status = await refusal(world, "pods/one/exec", protocols=[V5, bearer], ssl=nobody)
    assert 'User "system:serviceaccount:default:robot" cannot get' in str(status["message"])


async def test_spdy_is_refused(world: World) -> None:
    spdy = {"Connection": "Upgrade", "Upgrade": "SPDY/3.1"}
    code, status = await world.ask("POST", "pods/one/exec?command=ls&stdout=1", headers=spdy)
    assert (code, status["reason"]) == (400, "BadRequest")
    assert "cannot upgrade from POST to SPDY/3.1" in status["message"]
    code, status = await world.ask("POST", "pods/none/exec?command=ls&stdout=1", headers=spdy)
    assert (code, status["message"]) == (404, 'pods "none" not found')


async def test_a_websocket_needs_a_get_and_a_key(world: World) -> None:
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket"}
    code, status = await world.ask("POST", "pods/one/exec?command=ls&stdout=1", headers=upgrade)
    assert (code, status["reason"]) == (400, "BadRequest")
    with pytest.raises(orjson.JSONDecodeError):
        await world.ask("GET", "pods/one/exec?command=ls&stdout=1", headers=upgrade)
    assert (await world.ask("GET", "pods/one"))[0] == 200


async def test_a_node_that_goes_is_not_reached_any_more(world: World) -> None:
    with world.nodes.connected("here", FakeNode(SystemClock())):
        pass
    code, status = await world.ask("GET", "pods/one/log")
    assert (code, status["message"]) == (
        500,
        "no preferred addresses found; known addresses: []",
    )


async def test_a_log_that_breaks_off_does_not_look_complete(world: World) -> None:
    await world.node.write("one", "hello", container="main")
    await world.node.end("one", container="main", broken=True)
    with pytest.raises(IncompleteRead) as caught:
        await world.ask("GET", "pods/one/log")
    assert caught.value.partial == b"hello\n"


async def test_a_reader_of_a_log_that_does_not_read_holds_it_back(world: World) -> None:
    line = "x" * (1 << 20)
    for _ in range(256):
        await world.node.write("one", line, container="main")
    reader, writer = await asyncio.open_connection(
        world.server.host, world.server.port, ssl=trusting(world.keys), limit=1024
    )
    writer.write(b"GET /api/v1/namespaces/default/pods/one/log HTTP/1.1\r\nHost: x\r\n\r\n")
    assert await reader.readline() == b"HTTP/1.1 200 OK\r\n"
    await asyncio.sleep(0.5)  # all of it would have been sent by now
    await world.node.until_open(1)
    writer.transport.abort()
    await world.node.until_open(0)


@pytest.mark.parametrize(
    "nonsense", [b"\xff" * 100, b"\x82\x05hello", b"\x81\x81\0\0\0\0\xff", b"\x88\x80\0\0\0\0"]
)
async def test_a_client_that_speaks_no_websocket_is_left(world: World, nonsense: bytes) -> None:
    reader, writer = await asyncio.open_connection(
        world.server.host, world.server.port, ssl=trusting(world.keys)
    )
    lines = (
        "GET /api/v1/namespaces/default/pods/one/exec?command=hang&stdout=1 HTTP/1.1",
        *("Host: x", "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"),
        *("Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==", f"Sec-WebSocket-Protocol: {V5}"),
    )
    writer.write("\r\n".join([*lines, "", ""]).encode())
    assert await reader.readline() == b"HTTP/1.1 101 Switching Protocols\r\n"
    await world.node.until_open(1)
    writer.write(nonsense)
    await world.node.until_open(0)
    await reader.read()
    writer.close()
