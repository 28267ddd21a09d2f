"""Namespaces that are deleted are emptied first."""

from datetime import UTC, datetime
from pathlib import Path

from jobferry.kube.resources import CONFIG_MAPS, NAMESPACES, PODS
from jobferry.localkube.controllers.namespace_content import Content, next_conditions
from jobferry.objects import Obj, conditions
from tests.unit.localkube.controllers.test_collector import BOATS, CRD
from tests.unit.localkube.controllers.world import cluster

NOW = datetime(2026, 1, 1, tzinfo=UTC)
KEEP = ["example.com/keep"]


async def test_a_namespace_goes_with_all_that_is_in_it(tmp_path: Path) -> None:
    async with cluster(tmp_path) as world:
        await world.define(CRD)
        place = await world.namespace("old")
        for resource in (CONFIG_MAPS, BOATS):
            await world.client.create(resource, {"metadata": {"name": "x", "namespace": place}})
        await world.add_pod("p", place)

        await world.client.delete(NAMESPACES, place)
        await world.settle()

        assert await world.find(NAMESPACES, place) is None
        for resource in (CONFIG_MAPS, BOATS, PODS):
            assert await world.names(resource, place) == set()


async def test_pods_go_before_all_else(tmp_path: Path) -> None:
    async with cluster(tmp_path) as world:
        place = await world.namespace("old")
        await world.add_node("n")
        await world.client.create(CONFIG_MAPS, {"metadata": {"name": "x", "namespace": place}})
        await world.add_pod("p", place)

        await world.client.delete(NAMESPACES, place)
        await world.settle()

        assert "x" in await world.names(CONFIG_MAPS, place)
        found = await world.find(PODS, "p", place)
        assert found
        assert found["metadata"]["deletionTimestamp"]

        await world.client.delete(PODS, "p", place, grace=0)
        await world.settle()

        assert await world.find(NAMESPACES, place) is None


async def test_a_namespace_tells_what_keeps_it(tmp_path: Path) -> None:
    async with cluster(tmp_path) as world:
        place = await world.namespace("old")
        await world.client.create(
            CONFIG_MAPS, {"metadata": {"name": "x", "namespace": place, "finalizers": KEEP}}
        )

        await world.client.delete(NAMESPACES, place)
        await world.settle()

        found = await world.find(NAMESPACES, place)
        assert found
        told = found["status"]["conditions"]
        remaining = conditions.find(told, "NamespaceContentRemaining")
        assert remaining
        assert (
            remaining["message"]
            == "Some resources are remaining: configmaps. has 1 resource instances"
        )
        kept = conditions.find(told, "NamespaceFinalizersRemaining")
        assert kept
        assert kept["message"].endswith("example.com/keep in 1 resource instances")

        await world.client.patch(
            CONFIG_MAPS, "x", {"metadata": {"finalizers": None}}, namespace=place
        )
        await world.settle()

        assert await world.find(NAMESPACES, place) is None


def test_a_namespace_that_is_empty_says_so_in_all_conditions() -> None:
    found = next_conditions({"status": {"phase": "Terminating"}}, Content(), NOW)

    assert found
    assert [(each["type"], each["status"], each["reason"]) for each in found] == [
        ("NamespaceDeletionDiscoveryFailure", "False", "ResourcesDiscovered"),
        ("NamespaceDeletionGroupVersionParsingFailure", "False", "ParsedGroupVersions"),
        ("NamespaceDeletionContentFailure", "False", "ContentDeleted"),
        ("NamespaceContentRemaining", "False", "ContentRemoved"),
        ("NamespaceFinalizersRemaining", "False", "ContentHasNoFinalizers"),
    ]
    assert next_conditions({"status": {"conditions": found}}, Content(), NOW) is None


def test_a_namespace_says_what_went_wrong() -> None:
    content = Content(failures=["b", "a"], discovery_failure="no answer")
    left: list[Obj] = [{"metadata": {"finalizers": [*KEEP, "other"]}}, {"metadata": {}}]
    content.note(PODS, left)
    content.note(BOATS, left[:1])
    content.note(CONFIG_MAPS, [])

    found = next_conditions({}, content, NOW)

    assert not content.is_gone
    assert found
    assert {each["message"] for each in found if each["status"] == "True"} == {
        "no answer",
        "Failed to delete all resource types, 2 remaining: a, b",
        (
            "Some resources are remaining: boats.example.com has 1 resource instances, "
            "pods. has 2 resource instances"
        ),
        (
            "Some content in the namespace has finalizers remaining: "
            "example.com/keep in 2 resource instances, other in 2 resource instances"
        ),
    }
