"""Jobs on localkube that do real work: with files, programs and a clock of this machine."""

import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest

from jobferry.clock import SystemClock
from jobferry.kube import calls, kubeconfig
from jobferry.kube.calls import Scope
from jobferry.kube.client import Client, connect
from jobferry.kube.resources import JOBS, PODS
from jobferry.local.processes import Cluster
from jobferry.objects import Obj
from jobferry.objects.resource import Resource
from jobferry.testing import assets
from tests.system.jobs import complete, condition, ended, failed
from tests.system.world import named, pods_of, until_none, until_one
from tests.unit.localkube.runner.world import Gate

CLOCK = SystemClock()
NAMESPACE = "default"
CRON_JOBS = Resource("batch", "v1", "cronjobs", "CronJob")

SORT_PART = """
import os
part = int(os.environ["JOB_COMPLETION_INDEX"])
lines = open("/data/lines").readlines()
size = len(lines) // 4
open(f"/data/part-{part}", "w").writelines(sorted(lines[part * size : (part + 1) * size]))
print("sorted", size, "lines")
"""

MERGE_PARTS = """
import heapq
open("/data/sorted", "w").writelines(heapq.merge(*(open(f"/data/part-{n}") for n in range(4))))
"""

WORK_OFF = """
import os
while names := os.listdir("/data/queue"):
    try:
        os.rename(f"/data/queue/{names[0]}", f"/data/mine-{os.environ['HOSTNAME']}")
    except FileNotFoundError:
        continue  # somebody else was quicker
    print(names[0])
    os.remove(f"/data/mine-{os.environ['HOSTNAME']}")
"""

SLEEP = """
import os, time
with open("/data/begun", "w") as begun:
    print(os.getpid(), file=begun)
time.sleep(1000)
"""

PI = ("perl", "-Mbignum=bpi", "-wle", "print bpi(1000)")


@dataclass(frozen=True)
class Workplace:
    """A cluster, and a folder that its pods can see."""

    cluster: Cluster
    client: Client
    data: Path

    async def run(self, name: str, *command: str, **spec: Any) -> Obj:
        """Run a Job to its end; return it."""
        await self.client.create(JOBS, self.job(name, *command, **spec), namespace=NAMESPACE)
        return await until_one(self.client, named(JOBS, name, NAMESPACE), ended)

    def job(self, name: str, *command: str, **spec: Any) -> Obj:
        """Return a Job whose pods run a command and find the folder at /data."""
        container = {
            "name": "main",
            "image": "any",
            "command": command,
            "volumeMounts": [{"name": "data", "mountPath": "/data"}],
        }
        pod = {
            "restartPolicy": "Never",
            "containers": [container],
            "volumes": [{"name": "data", "hostPath": {"path": str(self.data)}}],
        }
        return {"metadata": {"name": name}, "spec": {"template": {"spec": pod}, **spec}}

    async def pods(self, job: str) -> list[Obj]:
        """Return the pods of a Job."""
        return (await self.client.list(pods_of(job, NAMESPACE))).items

    async def logs(self, job: str) -> list[str]:
        """Return what each pod of a Job has printed."""
        asked = [
            calls.logs(PODS, pod["metadata"]["name"], NAMESPACE) for pod in await self.pods(job)
        ]
        return [(await self.client.send(call)).body.decode() for call in asked]

    def kubectl(self, *arguments: str) -> str:
        """Run it on the cluster; return what it prints."""
        config = f"--kubeconfig={self.cluster.folder / 'kubeconfig'}"
        command = [str(assets.need("kubectl")), config, f"--cache-dir={os.devnull}"]
        return subprocess.run(
            [*command, *arguments], text=True, capture_output=True, check=True
        ).stdout


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Workplace]:
    """A cluster in a process of its own, as users have it."""
    cluster = Cluster("one", tmp_path / "cluster", clock=CLOCK, options=["--in-memory"])
    data = tmp_path / "data"
    data.mkdir()
    await cluster.start()
    try:
        access = kubeconfig.from_file(cluster.folder / "kubeconfig").access(clock=CLOCK)
        async with connect(access, name="one", clock=CLOCK) as client:
            yield Workplace(cluster, client, data)
    finally:
        await cluster.stop()


