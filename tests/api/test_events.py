import asyncio
import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from secrets import token_hex

import pytest

from jobferry.clock import SystemClock
from jobferry.kube.calls import Scope
from jobferry.kube.client import Client, connect
from jobferry.kube.events import Recorder, Subject
from jobferry.kube.items import Key
from jobferry.kube.resources import CONFIG_MAPS, EVENTS, JOBS, NAMESPACES, NODES
from jobferry.objects import Obj
from jobferry.objects.resource import Resource
from jobferry.testing import assets
from jobferry.testing.control_plane import ControlPlane

pytestmark = pytest.mark.api


@asynccontextmanager
async def recorder_on(client: Client) -> AsyncIterator[Recorder]:
    recorder = Recorder(client, component="jobferry", instance="test")
    task = asyncio.create_task(recorder.run())
    yield recorder
    task.cancel()
    await asyncio.wait([task])


async def until(recorder: Recorder, *, posted: int = 0, dropped: int = 0) -> None:
    while recorder.stats().posted < posted or recorder.stats().dropped < dropped:  # noqa: ASYNC110
        await asyncio.sleep(0.005)


def subject(resource: Resource, obj: Obj) -> Subject:
    meta = obj["metadata"]
    return Subject(resource, Key(meta.get("namespace", ""), meta["name"]), meta["uid"])


async def job(cluster: Client, namespace: str) -> Subject:
    container = {"name": "main", "image": "none"}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    meta = {"name": "train", "namespace": namespace}
    obj = await cluster.create(JOBS, {"metadata": meta, "spec": {"template": template}})
    return subject(JOBS, obj)


async def kubectl(plane: ControlPlane, *arguments: str) -> str:
    """Run the real kubectl and return what it prints, runs of blanks made one."""
    process = await asyncio.create_subprocess_exec(
        assets.need("kubectl"),
        *arguments,
        env={**os.environ, "KUBECONFIG": str(plane.kubeconfig_file)},
        stdout=asyncio.subprocess.PIPE,
    )
    printed, _ = await process.communicate()
    assert process.returncode == 0
    return re.sub(" +", " ", printed.decode())


@pytest.mark.kube
async def test_kubectl_describes_a_job_with_its_events_and_how_often_they_were(
    plane: ControlPlane, cluster: Client, namespace: str
) -> None:
    train = await job(cluster, namespace)
    async with recorder_on(cluster) as recorder:
        recorder.record(train, "Normal", "Placed", "Placed on east")
        await until(recorder, posted=1)
        for posted in (2, 3, 4):
            recorder.record(train, "Warning", "Unreachable", "east does not answer")
            await until(recorder, posted=posted)

    described = await kubectl(plane, "describe", "job", "train", "-n", namespace)
    listed = await kubectl(plane, "events", "-n", namespace, "--for", "job/train")

    assert re.search(r"Normal Placed \d+s jobferry Placed on east", described)
    often = r"Warning Unreachable \d+s \(x3 over \d+s\) jobferry east does not answer"
    assert re.search(often, described)
    assert re.search(r"\(x3 over \d+s\) Warning Unreachable Job/train", listed)


@pytest.mark.kube
async def test_kubectl_describes_a_node_with_its_events(
    plane: ControlPlane, cluster: Client
) -> None:
    name = f"node-{token_hex(4)}"
    node = await cluster.create(NODES, {"metadata": {"name": name}})
    async with recorder_on(cluster) as recorder:
        recorder.record(subject(NODES, node), "Normal", "Joined", "It joined")
        await until(recorder, posted=1)

    described = await kubectl(plane, "describe", "node", name)
    await cluster.delete(NODES, name)

    assert re.search(r"Normal Joined \d+s jobferry It joined", described)


async def test_an_event_that_is_gone_is_made_again_with_its_count(
    cluster: Client, namespace: str
) -> None:
    train = await job(cluster, namespace)
    scope = Scope(resource=EVENTS, namespace=namespace)
    async with recorder_on(cluster) as recorder:
        recorder.record(train, "Normal", "Placed", "Placed on east")
        await until(recorder, posted=1)
        await cluster.delete_collection(scope)
        recorder.record(train, "Normal", "Placed", "Placed on east")
        await until(recorder, posted=2)

    [event] = (await cluster.list(scope)).items
    assert (event["message"], event["count"]) == ("Placed on east", 2)


async def test_without_the_right_it_says_so_once(
    plane: ControlPlane, cluster: Client, namespace: str, caplog: pytest.LogCaptureFixture
) -> None:
    train = await job(cluster, namespace)
    async with (
        connect(plane.access("nobody"), name="plane", clock=SystemClock()) as client,
        recorder_on(client) as recorder,
    ):
        for number in range(3):
            recorder.record(train, "Normal", "Placed", f"Message {number}")
        await until(recorder, dropped=3)

    [line] = caplog.records
    assert 'cannot create resource "events"' in str(line.facts["error"])  # type: ignore[attr-defined]


async def test_of_a_namespace_that_goes_away_nothing_is_said(
    cluster: Client, caplog: pytest.LogCaptureFixture
) -> None:
    # No controller runs, so it stays on its way out.
    name = f"leaving-{token_hex(4)}"
    await cluster.create(NAMESPACES, {"metadata": {"name": name}})
    meta = {"name": "settings", "namespace": name}
    leaving = subject(CONFIG_MAPS, await cluster.create(CONFIG_MAPS, {"metadata": meta}))
    await cluster.delete(NAMESPACES, name)
    gone = leaving._replace(key=Key("never-there", "settings"), uid="uid")
    async with recorder_on(cluster) as recorder:
        recorder.record(leaving, "Normal", "Placed", "Placed on east")
        recorder.record(gone, "Normal", "Placed", "Placed on east")
        await until(recorder, dropped=2)

    assert caplog.records == []
