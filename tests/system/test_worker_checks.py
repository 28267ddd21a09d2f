"""Commands on Workers that do not answer, or do not go: they say so, and in time."""

import asyncio
import socket
from pathlib import Path

import pytest

from jobferry.cli import enrolment
from jobferry.kube.access import Server
from jobferry.kube.resources import JOBS
from jobferry.testing.component import free_port
from jobferry.workers.resource import WORKERS
from tests.system.fleet import Fleet
from tests.system.jobs import FOREVER, job, runs
from tests.system.lab import Lab
from tests.system.terminal import Terminal
from tests.system.world import named, until_none

pytestmark = [pytest.mark.fleet("processes"), pytest.mark.timeout(120)]


async def test_a_worker_that_is_dead_or_silent_fails_its_test_with_a_table(
    lab: Lab, fleet: Fleet, tmp_path: Path
) -> None:
    terminal = Terminal(tmp_path, {"west": fleet.planes["west"].kubeconfig()})

    async def says(name: str, port: int) -> list[str]:
        config = enrolment.kubeconfig(Server(url=f"https://127.0.0.1:{port}"), "token")
        await enrolment.write(lab.world.hub, name, config)
        ended = await terminal.run("workers", "test", name)
        assert ended.code == 1
        assert ended.err.startswith(f"jobferry: worker {name}: ")
        header, row = ended.out.splitlines()
        assert header.split() == ["CHECK", "RESULT", "DETAIL"]
        return row.split()

    with socket.create_server(("127.0.0.1", 0)) as deaf:
        silent = says("silent", deaf.getsockname()[1])
        dead = says("dead", free_port("127.0.0.1"))
        rows = await asyncio.gather(silent, dead)

    assert [row[:2] for row in rows] == [["reach", "failed"]] * 2
    assert "within 8 s" in " ".join(rows[0])


async def test_a_worker_that_cannot_go_yet_says_what_it_waits_for(
    lab: Lab, fleet: Fleet, tmp_path: Path
) -> None:
    terminal = Terminal(tmp_path, {"west": fleet.planes["west"].kubeconfig()})
    await lab.add_worker("north")
    async with lab.dispatcher():
        await lab.world.run(job("stays", seconds=FOREVER), runs(1))

        drained = await terminal.out("workers", "drain", "north", "--move-away")
        said = await terminal.out("workers", "remove", "north")

        assert "its unfinished work (1 Job) moves to other Workers." in drained
        assert "It is being removed: waits until its mirrors are gone" in said
        await lab.world.hub.delete(JOBS, "stays", lab.world.namespace)
        await until_none(lab.world.hub, named(WORKERS, "north"))