async def test_an_indexed_job_sorts_a_file_in_parts(place: Workplace) -> None:
    lines = [f"{Random(7 + n).getrandbits(64):016x}\n" for n in range(4000)]
    (place.data / "lines").write_text("".join(lines))
    counts = {"completionMode": "Indexed", "completions": 4, "parallelism": 2}

    parts = await place.run("parts", sys.executable, "-c", SORT_PART, **counts)
    merge = await place.run("merge", sys.executable, "-c", MERGE_PARTS)

    assert complete(parts)
    assert complete(merge)
    assert parts["status"]["completedIndexes"] == "0-3"
    assert await place.logs("parts") == ["sorted 1000 lines\n"] * 4
    assert (place.data / "sorted").read_text() == "".join(sorted(lines))


async def test_the_pods_of_a_work_queue_share_what_there_is_to_do(place: Workplace) -> None:
    queue = place.data / "queue"
    queue.mkdir()
    items = {f"item-{number}" for number in range(200)}
    for item in items:
        (queue / item).touch()

    job = await place.run("queue", sys.executable, "-c", WORK_OFF, parallelism=3)

    assert complete(job)
    assert job["status"]["succeeded"] == 3
    done = "".join(await place.logs("queue")).split()
    assert sorted(done) == sorted(items)


async def test_an_exit_code_ends_a_job_by_its_pod_failure_policy(place: Workplace) -> None:
    codes = {"containerName": "main", "operator": "In", "values": [42]}
    policy = {"rules": [{"action": "FailJob", "onExitCodes": codes}]}

    job = await place.run("broken", "sh", "-c", "exit 42", podFailurePolicy=policy)

    assert failed(job)
    assert condition(job, "Failed")["reason"] == "PodFailurePolicy"
    assert "exit code 42" in condition(job, "Failed")["message"]
    assert len(await place.pods("broken")) == 1


async def test_a_job_is_ended_at_its_deadline_and_its_processes_too(place: Workplace) -> None:
    begun = Gate(place.data, "begun")
    job = place.job("late", sys.executable, "-c", SLEEP)
    await place.client.create(JOBS, job, namespace=NAMESPACE)
    pid = int(await begun.read())

    await place.client.patch(
        JOBS, "late", {"spec": {"activeDeadlineSeconds": 1}}, namespace=NAMESPACE
    )

    job = await until_one(place.client, named(JOBS, "late", NAMESPACE), ended)
    assert condition(job, "Failed")["reason"] == "DeadlineExceeded"
    await until_none(place.client, pods_of("late", NAMESPACE))
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_a_cron_job_makes_jobs_that_run(place: Workplace) -> None:
    template = place.job("", "sh", "-c", "echo done > /data/note")
    cron = {"schedule": "@every 1s", "jobTemplate": {"spec": template["spec"]}}
    await place.client.create(
        CRON_JOBS, {"metadata": {"name": "often"}, "spec": cron}, namespace=NAMESPACE
    )

    made = await until_one(place.client, Scope(resource=JOBS, namespace=NAMESPACE), ended)

    assert complete(made)
    assert made["metadata"]["ownerReferences"][0]["name"] == "often"
    assert (place.data / "note").read_text() == "done\n"


def _has_perl() -> bool:
    perl = shutil.which("perl")
    if perl is None:
        return False
    return subprocess.run([perl, "-Mbignum", "-e1"], check=False).returncode == 0


@pytest.mark.skipif(not _has_perl(), reason="there is no perl, or one without bignum")
async def test_perl_prints_pi(place: Workplace) -> None:
    job = await place.run("pi", *PI, backoffLimit=4)

    assert complete(job)
    (digits,) = await place.logs("pi")
    assert digits.startswith("3.14159265358979323846264338327950288419716939937510")
    assert len(digits) == len("3.\n") + 999


@pytest.mark.kube
async def test_kubectl_shows_logs_and_runs_commands_in_a_running_job(place: Workplace) -> None:
    go = Gate(place.data, "go")
    job = place.job("waits", "sh", "-c", "echo begun; read word < /data/go; echo $word")
    await place.client.create(JOBS, job, namespace=NAMESPACE)
    place.kubectl("wait", "--for=jsonpath={.status.ready}=1", "job/waits", "--timeout=30s")

    listed = place.kubectl("exec", "job/waits", "--", "ls", "/data")
    with go.open() as write:
        write("on\n")
        place.kubectl("wait", "--for=condition=Complete", "job/waits", "--timeout=30s")

    assert listed == "go\n"
    assert place.kubectl("logs", "job/waits") == "begun\non\n"
