"""The Node of a runner."""

from jobferry.kube.client import Client
from jobferry.kube.resources import LEASES, NODES
from jobferry.localkube.in_process import in_process
from jobferry.localkube.runner import node
from jobferry.objects import Obj, conditions
from jobferry.runtime import supervise
from jobferry.testing.clock import ManualClock

ROOM = {"cpu": "2", "pods": "10"}


async def readiness(client: Client) -> Obj:
    found = conditions.find((await client.get(NODES, "a"))["status"]["conditions"], "Ready")
    assert found is not None
    return found


async def test_a_node_that_was_taken_for_lost_says_that_it_is_there() -> None:
    clock = ManualClock()
    async with (
        in_process(clock) as cluster,
        cluster.client() as client,
        supervise.tasks("node", clock=clock) as tasks,
    ):
        await node.register(client, "a", ROOM)
        tasks.start("alive", lambda: node.keep_alive(client, "a", ROOM))
        await clock.pass_time(1)
        lost = {**await readiness(client), "status": "Unknown", "reason": "NodeStatusUnknown"}
        body = {"status": {"conditions": [lost]}}
        await client.patch(NODES, "a", body, subresource="status")

        await clock.pass_time(node.RENEW)
        found = await client.get(NODES, "a")
        lease = await client.get(LEASES, "a", node.LEASE_NAMESPACE)

    assert conditions.is_true(found["status"]["conditions"], "Ready")
    assert len(found["status"]["conditions"]) == 4
    assert lease["spec"]["renewTime"] == "2026-01-01T00:00:10.000000Z"


async def test_a_node_that_is_ready_is_not_written_again_and_again() -> None:
    clock = ManualClock()
    async with (
        in_process(clock) as cluster,
        cluster.client() as client,
        supervise.tasks("node", clock=clock) as tasks,
    ):
        await node.register(client, "a", ROOM)
        tasks.start("alive", lambda: node.keep_alive(client, "a", ROOM))
        before = await client.get(NODES, "a")
        await clock.pass_time(100)

        assert await client.get(NODES, "a") == before
