"""Pods that only seem to run, in virtual time."""

from datetime import timedelta
from random import Random
from typing import Any

import pytest

from jobferry.kube.calls import Scope
from jobferry.kube.client import Client
from jobferry.kube.resources import LEASES, NAMESPACES, NODES, PODS
from jobferry.localkube.in_process import in_process
from jobferry.localkube.runner.backend import CannotStart
from jobferry.localkube.runner.simulated import (
    EXIT_CODE,
    RUN_SECONDS,
    STOP_SECONDS,
    by_annotations,
    drawn,
    simulating,
)
from jobferry.objects import Obj
from jobferry.objects.times import timestamp
from jobferry.testing.clock import ManualClock, settle
from tests.unit.localkube.runner.world import pod


def simulated(name: str, node: str, **said: Any) -> Obj:
    made = pod(name, "none", nodeName=node)
    annotations = {"seconds": RUN_SECONDS, "code": EXIT_CODE, "stop": STOP_SECONDS}
    made["metadata"]["annotations"] = {annotations[k]: str(v) for k, v in said.items()}
    return made


async def phases(client: Client) -> dict[str, str]:
    found = await client.list(Scope(resource=PODS))
    return {each["metadata"]["name"]: each["status"]["phase"] for each in found.items}


async def test_pods_of_many_nodes_run_as_long_as_they_say() -> None:
    clock = ManualClock()
    names = [f"node-{number}" for number in range(20)]
    async with (
        in_process(clock, without_plugins={"ServiceAccount"}) as cluster,
        cluster.client() as client,
        simulating(client, names),
    ):
        assert len((await client.list(Scope(resource=NODES))).items) == 20
        await client.create(PODS, simulated("short", "node-3", seconds=5))
        await client.create(PODS, simulated("long", "node-4", seconds=3600, code=3))
        await client.create(PODS, simulated("none", "node-5"))
        await client.create(PODS, simulated("elsewhere", "other"))

        await clock.pass_time(1)
        first = await phases(client)
        await clock.pass_time(5)
        second = await phases(client)
        await clock.pass_time(3600)
        third = await phases(client)

    assert first == {
        "short": "Running",
        "long": "Running",
        "none": "Succeeded",
        "elsewhere": "Pending",
    }
    assert second["short"] == "Succeeded"
    assert second["long"] == "Running"
    assert third["long"] == "Failed"


async def test_a_pod_that_goes_on_ends_in_time_though_the_clock_was_put_back() -> None:
    clock = ManualClock()
    later = timestamp(clock.now() + timedelta(hours=1))
    ran = {"name": "main", "state": {"running": {"startedAt": later}}}
    async with (
        in_process(clock, without_plugins={"ServiceAccount"}) as cluster,
        cluster.client() as client,
    ):
        await client.create(PODS, simulated("a", "node", seconds=5))
        status = {"status": {"phase": "Running", "containerStatuses": [ran]}}
        await client.patch(PODS, "a", status, namespace="default", subresource="status")
        async with simulating(client, ["node"]):
            await clock.pass_time(6)

            assert await phases(client) == {"a": "Succeeded"}


async def test_a_deleted_pod_ends_and_goes() -> None:
    clock = ManualClock()
    async with (
        in_process(clock, without_plugins={"ServiceAccount"}) as cluster,
        cluster.client() as client,
        simulating(client, ["node"]),
    ):
        await client.create(PODS, simulated("pod", "node", seconds="inf"))
        await settle()
        await client.delete(PODS, "pod", "default")
        await settle()

        assert await phases(client) == {}


async def test_a_pod_takes_its_time_to_stop_but_no_longer_than_its_grace() -> None:
    clock = ManualClock()
    async with (
        in_process(clock, without_plugins={"ServiceAccount"}) as cluster,
        cluster.client() as client,
        simulating(client, ["node"]),
    ):
        for name, stop in {"slow": 5, "deaf": 600, "odd": "soon"}.items():
            await client.create(PODS, simulated(name, "node", seconds=3600, stop=stop))
        await clock.pass_time(1)
        for name in ("slow", "deaf", "odd"):
            await client.delete(PODS, name, "default")

        await clock.pass_time(4)
        first = await phases(client)
        await clock.pass_time(2)
        second = await phases(client)
        await clock.pass_time(30)
        third = await phases(client)

    assert first == {"slow": "Running", "deaf": "Running"}
    assert second == {"deaf": "Running"}
    assert not third


def test_durations_may_be_drawn() -> None:
    draw = drawn(Random(1), mean=10.0, failures=0.5)
    plays = [draw({"metadata": {}}) for _ in range(1000)]

    assert 8 < sum(play.seconds for play in plays) / 1000 < 12
    assert 400 < sum(play.exit_code for play in plays) < 600
    assert draw({"metadata": {"annotations": {RUN_SECONDS: "3"}}}).seconds == 3


def test_what_is_no_number_is_refused() -> None:
    with pytest.raises(CannotStart, match="could not convert"):
        by_annotations({"metadata": {"annotations": {RUN_SECONDS: "long"}}})


async def test_a_node_lives_on_though_its_lease_is_refused() -> None:
    clock = ManualClock()
    async with in_process(clock) as cluster, cluster.client() as client:
        await client.delete(NAMESPACES, "kube-node-lease")  # stays: nobody empties it here
        async with simulating(client, ["a"], heartbeat=10.0, director=by_annotations):
            await clock.pass_time(25)
            finish = {"metadata": {"name": "kube-node-lease"}, "spec": {"finalizers": []}}
            await client.update(NAMESPACES, finish, subresource="finalize")
            await client.create(NAMESPACES, {"metadata": {"name": "kube-node-lease"}})
            await clock.pass_time(10)

            assert await client.get(LEASES, "a", "kube-node-lease")
