"""`jobferry up` and `jobferry down`, as somebody uses them: processes, a kubeconfig, Jobs that do real work."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from jobferry.cli import pod_logs
from jobferry.clock import SystemClock
from jobferry.core import placement
from jobferry.kube import kubeconfig
from jobferry.kube.client import Client, connect
from jobferry.kube.resources import JOBS
from jobferry.local.layout import Layout
from jobferry.objects import Obj
from tests.system.jobs import MANAGER, complete, ended, failed, runs
from tests.system.world import named, until_one

pytestmark = pytest.mark.timeout(60)

JOBFERRY = [sys.executable, "-m", "jobferry"]


def waiting(note: Path) -> str:
    """Return a script that notes its process and waits for ever."""
    return f"echo $$$$ >> {note}; exec tail -f /dev/null"  # two of four dollars are Kubernetes' own


def job(name: str, script: str, *, delegated: bool = True, **spec: Any) -> Obj:
    """Return a Job that runs a shell script."""
    container = {"name": "main", "image": "none", "command": ["sh", "-c", script]}
    pod = {"restartPolicy": "Never", "containers": [container]}
    managed = {"managedBy": MANAGER} if delegated else {}
    return {
        "metadata": {"name": name},
        "spec": {"backoffLimit": 0, "template": {"spec": pod}, **managed, **spec},
    }


class Up:
    """A fleet that `jobferry up` runs."""

    def __init__(self, process: subprocess.Popen[str], layout: Layout) -> None:
        self.process = process
        self.layout = layout

    @asynccontextmanager
    async def clients(self) -> AsyncIterator[dict[str, Client]]:
        """Reach its clusters as its user does."""
        contexts = kubeconfig.from_file(self.layout.kubeconfig)
        clock = SystemClock()
        async with AsyncExitStack() as stack:
            yield {
                name: await stack.enter_async_context(
                    connect(contexts.access(name, clock=clock), name=name, clock=clock)
                )
                for name in contexts.contexts
            }

    def down(self) -> str:
        """End it; return what that says."""
        return output("down", "--data", str(self.layout.folder))


def output(*arguments: str) -> str:
    """Run a command to its end and return all that it says."""
    done = subprocess.run(
        [*JOBFERRY, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.stdout


@contextmanager
def up(folder: Path, *arguments: str) -> Iterator[Up]:
    """Run a fleet during the block."""
    process = subprocess.Popen(
        [*JOBFERRY, "up", "--data", str(folder), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        # What a shell runs in the background ignores Ctrl-C, and so does all that it starts.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 (no locks in it)
    )
    assert process.stdout is not None
    try:
        lines = []
        for line in process.stdout:
            lines.append(line)
            if line.startswith("End with Ctrl-C"):
                break
        else:
            pytest.fail("".join(lines))
        yield Up(process, Layout(folder))
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()
        output("down", "--data", str(folder))


async def until(client: Client, name: str, holds: Any) -> Obj:
    return await until_one(client, named(JOBS, name, "default"), holds)


def alive(pid: int) -> bool:
    """Tell whether a process runs, and is not just waiting to be noticed."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def test_jobs_do_real_work_on_workers_and_on_the_hub(tmp_path: Path) -> None:
    with up(tmp_path / "fleet") as fleet:
        async with fleet.clients() as clients:
            hub = clients["hub"]
            for each in (
                job("away", "echo $((6 * 7))"),
                job(
                    "parts",
                    "echo part $JOB_COMPLETION_INDEX",
                    completionMode="Indexed",
                    completions=3,
                    parallelism=3,
                ),
                job("broken", "echo no; exit 3"),
                job("home", "echo here", delegated=False),
            ):
                await hub.create(JOBS, each, namespace="default")

            away = await until(hub, "away", ended)
            parts = await until(hub, "parts", ended)
            broken = await until(hub, "broken", ended)
            home = await until(hub, "home", ended)

            assert complete(away)
            assert complete(home)
            assert failed(broken)
            assert parts["status"]["completedIndexes"] == "0-2"
            record = placement.read(away)
            assert record is not None
            worker = clients[record.shards[0].worker]
            assert [line.split()[-1] async for line in pod_logs.lines(worker, "away")] == ["42"]
            assert [line.split()[-1] async for line in pod_logs.lines(hub, "home")] == ["here"]


