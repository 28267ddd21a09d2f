"""Probes: started, ready, alive."""

import asyncio
from pathlib import Path

import pytest

from jobferry.clock import SystemClock
from jobferry.localkube.runner import probes
from jobferry.localkube.runner.probes import Count, Pace, port_of
from jobferry.objects import Obj
from tests.unit.localkube.runner.world import WAIT, World, is_running, shell


@pytest.mark.parametrize(
    ("looks", "believed"),
    [
        ([True], [True]),
        ([False, False], [None, None]),
        ([False, False, False], [None, None, False]),
        ([False, False, True, False], [None, None, True, None]),
    ],
)
def test_what_is_believed(looks: list[bool], believed: list[bool | None]) -> None:
    count = Count(Pace(failures=3))

    assert [count.add(look) for look in looks] == believed


def test_a_port_may_be_named() -> None:
    container = {"ports": [{"name": "web", "containerPort": 8080}]}

    assert port_of("web", container) == 8080
    assert port_of(80, container) == 80
    assert port_of("81", container) == 81


@pytest.mark.parametrize("host", ["a..b", "a" * 70 + ".example", "\udc80"])
async def test_a_host_that_cannot_be_one_is_a_failed_probe(host: str) -> None:
    check = probes.check_of({"tcpSocket": {"port": 1, "host": host}}, {}, no_command)

    assert await probes.look(check, SystemClock(), 10.0)


async def test_an_answer_that_has_no_end_is_a_failed_probe() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(b"x" * 200_000)
        writer.close()

    async with await asyncio.start_server(talk, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        check = probes.check_of({"httpGet": {"port": port}}, {}, no_command)

        assert await probes.look(check, SystemClock(), 10.0)


async def no_command(_: list[str]) -> int:
    raise AssertionError


def is_ready(pod: Obj) -> bool:
    statuses = pod["status"].get("containerStatuses") or [{}]
    return bool(statuses[0].get("ready"))


async def test_a_container_is_ready_when_its_probe_says_so(node: World, tmp_path: Path) -> None:
    probe = {"exec": {"command": ["sh", "-c", f"test -e {tmp_path}/up"]}, "periodSeconds": 1}
    await node.create(shell("pod", WAIT, container={"readinessProbe": probe}))
    pod = await node.until("pod", is_running)

    assert not is_ready(pod)
    (tmp_path / "up").touch()
    await node.until("pod", is_ready)


async def test_a_container_that_is_not_alive_is_started_again(node: World) -> None:
    probe = {
        "httpGet": {"path": "/", "port": 1},
        "periodSeconds": 1,
        "failureThreshold": 1,
    }
    pod = shell("pod", WAIT, container={"livenessProbe": probe}, restartPolicy="Always")
    await node.create(pod)

    def has_restarted(pod: Obj) -> bool:
        statuses = pod["status"].get("containerStatuses") or [{"restartCount": 0}]
        return bool(statuses[0]["restartCount"] == 1)

    again = await node.until("pod", has_restarted)

    assert again["status"]["containerStatuses"][0]["lastState"]["terminated"]["exitCode"] == 143


async def test_others_wait_until_a_sidecar_has_started(node: World, tmp_path: Path) -> None:
    probe = {"exec": {"command": ["sh", "-c", f"test -e {tmp_path}/up"]}, "periodSeconds": 1}
    sidecar = {
        "name": "beside",
        "image": "any",
        "restartPolicy": "Always",
        "command": ["sh", "-c", f"touch {tmp_path}/up; {WAIT}"],
        "startupProbe": probe,
    }
    main = f"test -e {tmp_path}/up"

    status = await node.run(shell("pod", main, initContainers=[sidecar]))

    assert status["phase"] == "Succeeded"
    assert status["initContainerStatuses"][0]["state"]["terminated"]["exitCode"] == 143


@pytest.mark.parametrize(
    "action",
    [
        {"tcpSocket": {"port": 1, "host": "x" * 300}},
        {"httpGet": {"port": 1, "host": "a\0b"}},
        {"exec": {"command": ["a\0b"]}},
    ],
    ids=lambda action: next(iter(action)),
)
async def test_a_probe_that_cannot_be_made_fails_and_the_node_goes_on(
    node: World, action: Obj
) -> None:
    probe = {**action, "periodSeconds": 1, "failureThreshold": 1}
    await node.create(shell("pod", WAIT, container={"livenessProbe": probe}))

    await node.until_over("pod")
    status = await node.run(shell("next", "true"))

    assert status["phase"] == "Succeeded"
