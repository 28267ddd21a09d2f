"""Which Jobs the controller runs, which pods it lets go, and what it does where it cannot create any."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from jobferry.kube.client import Client
from jobferry.kube.resources import JOBS, NAMESPACES, PODS
from jobferry.localkube.controllers.job.controller import TRACKING
from jobferry.metrics import Registry
from jobferry.objects import Obj
from jobferry.testing.wait import until, until_gone
from tests.system import virtual
from tests.system.job_scenarios import plain
from tests.system.job_stage import (
    FOREVER,
    SERVICE_ACCOUNTS,
    Audience,
    Scenario,
    Stage,
    playing,
)
from tests.system.lossy import lossy

RESERVED = "kubernetes.io/job-controller"
ONE = Scenario("one", plain(), "")
LONG = Scenario("long", plain(4, 4), "", {"": [(FOREVER, 0)]})


@pytest.fixture
async def cluster() -> AsyncIterator[virtual.Cluster]:
    async with virtual.cluster() as made:
        yield made


@pytest.fixture
async def audience(cluster: virtual.Cluster) -> AsyncIterator[Audience]:
    async with cluster.client() as client, playing(client) as made:
        yield made


async def begun(audience: Audience, namespace: str, managed_by: str | None) -> Stage:
    stage = Stage(audience, ONE, namespace, managed_by)
    await stage.open()
    await stage.begin()
    return stage


async def test_a_delegated_job_is_left_alone_and_counted(
    cluster: virtual.Cluster, audience: Audience
) -> None:
    registry = Registry()
    async with virtual.running_jobs(cluster.client(), registry=registry):
        others = await begun(audience, "others", "example.com/other")
        unset = await begun(audience, "unset", None)
        reserved = await begun(audience, "reserved", RESERVED)
        await unset.finished()
        await reserved.finished()
        await others.wait(5)

    assert others.status == {}
    assert others.pods == []
    shown = registry.render().decode()
    name = "job_controller_jobs_by_external_controller_total"
    assert f'{name}{{controller_name="example.com/other"}} 1\n' in shown
    assert RESERVED not in shown


async def test_one_that_runs_under_a_name_takes_no_others(
    cluster: virtual.Cluster, audience: Audience
) -> None:
    names = frozenset({"example.com/mine"})
    async with virtual.running_jobs(cluster.client(), names=names):
        mine = await begun(audience, "mine", "example.com/mine")
        others = [
            await begun(audience, f"others-{number}", name)
            for number, name in enumerate((None, RESERVED, "example.com/other"))
        ]
        await mine.finished()
        await mine.wait(5)

    assert [stage.status for stage in others] == [{}, {}, {}]


async def test_a_job_that_is_made_again_is_another(
    cluster: virtual.Cluster, audience: Audience
) -> None:
    client = audience.client
    async with virtual.running_jobs(cluster.client()):
        stage = Stage(audience, LONG, "again", None)
        await stage.open()
        await stage.begin()
        await stage.running(4)
        await client.delete(JOBS, "work", "again", propagation="Background")
        await stage.begin(managedBy="example.com/other")
        await stage.wait(5)

    assert stage.status == {}


POD: Obj = {
    "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "none"}]},
}


def owned(name: str, uid: str, **more: Any) -> list[Obj]:
    owner = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "name": name,
        "uid": uid,
        "controller": True,
    }
    return [owner | more]


async def tracked(client: Client, name: str, namespace: str, owners: list[Obj]) -> None:
    meta = {"name": name, "namespace": namespace, "ownerReferences": owners}
    await client.create(PODS, {**POD, "metadata": {**meta, "finalizers": [TRACKING]}})


def is_free(pod: Obj) -> bool:
    return not pod["metadata"].get("finalizers")


async def test_pods_that_no_job_accounts_for_are_let_go(
    cluster: virtual.Cluster, audience: Audience
) -> None:
    client = audience.client
    async with virtual.running_jobs(cluster.client()):
        stage = await begun(audience, "orphans", None)
        others = await begun(audience, "others", "example.com/other")
        await stage.finished()
        finished, delegated = stage.job["metadata"], others.job["metadata"]
        await tracked(client, "nobodys", "orphans", [])
        await tracked(client, "of-none", "orphans", owned("gone", "x"))
        await tracked(client, "of-finished", "orphans", owned("work", finished["uid"]))
        await tracked(
            client,
            "of-set",
            "orphans",
            owned("set", "x", kind="ReplicaSet", apiVersion="apps/v1"),
        )
        await tracked(client, "of-other", "others", owned("work", delegated["uid"]))
        for name in ("of-none", "of-finished", "of-set"):
            await client.delete(PODS, name, "orphans")
        await client.delete(PODS, "of-other", "others")

        await until(client, PODS, "nobodys", "orphans", is_free)
        await until_gone(client, PODS, "of-none", "orphans")
        await until_gone(client, PODS, "of-finished", "orphans")
        await stage.wait(5)
        kept = [
            await client.get(PODS, "of-set", "orphans"),
            await client.get(PODS, "of-other", "others"),
        ]

    assert [pod["metadata"]["finalizers"] for pod in kept] == [[TRACKING], [TRACKING]]


async def test_the_pods_of_a_job_that_is_gone_are_let_go(
    cluster: virtual.Cluster, audience: Audience
) -> None:
    client = audience.client
    async with virtual.running_jobs(cluster.client()):
        stage = Stage(audience, LONG, "gone", None)
        await stage.open()
        await stage.begin()
        names = await stage.running(4)
        await client.delete(JOBS, "work", "gone", propagation="Background")

        for name in names:
            await until(client, PODS, name, "gone", is_free)


async def test_what_cannot_be_created_is_tried_once_at_a_time_and_told() -> None:
    async with lossy() as (controller, audience):
        stage = Stage(audience, LONG, "bare", None)
        await audience.client.create(NAMESPACES, {"metadata": {"name": "bare"}})
        await stage.begin()
        await stage.until(lambda: bool(stage.seen()["events"]))
        tried = controller.faulty.writes.count("POST /api/v1/namespaces/bare/pods")
        account = {"metadata": {"name": "default", "namespace": "bare"}}
        await audience.client.create(SERVICE_ACCOUNTS, account)
        await stage.running(4)

    assert 1 <= tried < 15
    (words,) = [each for each in stage.seen()["events"] if "FailedCreate" in each]
    assert words.startswith("Warning FailedCreate: Error creating: pods ")
    assert 'serviceaccount "default" not found' in words


async def test_a_namespace_that_goes_away_is_left_in_peace() -> None:
    async with lossy() as (controller, audience):
        stage = Stage(audience, LONG, "leaving", None)
        await stage.open()
        await stage.begin(parallelism=0)
        await stage.until(lambda: "startTime" in stage.status)
        await audience.client.delete(NAMESPACES, "leaving")
        controller.faulty.writes.clear()
        await stage.edit(parallelism=4)
        await stage.wait(30)

    tries = [each for each in controller.faulty.writes if each.endswith("/pods")]
    assert 1 <= len(tries) <= 2
    assert stage.seen()["events"] == {}
    assert not stage.status.get("active")
