"""The garbage collector on a cluster in this process."""

from pathlib import Path
from typing import Any

import pytest

from jobferry.kube.calls import Propagation
from jobferry.kube.resources import CONFIG_MAPS, CRDS, JOBS, NAMESPACES, PODS, SECRETS
from jobferry.objects import Obj, owners
from jobferry.objects.resource import Resource
from tests.unit.localkube.controllers.world import World, cluster, pod

BOATS = Resource("example.com", "v1", "boats", "Boat")
CRD: Obj = {
    "metadata": {"name": "boats.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {
            "plural": "boats",
            "singular": "boat",
            "kind": "Boat",
            "listKind": "BoatList",
        },
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "x-kubernetes-preserve-unknown-fields": True,
                    }
                },
            }
        ],
    },
}


async def make(
    world: World,
    name: str,
    *of: Obj,
    resource: Resource = CONFIG_MAPS,
    blocks: bool = False,
    **meta: Any,
) -> Obj:
    """Make an object that others own."""
    references = [
        owners.owner_reference(each, controller=False, blocks_deletion=blocks) for each in of
    ]
    body = {
        "metadata": {
            "name": name,
            "namespace": "default",
            "ownerReferences": references,
            **meta,
        }
    }
    made = await world.client.create(resource, body)
    await world.settle()
    return made


async def delete(
    world: World, name: str, how: Propagation, resource: Resource = CONFIG_MAPS
) -> None:
    await world.client.delete(resource, name, "default", propagation=how)
    await world.settle()


async def left(world: World) -> set[str]:
    return {name for name in await world.names(CONFIG_MAPS) if name != "kube-root-ca.crt"}


async def test_dependents_go_after_their_owner_in_the_background(tmp_path: Path) -> None:
    async with cluster(tmp_path) as world:
        top = await make(world, "top")
        middle = await make(world, "middle", top)
        await make(world, "bottom", middle)
        await make(world, "other")

        await delete(world, "top", "Background")

        assert await left(world) == {"other"}


async def test_an_owner_that_is_deleted_in_the_foreground_goes_last(tmp_path: Path) -> None:
    async with cluster(tmp_path) as world:
        top = await make(world, "top")
        middle = await make(world, "middle", top, blocks=True)
        await make(world, "bottom", middle, blocks=True, finalizers=["example.com/keep"])

        await delete(world, "top", "Foreground")

        assert await left(world) == {"top", "middle", "bottom"}
        found = await world.find(CONFIG_MAPS, "middle")
        assert found
        assert found["metadata"]["finalizers"] == ["foregroundDeletion"]

        await world.client.patch(
            CONFIG_MAPS, "bottom", {"metadata": {"finalizers": None}}, namespace="default"
        )
        await world.settle()

        assert await left(world) == set()


async def test_an_owner_waits_only_for_those_that_block_it(tmp_path: Path) -> None:
    async with cluster(tmp_path) as world:
        top = await make(world, "top")
        await make(world, "stubborn", top, finalizers=["example.com/keep"])

        await delete(world, "top", "Foreground")

        assert await left(world) == {"stubborn"}
        found = await world.find(CONFIG_MAPS, "stubborn")
        assert found
        assert found["metadata"]["deletionTimestamp"]


async def test_orphans_stay_and_forget_their_owner(tmp_path: Path) -> None:
    async with cluster(tmp_path) as world:
        top, other = await make(world, "top"), await make(world, "other")
        await make(world, "child", top, other)

        await delete(world, "top", "Orphan")

        assert await left(world) == {"child", "other"}
        found = await world.find(CONFIG_MAPS, "child")
        assert found
        assert [each["name"] for each in found["metadata"]["ownerReferences"]] == ["other"]
        assert "controller" not in found["metadata"]["ownerReferences"][0]


async def test_an_object_stays_as_long_as_one_of_its_owners_does(tmp_path: Path) -> None:
    async with cluster(tmp_path) as world:
        one, other = await make(world, "one"), await make(world, "other")
        await make(world, "child", one, other, blocks=True)

        await delete(world, "one", "Background")

        found = await world.find(CONFIG_MAPS, "child")
        assert found
        assert [each["name"] for each in found["metadata"]["ownerReferences"]] == ["other"]

        await delete(world, "other", "Foreground")

        assert await left(world) == set()


async def test_objects_that_own_each_other_go_in_the_foreground(tmp_path: Path) -> None:
    async with cluster(tmp_path) as world:
        first = await make(world, "first")
        second = await make(world, "second", first, blocks=True)
        third = await make(world, "third", second, blocks=True)
        reference = owners.owner_reference(third, controller=False)
        await world.client.patch(
            CONFIG_MAPS,
            "first",
            {"metadata": {"ownerReferences": [reference]}},
            namespace="default",
        )
        await world.settle()

        await delete(world, "first", "Foreground")

        assert await left(world) == set()


@pytest.mark.parametrize("wrong", [{"uid": "another"}, {"name": "absent"}])
async def test_an_owner_is_told_by_its_uid(tmp_path: Path, wrong: Obj) -> None:
    async with cluster(tmp_path) as world:
        top = await make(world, "top")
        reference = {**owners.owner_reference(top, controller=False), **wrong}

        await make(world, "stray", ownerReferences=[reference])

        assert await left(world) == {"top"}


async def test_nothing_is_deleted_for_an_owner_of_a_kind_that_nobody_knows(
    tmp_path: Path,
) -> None:
    async with cluster(tmp_path) as world:
        reference = {"apiVersion": "example.com/v1", "kind": "Boat", "name": "b", "uid": "u"}
        await make(world, "puzzling", ownerReferences=[reference])

        assert await left(world) == {"puzzling"}

        await world.define(CRD)

        assert await left(world) == set()


async def test_custom_objects_own_and_are_owned(tmp_path: Path) -> None:
    async with cluster(tmp_path) as world:
        await world.define(CRD)
        top = await make(world, "top")
        boat = await make(world, "boat", top, resource=BOATS)
        await make(world, "cargo", {**boat, "apiVersion": "example.com/v1", "kind": "Boat"})

        await delete(world, "top", "Background")

        assert await left(world) == set()
        assert await world.names(BOATS) == set()

        await world.client.delete(CRDS, "boats.example.com")
        await world.pass_time(5)

        assert await world.find(CRDS, "boats.example.com") is None


async def test_what_is_in_a_namespace_can_belong_to_what_is_in_none(tmp_path: Path) -> None:
    async with cluster(tmp_path) as world:
        owner = await world.client.create(NAMESPACES, {"metadata": {"name": "owner"}})
        await make(world, "secret", owner, resource=SECRETS)

        await world.client.delete(NAMESPACES, "owner")
        await world.settle()

        assert await world.names(SECRETS) == set()


async def test_the_pods_of_a_job_go_with_it(tmp_path: Path) -> None:
    async with cluster(tmp_path) as world:
        template = {"spec": pod("x")["spec"]}
        job = await world.client.create(
            JOBS,
            {
                "metadata": {"name": "j", "namespace": "default"},
                "spec": {"template": template, "managedBy": "example.com/x"},
            },
        )
        reference = owners.owner_reference({**job, "apiVersion": "batch/v1", "kind": "Job"})
        await world.add_pod("p", meta={"ownerReferences": [reference]})

        await delete(world, "j", "Foreground", JOBS)

        assert await world.names(JOBS) == set()
        assert await world.names(PODS) == set()
