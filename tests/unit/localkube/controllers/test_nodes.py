"""Nodes that fall silent, and the pods on them."""

from pathlib import Path

from jobferry.kube.items import Item
from jobferry.kube.resources import LEASES, NODES, PODS
from jobferry.localkube.controllers.heads import ObjectMetadata, Pod, PodStatus
from jobferry.localkube.controllers.pod_gc import surplus
from jobferry.objects import Obj, conditions
from tests.unit.localkube.controllers.world import World, cluster


async def renew(world: World, name: str) -> None:
    """Renew the lease of a node, as a kubelet does."""
    now = world.clock.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    spec = {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": now}
    if await world.find(LEASES, name, "kube-node-lease"):
        await world.client.patch(LEASES, name, {"spec": spec}, namespace="kube-node-lease")
    else:
        meta = {"name": name, "namespace": "kube-node-lease"}
        await world.client.create(LEASES, {"metadata": meta, "spec": spec})
    await world.settle()


async def pass_with(world: World, seconds: int, *alive: str) -> None:
    """Let time pass while some nodes are alive."""
    for _ in range(0, seconds, 10):
        await world.pass_time(10)
        for name in alive:
            await renew(world, name)


async def node(world: World, name: str = "n") -> Obj:
    found = await world.find(NODES, name)
    assert found
    return found


async def taints(world: World, name: str = "n") -> set[tuple[str, str]]:
    found = (await node(world, name))["spec"].get("taints") or []
    return {(each["key"].rpartition("/")[2], each["effect"]) for each in found}


async def test_a_new_node_takes_pods_once_it_is_ready(tmp_path: Path) -> None:
    async with cluster(tmp_path, plugins=True) as world:
        await world.add_node("n")
        await world.add_pod("p")

        assert await taints(world) == set()
        found = await world.find(PODS, "p")
        assert found
        assert found["spec"]["nodeName"] == "n"


async def test_a_node_that_falls_silent_is_not_ready_and_loses_its_pods(tmp_path: Path) -> None:
    async with cluster(tmp_path, plugins=True) as world:
        await world.add_node("n")
        await renew(world, "n")
        await world.add_pod("p")
        await world.add_pod("brief", tolerations=[_tolerates(60)])
        await world.add_node("other", unschedulable=True)
        await pass_with(world, 100, "n", "other")
        assert await taints(world) == set()

        await pass_with(world, 60, "other")

        ready = conditions.find((await node(world))["status"]["conditions"], "Ready")
        assert ready
        assert (ready["status"], ready["reason"]) == ("Unknown", "NodeStatusUnknown")
        assert await taints(world) == {
            ("unreachable", "NoSchedule"),
            ("unreachable", "NoExecute"),
        }
        assert ("NodeNotReady", "Node n status is now: NodeNotReady") in await world.told("n")
        assert not await _is_deleted(world, "brief")

        await pass_with(world, 60, "other")
        assert await _is_deleted(world, "brief")
        assert not await _is_deleted(world, "p")

        await pass_with(world, 300, "other")
        assert await _is_deleted(world, "p")
        found = await world.find(PODS, "p")
        assert found
        condition = conditions.find(found["status"]["conditions"], "DisruptionTarget")
        assert condition
        assert condition["reason"] == "DeletionByTaintManager"
        assert (
            "TaintManagerEviction",
            "Marking for deletion Pod default/p",
        ) in await world.told("p")


async def test_a_node_that_comes_back_keeps_its_pods(tmp_path: Path) -> None:
    async with cluster(tmp_path, plugins=True) as world:
        await world.add_node("n")
        await world.add_node("other")
        await renew(world, "n")
        await world.add_pod("p", nodeName="n")
        await pass_with(world, 60, "other")
        assert ("unreachable", "NoExecute") in await taints(world)

        def be_ready(found: Obj) -> None:
            found["status"]["conditions"] = [{"type": "Ready", "status": "True"}]

        await renew(world, "n")
        await world.change(NODES, "n", be_ready, subresource="status")
        assert await taints(world) == set()

        await pass_with(world, 600, "n", "other")
        assert not await _is_deleted(world, "p")


async def test_the_only_node_of_a_cluster_keeps_its_pods(tmp_path: Path) -> None:
    async with cluster(tmp_path, plugins=True) as world:
        await world.add_node("n")
        await renew(world, "n")
        await world.add_pod("p")

        await world.pass_time(1000)

        assert await taints(world) == {("unreachable", "NoSchedule")}
        assert not await _is_deleted(world, "p")


async def test_whoever_slept_does_not_take_others_for_dead(tmp_path: Path) -> None:
    async with cluster(tmp_path, plugins=True) as world:
        await world.add_node("n")
        await renew(world, "n")

        world.clock.advance(1000)  # as after a suspended laptop: nobody ran meanwhile
        await world.settle()
        await renew(world, "n")

        assert await taints(world) == set()


async def test_a_node_without_a_lease_is_believed(tmp_path: Path) -> None:
    async with cluster(tmp_path, plugins=True) as world:
        await world.add_node("n")

        await world.pass_time(1000)

        assert await taints(world) == set()


async def test_a_cordoned_node_is_tainted_until_it_is_not(tmp_path: Path) -> None:
    async with cluster(tmp_path) as world:
        await world.add_node("n", unschedulable=True)
        assert await taints(world) == {("unschedulable", "NoSchedule")}

        await world.client.patch(NODES, "n", {"spec": {"unschedulable": None}})
        await world.settle()
        assert await taints(world) == set()


async def test_the_pods_of_a_node_that_is_gone_fail_and_go(tmp_path: Path) -> None:
    async with cluster(tmp_path) as world:
        await world.add_node("n")
        await world.add_pod("p", meta={"finalizers": ["example.com/keep"]})
        await world.client.delete(NODES, "n")
        await world.pass_time(39)
        assert not await _is_deleted(world, "p")

        await world.pass_time(2)

        found = await world.find(PODS, "p")
        assert found
        assert found["metadata"]["deletionTimestamp"]
        assert found["status"]["phase"] == "Failed"
        condition = conditions.find(found["status"]["conditions"], "DisruptionTarget")
        assert condition
        assert condition["message"] == "PodGC: node no longer exists"


async def test_the_pods_of_a_node_that_is_made_again_stay(tmp_path: Path) -> None:
    async with cluster(tmp_path) as world:
        await world.add_node("n")
        await world.add_pod("p")
        await world.client.delete(NODES, "n")
        await world.pass_time(10)
        await world.add_node("n")

        await world.pass_time(100)

        assert not await _is_deleted(world, "p")


def test_the_oldest_finished_pods_are_too_many() -> None:
    def pod(name: str, phase: str, created: str) -> Item[Pod]:
        meta = ObjectMetadata(name=name, resource_version="1", creation_timestamp=created)
        return Item(Pod(metadata=meta, status=PodStatus(phase=phase)), b"")

    pods = [
        pod("new", "Succeeded", "3"),
        pod("running", "Running", "0"),
        pod("old", "Failed", "1"),
        pod("middle", "Succeeded", "2"),
    ]

    assert [each.key.name for each in surplus(pods, 1)] == ["old", "middle"]
    assert surplus(pods, 3) == []


async def _is_deleted(world: World, name: str) -> bool:
    found = await world.find(PODS, name)
    return found is None or "deletionTimestamp" in found["metadata"]


def _tolerates(seconds: int) -> Obj:
    return {
        "key": "node.kubernetes.io/unreachable",
        "operator": "Exists",
        "effect": "NoExecute",
        "tolerationSeconds": seconds,
    }
