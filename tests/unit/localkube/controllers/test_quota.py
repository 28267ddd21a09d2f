"""What is used of quotas is counted."""

from pathlib import Path
from typing import Any

import pytest

from jobferry.kube import errors
from jobferry.kube.resources import CONFIG_MAPS, PODS
from jobferry.localkube.controllers import quota
from jobferry.localkube.controllers.quota import QUOTAS
from jobferry.objects import Obj, amounts
from jobferry.objects.resource import Resource
from tests.unit.localkube.controllers.test_collector import BOATS, CRD
from tests.unit.localkube.controllers.world import World, cluster

SERVICES = Resource("", "v1", "services", "Service")
ONE_CPU: Any = {"requests": {"cpu": "1"}}


async def limit(world: World, **spec: Any) -> None:
    body = {"metadata": {"name": "q", "namespace": "default"}, "spec": spec}
    await world.client.create(QUOTAS, body)
    await world.settle()


async def used(world: World) -> Obj:
    found = await world.find(QUOTAS, "q")
    assert found
    assert found["status"]["hard"] == found["spec"]["hard"]
    result: Obj = found["status"]["used"]
    return result


async def finish(world: World, name: str) -> None:
    body = {"status": {"phase": "Succeeded"}}
    await world.client.patch(PODS, name, body, namespace="default", subresource="status")
    await world.settle()


async def test_what_is_there_is_counted_when_a_quota_comes(tmp_path: Path) -> None:
    async with cluster(tmp_path) as world:
        await world.add_pod("a", **ONE_CPU)
        await world.add_pod("b", **ONE_CPU)

        await limit(world, hard={"pods": "5", "requests.cpu": "10", "count/jobs.batch": "1"})

        assert await used(world) == {"pods": "2", "requests.cpu": "2", "count/jobs.batch": "0"}


async def test_what_goes_or_ends_is_counted_no_more(tmp_path: Path) -> None:
    async with cluster(tmp_path) as world:
        await limit(world, hard={"pods": "2", "count/pods": "9", "configmaps": "9"})
        await world.add_pod("a")
        await world.add_pod("b")
        with pytest.raises(errors.Forbidden, match="exceeded quota: q"):
            await world.add_pod("c")

        await finish(world, "a")
        assert await used(world) == {"pods": "1", "count/pods": "2", "configmaps": "1"}

        await world.client.delete(PODS, "a", "default", grace=0)
        await world.client.delete(PODS, "b", "default", grace=0)
        await world.settle()
        assert await used(world) == {"pods": "0", "count/pods": "0", "configmaps": "1"}


async def test_a_quota_that_changes_is_counted_anew(tmp_path: Path) -> None:
    async with cluster(tmp_path) as world:
        await limit(world, hard={"pods": "5"})
        await world.add_pod("a", **ONE_CPU)

        await world.client.patch(
            QUOTAS, "q", {"spec": {"hard": {"pods": None, "cpu": "3"}}}, namespace="default"
        )
        await world.settle()

        assert await used(world) == {"cpu": "1"}


async def test_scopes_choose_what_is_counted(tmp_path: Path) -> None:
    async with cluster(tmp_path) as world:
        await world.add_pod("a", **ONE_CPU)
        await world.add_pod("b")

        await limit(world, hard={"pods": "5"}, scopes=["BestEffort"])

        assert await used(world) == {"pods": "1"}


async def test_a_scope_that_cannot_be_understood_does_not_keep_a_quota_from_being_set(
    tmp_path: Path,
) -> None:
    async with cluster(tmp_path) as world:
        await world.add_pod("a")

        odd = {"scopeName": "PriorityClass", "operator": "In", "values": ["a b"]}
        await limit(world, hard={"pods": "5"}, scopeSelector={"matchExpressions": [odd]})

        assert await used(world) == {"pods": "0"}


async def test_custom_objects_and_services_are_counted(tmp_path: Path) -> None:
    async with cluster(tmp_path) as world:
        await world.define(CRD)
        await world.client.create(BOATS, {"metadata": {"name": "b", "namespace": "default"}})
        await world.client.create(
            SERVICES,
            {
                "metadata": {"name": "s", "namespace": "default"},
                "spec": {"type": "NodePort", "ports": [{"port": 1}]},
            },
        )

        hard = {"count/boats.example.com": "5", "services": "5", "services.nodeports": "5"}
        await limit(world, hard={**hard, "count/nothing.example.com": "1"})

        assert await used(world) == {
            "count/boats.example.com": "1",
            "services": "2",
            "services.nodeports": "1",
        }


async def test_what_was_charged_and_never_came_is_given_back(tmp_path: Path) -> None:
    async with cluster(tmp_path) as world:
        await limit(world, hard={"configmaps": "9"})
        status = {"status": {"used": {"configmaps": "7"}}}
        await world.client.patch(QUOTAS, "q", status, namespace="default", subresource="status")

        await world.client.create(
            CONFIG_MAPS, {"metadata": {"name": "x", "namespace": "default"}}
        )
        await world.pass_time(3)

        assert await used(world) == {"configmaps": "2"}


@pytest.mark.parametrize(
    ("before", "counted", "expected"),
    [
        ({}, {"pods": "1"}, {"pods": "1"}),
        ({"hard": {"pods": "2"}, "used": {"pods": "1"}}, {"pods": "1"}, None),
        ({"hard": {"pods": "2.0"}, "used": {"pods": "1000m"}}, {"pods": "1"}, None),
        ({"hard": {"pods": "3"}, "used": {"pods": "1"}}, {"pods": "1"}, {"pods": "1"}),
        ({"hard": {"pods": "2"}, "used": {"pods": "1"}}, {"pods": "2"}, {"pods": "2"}),
        ({"hard": {"pods": "2"}, "used": {"pods": "1"}}, {}, None),
        ({"hard": {"pods": "2"}, "used": {"pods": "1", "x": "1"}}, {}, {"pods": "1"}),
    ],
)
def test_a_status_is_written_only_if_it_changes(
    before: Obj, counted: dict[str, str], expected: Obj | None
) -> None:
    found = {"spec": {"hard": {"pods": "2"}}, "status": before}

    status = quota.next_status(found, amounts.read(counted))

    assert status == (None if expected is None else {"hard": {"pods": "2"}, "used": expected})