async def test_all_is_kept_over_restarts_and_the_kubeconfig_stays_good(tmp_path: Path) -> None:
    with up(tmp_path, "--workers", "1") as fleet:
        before = fleet.layout.kubeconfig.read_text()
        async with fleet.clients() as clients:
            await clients["hub"].create(JOBS, job("once", "true"), namespace="default")
            done = await until(clients["hub"], "once", ended)

    with up(tmp_path, "--workers", "1") as fleet:
        assert fleet.layout.kubeconfig.read_text() == before
        async with fleet.clients() as clients:
            again = await clients["hub"].get(JOBS, "once", "default")
            assert again["metadata"]["uid"] == done["metadata"]["uid"]
            assert complete(again)


async def test_down_ends_the_fleet_and_every_pod(tmp_path: Path) -> None:
    note = tmp_path / "pids"
    with up(tmp_path / "fleet", "--workers", "east") as fleet:
        async with fleet.clients() as clients:
            runaway = "import os, signal; os.setsid(); signal.pause()"
            script = f"{sys.executable} -c '{runaway}' & echo $! >> {note}; {waiting(note)}"
            await clients["hub"].create(JOBS, job("long", script), namespace="default")
            await until(clients["hub"], "long", runs(1))

        assert "running already" in output("up", "--data", str(tmp_path / "fleet"))
        assert fleet.down() == "Ended.\n"
        assert fleet.process.wait() == 0

    assert not [pid for pid in map(int, note.read_text().split()) if alive(pid)]
    assert output("down", "--data", str(tmp_path / "fleet")).startswith("Nothing was running")


@pytest.mark.parametrize("victim", ["worker", "up"])
async def test_pods_of_what_was_killed_are_ended_too(tmp_path: Path, victim: str) -> None:
    note = tmp_path / "pids"
    with up(tmp_path / "fleet", "--workers", "east") as fleet:
        async with fleet.clients() as clients:
            script = waiting(note)
            await clients["hub"].create(JOBS, job("long", script), namespace="default")
            await until(clients["hub"], "long", runs(1))
        worker = int((fleet.layout.cluster("east") / "pid").read_text())

        os.kill(worker, signal.SIGKILL)
        if victim == "up":
            fleet.process.kill()
            fleet.process.wait()
        assert alive(int(note.read_text())), "a pod must outlive the cluster that runs it"
        fleet.down()

    assert not alive(worker)
    assert not alive(int(note.read_text()))


async def test_ctrl_c_ends_the_pods_of_a_killed_worker_too(tmp_path: Path) -> None:
    note = tmp_path / "pids"
    with up(tmp_path / "fleet", "--workers", "east") as fleet:
        async with fleet.clients() as clients:
            await clients["hub"].create(JOBS, job("long", waiting(note)), namespace="default")
            await until(clients["hub"], "long", runs(1))
        os.kill(int((fleet.layout.cluster("east") / "pid").read_text()), signal.SIGKILL)

        fleet.process.send_signal(signal.SIGINT)
        assert fleet.process.wait() == 130

        assert not alive(int(note.read_text()))


async def test_frozen_clusters_of_a_fleet_that_was_killed_are_ended_too(tmp_path: Path) -> None:
    note = tmp_path / "pids"
    with up(tmp_path / "fleet", "--workers", "east") as fleet:
        async with fleet.clients() as clients:
            for client in clients.values():
                own = job("long", waiting(note), delegated=False)
                await client.create(JOBS, own, namespace="default")
                await until(client, "long", runs(1))
        clusters = [fleet.layout.cluster(name) for name in ("hub", "east")]
        pids = [int((each / "pid").read_text()) for each in clusters]

        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        fleet.process.kill()
        fleet.process.wait()
        (clusters[1] / "pid").unlink()  # as one that could not start here would
        assert fleet.down() == "Ended.\n"

    assert not [pid for pid in (*pids, *map(int, note.read_text().split())) if alive(pid)]


def test_a_cluster_that_does_not_start_says_why(tmp_path: Path) -> None:
    (tmp_path / "clusters" / "hub" / "kubeconfig").mkdir(parents=True)

    said = output("up", "--data", str(tmp_path))

    assert "hub did not start: error: " in said
    assert "is not a file" in said


async def test_ctrl_c_ends_everything_in_order(tmp_path: Path) -> None:
    with up(tmp_path, "--workers", "1") as fleet:
        pids = [
            int((fleet.layout.cluster(name) / "pid").read_text())
            for name in ("hub", "worker-1")
        ]

        fleet.process.send_signal(signal.SIGINT)
        assert fleet.process.stdout is not None
        said = await asyncio.to_thread(fleet.process.stdout.read)

        assert said == "All pods and clusters have ended.\n"
        assert fleet.process.wait() == 130
        assert not [pid for pid in pids if alive(pid)]
