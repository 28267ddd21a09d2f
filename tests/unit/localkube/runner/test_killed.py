"""A runner that is killed (SIGKILL) changes nothing for its pods, and the next one finds them again."""

import asyncio
import signal
import sys
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from jobferry.clock import SystemClock
from jobferry.kube import calls, kubeconfig
from jobferry.kube.client import Client, connect
from jobferry.kube.resources import PODS
from jobferry.localkube.apiserver.identity import folder
from jobferry.localkube.runner.settings import Settings
from jobferry.objects import Obj
from jobferry.testing.wait import until, until_gone
from tests.unit.localkube.runner import victim
from tests.unit.localkube.runner.world import (
    SLEEP,
    WAIT,
    Gate,
    end_all,
    ended,
    is_over,
    is_running,
    shell,
)

# Starting a cluster takes seconds on a machine that has much else to do.
pytestmark = pytest.mark.timeout(90)

CODES = 3


class Cluster:
    """A cluster that can be killed and started again."""

    def __init__(self, folder: Path, keys: Path) -> None:
        self._folder = folder
        self._keys = keys
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> Client:
        """Start it, and wait until it is ready."""
        script, clock = str(Path(victim.__file__)), SystemClock()
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, script, self._folder, self._keys, stdout=asyncio.subprocess.PIPE
        )
        assert self._process.stdout is not None
        path = (await self._process.stdout.readline()).decode().strip()
        access = kubeconfig.from_file(Path(path)).access(clock=clock)
        return connect(access, name="victim", clock=clock)

    async def kill(self, number: signal.Signals = signal.SIGKILL) -> None:
        """End it at once, or as it is told."""
        if self._process is not None:
            self._process.send_signal(number)
            await self._process.wait()
            self._process = None


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The keys of all these clusters: they take long to make."""
    made = tmp_path_factory.mktemp("keys")
    folder.prepare(made, SystemClock().now())
    return made


@pytest.fixture
async def cluster(tmp_path: Path, keys: Path) -> AsyncIterator[Cluster]:
    made = Cluster(tmp_path, keys)
    yield made
    await made.kill(signal.SIGTERM)
    await end_all(Settings(node="here", folder=tmp_path / "node"))


async def finished(client: Client, name: str) -> Obj:
    return await until(client, PODS, name, "default", is_over)


async def log(client: Client, name: str) -> str:
    return (await client.send(calls.logs(PODS, name, "default"))).body.decode()


async def test_a_pod_goes_on_while_nobody_looks(cluster: Cluster, tmp_path: Path) -> None:
    gate = Gate(tmp_path)
    async with await cluster.start() as client:
        pod = shell("pod", f"echo one; read line < {gate}; echo $line; exit 7")
        await client.create(PODS, pod)
        await until(client, PODS, "pod", "default", is_running)
        await cluster.kill()

    with gate.open() as write:
        write("two\n")  # nobody is there to see it end
        client = await cluster.start()

    async with client:
        over = await finished(client, "pod")
        assert ended(over["status"])["exitCode"] == 7
        assert over["status"]["containerStatuses"][0]["restartCount"] == 0
        assert await log(client, "pod") == "one\ntwo\n"


async def test_a_pod_that_is_found_again_is_followed_and_can_be_deleted(
    cluster: Cluster, tmp_path: Path
) -> None:
    gate = Gate(tmp_path)
    async with await cluster.start() as client:
        await client.create(PODS, shell("ends", f"read line < {gate}; echo $line; exit 5"))
        await client.create(PODS, shell("stays", WAIT))
        for name in ("ends", "stays"):
            await until(client, PODS, name, "default", is_running)
        await cluster.kill()

    async with await cluster.start() as client:
        with gate.open() as write:
            write("late\n")
            over = await finished(client, "ends")
        await client.delete(PODS, "stays", "default")
        await until_gone(client, PODS, "stays", "default")

        assert ended(over["status"])["exitCode"] == 5
        assert await log(client, "ends") == "late\n"


async def test_no_pod_is_started_twice_though_its_runner_is_killed_all_the_time(
    cluster: Cluster, tmp_path: Path
) -> None:
    starts = tmp_path / "starts"
    env = [{"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.uid"}}}]
    client = await cluster.start()
    uids = {}
    for number in range(50):
        script = (
            f"echo $POD >> {starts}; {SLEEP} 0.{number % 10}; echo end; exit {number % CODES}"
        )
        made = await client.create(PODS, shell(f"p-{number}", script, container={"env": env}))
        uids[made["metadata"]["uid"]] = number
    for number in (0, 11, 25):
        await finished(client, f"p-{number}")
        await cluster.kill()
        await client.__aexit__(None, None, None)
        client = await cluster.start()
    async with client:
        statuses = {n: (await finished(client, f"p-{n}"))["status"] for n in range(50)}
        lost = {
            number
            for number, status in statuses.items()
            if ended(status)["reason"] == "ContainerStatusUnknown"
        }
        begun = Counter(uids[uid] for uid in starts.read_text().split())

        assert set(begun.values()) == {1}
        assert set(range(50)) - set(begun) <= lost
        assert len(lost) <= 3  # one runner is at one start at a time, and three were killed
        for number in set(range(50)) - lost:
            assert ended(statuses[number])["exitCode"] == number % CODES
            assert await log(client, f"p-{number}") == "end\n"
