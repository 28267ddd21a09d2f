"""Commands in containers, and talking to their main processes."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from jobferry.localkube.apiserver.nodes import NodeConnector, NodeRefused, Size, Streams
from jobferry.objects import Obj
from tests.unit.localkube.runner.world import (
    NODE,
    WAIT,
    Gate,
    World,
    is_running,
    shell,
    until_ended,
)

SIZE = f"{sys.executable} -c 'import os; print(*os.get_terminal_size())'"
"""A command that prints the columns and lines of its terminal."""


async def nothing() -> AsyncIterator[Size]:
    return
    yield


async def several(*values: bytes) -> AsyncIterator[bytes]:
    for value in values:
        yield value


class Heard:
    """What a client was sent."""

    def __init__(self) -> None:
        self.text = b""
        self._changed = asyncio.Condition()

    async def write(self, data: bytes) -> None:
        async with self._changed:
            self.text += data
            self._changed.notify_all()

    async def until(self, text: bytes) -> None:
        async with self._changed:
            await self._changed.wait_for(lambda: text in self.text)


async def running(node: World, script: str = WAIT, **container: object) -> Obj:
    await node.create(shell("pod", script, container=dict(container)))
    return await node.until("pod", is_running)


def connector(node: World) -> NodeConnector:
    found = node.nodes.get(NODE)
    assert found is not None
    return found


async def run(
    node: World, pod: Obj, *command: str, stdin: bytes | None = None
) -> tuple[int, str, str]:
    out, err = Heard(), Heard()
    given = None if stdin is None else several(stdin)
    streams = Streams(stdin=given, stdout=out.write, stderr=err.write, sizes=nothing())
    code = await connector(node).execute(pod, "main", command, streams)
    return code, out.text.decode(), err.text.decode()


async def test_a_command_has_its_output_and_exit_code(node: World) -> None:
    pod = await running(node)

    found = await run(node, pod, "sh", "-c", "echo out; echo err >&2; exit 3")

    assert found == (3, "out\n", "err\n")


async def test_a_command_reads_what_the_client_sends(node: World) -> None:
    pod = await running(node)

    assert await run(node, pod, "sed", "s/^/> /", stdin=b"hello") == (0, "> hello", "")


async def test_a_command_sees_what_the_container_sees(node: World) -> None:
    volume = {"name": "v", "emptyDir": {}}
    spec = shell(
        "pod",
        f"echo inside > /only-here/x; {WAIT}",
        container={
            "volumeMounts": [{"name": "v", "mountPath": "/only-here"}],
            "env": [{"name": "A", "value": "b"}],
        },
        volumes=[volume],
    )
    await node.create(spec)
    pod = await node.until("pod", is_running)

    assert await run(node, pod, "sh", "-c", "cat /only-here/x; echo $A") == (
        0,
        "inside\nb\n",
        "",
    )


async def test_a_command_that_is_not_there_is_refused(node: World) -> None:
    pod = await running(node)

    with pytest.raises(NodeRefused, match='exec: "no-such": executable file not found'):
        await run(node, pod, "no-such")


async def test_a_command_in_a_container_that_has_ended_is_refused(node: World) -> None:
    await node.run(shell("pod", "true"))
    pod = await node.until("pod", lambda pod: True)

    with pytest.raises(NodeRefused, match="container not found"):
        await run(node, pod, "ls")


async def test_a_terminal_has_a_size_and_echoes(node: World) -> None:
    pod = await running(node)
    out = Heard()
    sizes: asyncio.Queue[Size] = asyncio.Queue()
    sizes.put_nowait(Size(100, 40))

    async def given() -> AsyncIterator[Size]:
        while True:
            yield await sizes.get()

    async def typed() -> AsyncIterator[bytes]:
        await out.until(b"ready")
        yield f"{SIZE}\n".encode()
        await out.until(b"100 40")
        yield b"exit 4\n"

    streams = Streams(stdin=typed(), stdout=out.write, tty=True, sizes=given())
    command = ("sh", "-c", "test -t 0 && echo ready && exec sh")
    code = await connector(node).execute(pod, "main", command, streams)

    assert code == 4


@pytest.mark.parametrize(
    "streams",
    [
        Streams(stdout=Heard().write, tty=True, sizes=nothing()),
        Streams(stdin=several(b""), tty=True, sizes=nothing()),
    ],
    ids=["no input", "no output"],
)
async def test_a_terminal_of_which_the_client_wants_half_is_closed_whole(
    node: World, streams: Streams
) -> None:
    pod = await running(node)
    before = terminals()

    assert await connector(node).execute(pod, "main", ["sh", "-c", ":"], streams) == 0

    assert terminals() == before


def terminals() -> set[str]:
    """The terminals that are held open."""
    folder = Path("/proc/self/fd")
    links = {each.name: os.readlink(each) for each in folder.iterdir() if each.is_symlink()}
    return {name for name, target in links.items() if "ptmx" in target}


async def test_a_command_ends_when_its_client_goes(node: World) -> None:
    pod = await running(node)
    out = Heard()
    streams = Streams(stdout=out.write, sizes=nothing())
    command = ("sh", "-c", f"echo $$; {WAIT}")
    call = asyncio.ensure_future(connector(node).execute(pod, "main", command, streams))
    await out.until(b"\n")

    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call

    await until_ended(int(out.text))


async def test_attaching_gives_what_is_written_from_now_on(node: World, tmp_path: Path) -> None:
    gate = Gate(tmp_path)
    script = f"echo before; echo > {gate}; read line; echo $line"
    pod = await running(node, script, stdin=True)
    await gate.read()
    out = Heard()
    streams = Streams(stdin=several(b"spoken\n"), stdout=out.write, sizes=nothing())

    await connector(node).attach(pod, "main", streams)

    assert out.text == b"spoken\n"
    assert await node.log("pod") == "before\nspoken\n"
