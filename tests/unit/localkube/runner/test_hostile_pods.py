"""Pods that behave badly: the rest keeps running, and nothing is left of them."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from jobferry.localkube.runner import cgroups
from jobferry.localkube.runner.logs import LONGEST, SPARE
from jobferry.objects import Obj
from tests.unit.localkube.runner.world import (
    SLEEP,
    WAIT,
    Gate,
    World,
    ended,
    pod,
    shell,
    until_ended,
)

DEMON = (
    f"{sys.executable} -c 'import os, signal as s; os.setsid(); s.signal(s.SIGTERM, s.SIG_IGN);"
    f" print(os.getpid(), flush=True); s.pause()' > {{}} & {WAIT}"
)
"""A script whose second process leaves the session, and ends by nothing but SIGKILL."""

LIMITED = cgroups.find_here("jobferry-tests")
LIMITED.remove()
limits = pytest.mark.skipif(not LIMITED.controllers, reason="needs cgroups with controllers")


@limits
async def test_a_fork_bomb_stays_under_its_limit(node: World) -> None:
    bomb = f"bomb() {{ bomb | bomb & }}; bomb; {SLEEP} 0.5; exit 9"
    await node.create(shell("bomb", bomb, annotations={cgroups.PIDS: "20"}))
    others = [await node.run(pod(f"good-{number}", "ls")) for number in range(3)]
    status = await node.until_over("bomb")

    assert [each["phase"] for each in others] == ["Succeeded"] * 3
    assert ended(status)["exitCode"] != 0


@limits
async def test_who_takes_too_much_memory_is_killed(node: World) -> None:
    script = "print(len(b'x' * 100_000_000))"
    container = {"resources": {"limits": {"memory": "20Mi"}}}

    status = await node.run(pod("greedy", sys.executable, "-c", script, container=container))

    assert ended(status)["reason"] == "OOMKilled"
    assert ended(status)["exitCode"] != 0


async def test_what_a_pod_started_ends_with_it_also_after_setsid(
    node: World, tmp_path: Path
) -> None:
    gate = Gate(tmp_path)
    await node.create(shell("parent", DEMON.format(gate)))
    pid = int(await gate.read())
    await node.delete("parent")
    await node.until_gone("parent")

    await until_ended(pid)


@pytest.mark.parametrize("without", ["", "env -i "], ids=["marked", "unmarked"])
async def test_without_cgroups_what_a_pod_started_is_found_by_its_mark_or_its_output(
    cluster: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, without: str
) -> None:
    monkeypatch.setattr(cgroups, "find_here", lambda name: cgroups.Cgroups())
    gate = Gate(tmp_path)
    async with cluster.runner():
        await cluster.create(shell("parent", without + DEMON.format(gate)))
        pid = int(await gate.read())
        await cluster.delete("parent")
        await cluster.until_gone("parent")

        await until_ended(pid)


async def test_a_flood_of_output_fills_neither_memory_nor_disk(node: World) -> None:
    made = await node.create(shell("flood", "head -c 100000000 /dev/zero; echo; echo end"))
    await node.until_over("flood")
    folder = node.folder / "pods" / made["metadata"]["uid"] / "main.0"

    blocks = os.stat(folder / "log").st_blocks

    assert blocks * 512 <= LONGEST + SPARE + 1_000_000
    assert await node.log("flood", tail_lines=1) == "end\n"


async def test_a_container_that_ends_for_ever_waits_longer_and_longer(node: World) -> None:
    await node.create(shell("crash", "echo here; exit 1", restartPolicy="Always"))

    def loops(pod: Obj) -> bool:
        statuses = pod["status"].get("containerStatuses") or [{"state": {}}]
        return bool(statuses[0]["state"].get("waiting", {}).get("reason") == "CrashLoopBackOff")

    crashed = await node.until("crash", loops)
    status = crashed["status"]["containerStatuses"][0]
    await node.until_told("BackOff")
    await node.delete("crash")
    await node.until_gone("crash")

    assert crashed["status"]["phase"] == "Running"
    assert status["restartCount"] == 1
    assert status["lastState"]["terminated"]["exitCode"] == 1


async def test_many_pods_are_removed_without_a_trace(node: World) -> None:
    for number in range(10):
        script = "trap '' TERM; tail -f /dev/null & tail -f /dev/null & wait"
        await node.create(shell(f"p-{number}", script))
    async with asyncio.TaskGroup() as group:
        for number in range(10):
            group.create_task(node.delete(f"p-{number}", grace=1))
    for number in range(10):
        await node.until_gone(f"p-{number}")

    assert not list((node.folder / "pods").iterdir())


async def test_limits_that_cannot_be_enforced_are_told(
    cluster: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cgroups, "find_here", lambda name: cgroups.Cgroups())
    container = {"resources": {"limits": {"memory": "20Mi"}}}
    async with cluster.runner():
        await cluster.run(pod("pod", "ls", container=container))

        message = await cluster.until_told("LimitsNotEnforced")

    assert message == (
        "container main: no cgroup to limit memory with; the limits are not enforced"
    )
