"""kubectl reads logs and talks with processes through localkube, as it does on any cluster."""

import asyncio
import contextlib
import fcntl
import os
import pty
import struct
import termios
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from jobferry.testing import assets
from tests.api.stream_world import World, stream_world

pytestmark = [pytest.mark.kube, pytest.mark.timeout(60)]


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with stream_world(tmp_path) as found:
        await found.pod("one", app="web")
        yield found


async def log_three(world: World) -> None:
    for ago, text in ((300, "old"), (30, "newer"), (1, "newest")):
        await world.node.write("one", text, container="main", ago=ago)
    await world.node.end("one", container="main")


async def test_logs_are_shown(world: World) -> None:
    await log_three(world)
    said = await world.kubectl("logs", "one")
    assert (said.out, said.err, said.code) == ("old\nnewer\nnewest\n", "", 0)


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        (("--tail=1",), "newest\n"),
        (("--tail=0",), ""),
        (("--since=1m",), "newer\nnewest\n"),
        (("--since-time=2020-01-01T00:00:00Z",), "old\nnewer\nnewest\n"),
        (("--limit-bytes=6",), "old\nne"),
        (("-c", "main"), "old\nnewer\nnewest\n"),
        (("-f",), "old\nnewer\nnewest\n"),
        (("--prefix",), "".join(f"[pod/one/main] {x}\n" for x in ("old", "newer", "newest"))),
        (("--insecure-skip-tls-verify-backend",), "old\nnewer\nnewest\n"),
    ],
)
async def test_a_part_of_the_logs_is_shown(
    world: World, options: tuple[str, ...], shown: str
) -> None:
    await log_three(world)
    said = await world.kubectl("logs", "one", *options)
    assert (said.out, said.err, said.code) == (shown, "", 0)


async def test_logs_are_shown_with_their_times(world: World) -> None:
    await log_three(world)
    said = await world.kubectl("logs", "one", "--timestamps", "--tail=1")
    stamp, text = said.out.split()
    assert text == "newest"
    assert len(stamp) == len("2026-01-02T03:04:05.123456789Z")


async def test_logs_are_followed_until_the_container_ends(world: World) -> None:
    await world.node.write("one", "first", container="main")
    process = await world.start("logs", "-f", "one")
    assert process.stdout is not None
    assert await process.stdout.readline() == b"first\n"
    await world.node.write("one", "second", container="main")
    assert await process.stdout.readline() == b"second\n"
    await world.node.end("one", container="main")
    assert await process.stdout.read() == b""
    assert await process.wait() == 0
    await world.node.until_open(0)


async def test_a_follower_that_is_killed_leaves_nothing(world: World) -> None:
    process = await world.start("logs", "-f", "one")
    await world.node.until_open(1)
    process.kill()
    await process.communicate()
    await world.node.until_open(0)


async def test_logs_of_the_previous_run_are_shown(world: World) -> None:
    refused = await world.kubectl("logs", "one", "--previous")
    assert refused.code == 1
    why = 'previous terminated container "main" in pod "one" not found'
    assert refused.err == f"Error from server (BadRequest): {why}\n"
    await world.node.write("one", "before", container="main")
    await world.node.restart("one", container="main")
    await world.node.write("one", "now", container="main")
    assert (await world.kubectl("logs", "one")).out == "now\n"
    assert (await world.kubectl("logs", "one", "-p")).out == "before\n"


async def test_logs_of_many_pods_are_shown_by_label(world: World) -> None:
    await world.pod("two", "a", "b", app="web")
    for pod, container in (("one", "main"), ("two", "a"), ("two", "b")):
        await world.node.write(pod, f"of {pod} {container}", container=container)
    said = await world.kubectl("logs", "-l", "app=web", "--all-containers")
    assert sorted(said.out.splitlines()) == ["of one main", "of two a", "of two b"]


async def test_logs_of_a_pod_without_a_node_are_empty(world: World) -> None:
    await world.pod("waiting", node="")
    said = await world.kubectl("logs", "waiting")
    assert (said.out, said.err, said.code) == ("", "", 0)


async def test_logs_of_a_node_that_nothing_reaches_are_refused(world: World) -> None:
    status = {"addresses": [{"type": "InternalIP", "address": "127.0.0.1"}]}
    await world.create("nodes", {"metadata": {"name": "far"}, "status": status})
    await world.pod("away", node="far")
    said = await world.kubectl("logs", "away")
    assert said.code == 1
    assert 'node "far" is not connected to this server' in said.err


async def test_a_command_is_run(world: World) -> None:
    said = await world.kubectl("exec", "one", "--", "echo", "hello", "you")
    assert (said.out, said.err, said.code) == ("hello you\n", "", 0)


async def test_a_command_can_fail(world: World) -> None:
    said = await world.kubectl("exec", "one", "--", "complain", "42", "no", "way")
    assert said.out == ""
    assert said.err == "no way\ncommand terminated with exit code 42\n"
    assert said.code == 42


async def test_a_command_reads_what_is_given(world: World) -> None:
    given = "line\n" * 100_000
    said = await world.kubectl("exec", "-i", "one", "-c", "main", "--", "cat", given=given)
    assert (said.out == given, said.err, said.code) == (True, "", 0)


async def test_a_large_output_comes_whole(world: World) -> None:
    said = await world.kubectl("exec", "one", "--", "flood", str(8 << 20))
    assert (len(said.out), said.code) == (8 << 20, 0)


async def test_a_command_that_is_not_there_is_told(world: World) -> None:
    said = await world.kubectl("exec", "one", "--", "nonsense")
    why = 'error executing command in container: "nonsense": executable file not found in $PATH'
    assert said.err == f"error: Internal error occurred: {why}\n"
    assert said.code == 1


async def test_a_client_that_is_killed_ends_the_command(world: World) -> None:
    process = await world.start("exec", "one", "--", "hang")
    await world.node.until_open(1)
    process.kill()
    await process.communicate()
    await world.node.until_open(0)


async def test_a_process_is_joined(world: World) -> None:
    said = await world.kubectl("attach", "-i", "one", given="to the process\n")
    assert said.out == "attached to main\nto the process\n"
    assert said.code == 0


@pytest.mark.parametrize("verb", ["exec", "attach"])
async def test_pods_that_are_not_there_are_told(world: World, verb: str) -> None:
    said = await world.kubectl(verb, "none", *(("--", "ls") if verb == "exec" else ()))
    assert said.err == 'Error from server (NotFound): pods "none" not found\n'
    assert said.code == 1


async def test_somebody_who_may_not_run_commands_is_told(world: World) -> None:
    said = await world.kubectl("--as=joe", "exec", "one", "--", "ls")
    assert said.code == 1
    assert 'User "joe" cannot get resource "pods"' in said.err


async def test_a_terminal_tells_its_size(world: World) -> None:
    """kubectl has a real terminal here: it sets its own to raw, and says how large it is."""
    mine, its = pty.openpty()
    config = (f"--kubeconfig={world.kubeconfig}", f"--cache-dir={os.devnull}")
    os.set_blocking(mine, False)
    _set_size(mine, rows=40, columns=1)
    process = await asyncio.create_subprocess_exec(
        *(str(assets.need("kubectl")), *config, "exec", "-it", "one", "--", "size"),
        stdin=its,
        stdout=its,
        stderr=its,
    )
    os.close(its)
    assert await process.wait() == 0
    with contextlib.suppress(OSError):  # Linux says so at the end of a terminal
        assert b"1x40" in os.read(mine, 10_000)
    os.close(mine)


def _set_size(terminal: int, *, rows: int, columns: int) -> None:
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
