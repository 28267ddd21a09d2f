"""The scheduler on a cluster in this process."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from jobferry.kube.resources import NODES, PODS
from jobferry.localkube.controllers.scheduler.scheduler import Scheduler
from jobferry.objects import Obj, conditions
from jobferry.objects.resource import Resource
from jobferry.runtime import supervise
from tests.unit.localkube.controllers.world import World, cluster

PRIORITIES = Resource(
    "scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", namespaced=False
)
BIG: Any = {"requests": {"cpu": "3"}}


async def node_of(world: World, name: str) -> str | None:
    found = await world.find(PODS, name)
    assert found
    node: str | None = found["spec"].get("nodeName")
    return node


async def scheduled(world: World, name: str) -> Obj:
    found = await world.find(PODS, name)
    assert found
    condition = conditions.find(found["status"].get("conditions"), "PodScheduled")
    assert condition
    return condition


async def finish(world: World, name: str) -> None:
    body = {"status": {"phase": "Succeeded"}}
    await world.client.patch(PODS, name, body, namespace="default", subresource="status")
    await world.settle()


async def test_a_pod_is_bound_to_a_node_that_fits(tmp_path: Path) -> None:
    async with cluster(tmp_path) as world:
        await world.add_node("small", amounts={"cpu": "1"})
        await world.add_node("large")

        await world.add_pod("p", **BIG)

        assert await node_of(world, "p") == "large"
        assert (await scheduled(world, "p"))["status"] == "True"
        assert await world.told("p") == [
            ("Scheduled", "Successfully assigned default/p to large")
        ]


async def test_a_pod_that_fits_nowhere_says_why_and_waits(tmp_path: Path) -> None:
    async with cluster(tmp_path) as world:
        await world.add_pod("p", **BIG)
        assert (await scheduled(world, "p"))["message"] == "no nodes available to schedule pods"

        await world.add_node("small", amounts={"cpu": "1"})

        condition = await scheduled(world, "p")
        why = "0/1 nodes are available: 1 Insufficient cpu."
        assert (condition["status"], condition["reason"]) == ("False", "Unschedulable")
        assert condition["message"] == why
        assert ("FailedScheduling", why) in await world.told("p")

        await world.add_node("large")

        assert await node_of(world, "p") == "large"


async def test_pods_wait_for_the_room_that_others_leave(tmp_path: Path) -> None:
    async with cluster(tmp_path) as world:
        await world.add_node("n")
        for name in ("a", "b", "c"):
            await world.add_pod(name, **BIG)
        assert [await node_of(world, name) for name in "abc"] == ["n", None, None]

        await finish(world, "a")
        assert [await node_of(world, name) for name in "bc"] == ["n", None]

        await world.client.delete(PODS, "b", "default", grace=0)
        await world.settle()
        assert await node_of(world, "c") == "n"


async def test_the_highest_priority_goes_first(tmp_path: Path) -> None:
    async with cluster(tmp_path) as world:
        for name, value in (("low", 1), ("high", 100)):
            await world.client.create(PRIORITIES, {"metadata": {"name": name}, "value": value})
        for number, priority in enumerate(("low", "low", "high")):
            await world.add_pod(f"p{number}", priorityClassName=priority, **BIG)

        await world.add_node("n")
        assert [await node_of(world, name) for name in ("p0", "p1", "p2")] == [None, None, "n"]

        await finish(world, "p2")
        assert [await node_of(world, name) for name in ("p0", "p1")] == ["n", None]


async def test_a_gated_pod_waits_until_its_gates_are_gone(tmp_path: Path) -> None:
    async with cluster(tmp_path) as world:
        await world.add_node("n")
        await world.add_pod("p", schedulingGates=[{"name": "example.com/later"}])
        assert (await scheduled(world, "p"))["reason"] == "SchedulingGated"

        def open_gate(pod: Obj) -> None:
            pod["spec"]["schedulingGates"] = []

        await world.change(PODS, "p", open_gate)

        assert await node_of(world, "p") == "n"


async def test_a_node_that_changes_is_looked_at_again(tmp_path: Path) -> None:
    async with cluster(tmp_path) as world:
        await world.add_node("n", unschedulable=True)
        await world.add_pod("p", nodeSelector={"disk": "fast"})
        why = (await scheduled(world, "p"))["message"]
        assert why == "0/1 nodes are available: 1 node(s) were unschedulable."

        await world.client.patch(NODES, "n", {"spec": {"unschedulable": None}})
        await world.settle()
        why = (await scheduled(world, "p"))["message"]
        assert "didn't match Pod's node affinity/selector" in why

        await world.client.patch(NODES, "n", {"metadata": {"labels": {"disk": "fast"}}})
        await world.settle()
        assert await node_of(world, "p") == "n"


async def test_other_schedulers_are_left_alone(tmp_path: Path) -> None:
    async with cluster(tmp_path) as world:
        await world.add_node("n")
        await world.add_pod("p", schedulerName="mine")

        found = await world.find(PODS, "p")
        assert found
        assert "nodeName" not in found["spec"]
        assert "conditions" not in found["status"]


async def test_many_pods_that_wait_are_placed_as_room_comes(tmp_path: Path) -> None:
    async with cluster(tmp_path) as world:
        await world.add_node("n")
        spec: dict[str, Any] = {"requests": {"cpu": "1"}}
        for number in range(30):
            await world.add_pod(f"p{number:02}", **spec)
        done: list[str] = []
        for _ in range(30):
            running = [
                pod["metadata"]["name"]
                for pod in await world.all(PODS)
                if pod["spec"].get("nodeName") and pod["status"]["phase"] == "Pending"
            ]
            assert len(running) == min(4, 30 - len(done))
            await finish(world, running[0])
            done.append(running[0])
            await world.settle()

        assert len(done) == 30


@asynccontextmanager
async def scheduling(world: World, scheduler: Scheduler) -> AsyncIterator[None]:
    """Let a scheduler of ours work during the block."""
    async with supervise.tasks("test", clock=world.clock) as tasks:
        tasks.start("scheduler", scheduler.run)
        await world.settle()
        yield
        await world.settle()


async def test_the_next_has_its_turn_if_the_first_of_those_that_wait_is_gone(
    tmp_path: Path,
) -> None:
    async with cluster(tmp_path, without=frozenset({"scheduler"})) as world:
        scheduler = Scheduler(world.client, world.controllers.informers, lambda *_: None)
        await world.add_node("n")
        for name in ("a", "b", "c"):
            await world.add_pod(name, **BIG)
        async with scheduling(world, scheduler):
            pass
        await finish(world, "a")  # so that b is tried next
        await world.client.delete(PODS, "b", "default")
        await world.settle()

        async with scheduling(world, scheduler):
            pass

        assert await node_of(world, "c") == "n"
