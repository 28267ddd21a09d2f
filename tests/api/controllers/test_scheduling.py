"""Pods and nodes: who goes where, and who has to leave."""

from collections.abc import Callable

import pytest

from jobferry.kube.client import Client
from jobferry.kube.resources import NODES, PODS
from jobferry.objects import Obj, conditions
from jobferry.testing.wait import until
from tests.api.controllers.things import (
    has,
    is_deleted,
    make_pod,
    until_told,
)

pytestmark = [pytest.mark.timeout(60)]


async def test_pods_wait_for_room_and_say_so(client: Client, place: str, machine: str) -> None:
    await make_pod(client, place, "first", machine)
    await until(client, PODS, "first", place, has("PodScheduled"))
    await make_pod(client, place, "second", machine)

    found = await until(client, PODS, "second", place, has("PodScheduled", "False"))

    condition = conditions.find(found["status"]["conditions"], "PodScheduled")
    assert condition
    assert condition["reason"] == "Unschedulable"
    said = condition["message"]
    assert said.startswith("0/")
    assert " nodes are available: " in said
    assert "1 Insufficient cpu" in said
    assert await until_told(client, place, "second", "FailedScheduling") == said
    await client.delete(PODS, "first", place, grace=0)
    found = await until(client, PODS, "second", place, has("PodScheduled"))
    assert found["spec"]["nodeName"] == machine
    told = await until_told(client, place, "second", "Scheduled")
    assert told == f"Successfully assigned {place}/second to {machine}"


async def test_a_gated_pod_waits(client: Client, place: str, machine: str) -> None:
    await make_pod(client, place, "p", machine, schedulingGates=[{"name": "example.com/later"}])
    found = await until(client, PODS, "p", place, has("PodScheduled", "False"))
    condition = conditions.find(found["status"]["conditions"], "PodScheduled")
    assert condition
    assert condition["reason"] == "SchedulingGated"

    await client.patch(PODS, "p", {"spec": {"schedulingGates": None}}, namespace=place)

    await until(client, PODS, "p", place, has("PodScheduled"))


async def test_a_cordoned_node_takes_no_pods(client: Client, place: str, machine: str) -> None:
    await client.patch(NODES, machine, {"spec": {"unschedulable": True}})
    await until(client, NODES, machine, None, _tainted("unschedulable", "NoSchedule"))
    await make_pod(client, place, "p", machine)

    found = await until(client, PODS, "p", place, has("PodScheduled", "False"))
    condition = conditions.find(found["status"]["conditions"], "PodScheduled")
    assert condition
    assert "1 node(s) were unschedulable" in condition["message"]

    await client.patch(NODES, machine, {"spec": {"unschedulable": None}})
    await until(client, PODS, "p", place, has("PodScheduled"))


async def test_a_node_that_is_not_ready_is_tainted(client: Client, machine: str) -> None:
    for status, tainted in (("False", "not-ready"), ("Unknown", "unreachable")):
        await _set_ready(client, machine, status)
        await until(client, NODES, machine, None, _tainted(tainted, "NoSchedule"))

    await _set_ready(client, machine, "True")
    await until(client, NODES, machine, None, lambda found: not found["spec"].get("taints"))


async def test_pods_leave_a_node_whose_taint_they_do_not_tolerate(
    client: Client, place: str, machine: str
) -> None:
    tolerations = {"tolerations": [{"key": "example.com/leave", "operator": "Exists"}]}
    await make_pod(client, place, "p", machine, cpu="100m")
    await make_pod(client, place, "stays", machine, cpu="100m", **tolerations)
    for name in ("p", "stays"):
        await until(client, PODS, name, place, has("PodScheduled"))

    taint = {"key": "example.com/leave", "effect": "NoExecute"}
    await client.patch(NODES, machine, {"spec": {"taints": [taint]}})

    found = await until(client, PODS, "p", place, is_deleted)
    condition = conditions.find(found["status"]["conditions"], "DisruptionTarget")
    assert condition
    assert (condition["reason"], condition["message"]) == (
        "DeletionByTaintManager",
        "Taint manager: deleting due to NoExecute taint",
    )
    told = await until_told(client, place, "p", "TaintManagerEviction")
    assert told == f"Marking for deletion Pod {place}/p"
    assert not is_deleted(await client.get(PODS, "stays", place))
    for name in ("p", "stays"):
        await client.delete(PODS, name, place, grace=0)


def _tainted(key: str, effect: str) -> Callable[[Obj], bool]:
    def holds(found: Obj) -> bool:
        return any(
            (taint["key"], taint["effect"]) == (f"node.kubernetes.io/{key}", effect)
            for taint in found["spec"].get("taints") or ()
        )

    return holds


async def _set_ready(client: Client, name: str, status: str) -> None:
    now = client.clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    ready = {"type": "Ready", "status": status, "lastHeartbeatTime": now}
    body = {"status": {"conditions": [{**ready, "lastTransitionTime": now}]}}
    await client.patch(NODES, name, body, subresource="status")
