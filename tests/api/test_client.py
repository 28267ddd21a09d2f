"""Every verb of the client, as a real API server has them."""

import asyncio
from typing import Any

import orjson
import pytest

from jobferry.kube import calls, errors
from jobferry.kube.calls import PatchKind, Propagation, Scope
from jobferry.kube.client import Client
from jobferry.kube.resources import CONFIG_MAPS, NODES, PODS, SECRETS
from jobferry.objects import Obj
from jobferry.objects.resource import Resource
from jobferry.testing import assets

pytestmark = pytest.mark.api

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


def config_map(name: str, namespace: str, **data: str) -> Obj:
    return {"metadata": {"name": name, "namespace": namespace}, "data": data}


def pod(name: str, namespace: str) -> Obj:
    container = {"name": "main", "image": "none"}
    return {
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"containers": [container]},
    }


def names(items: list[Obj]) -> list[str]:
    return [item["metadata"]["name"] for item in items]


# -- the life of an object ------------------------------------------------------------------------


async def test_an_object_lives_from_create_to_delete(cluster: Client, namespace: str) -> None:
    made = await cluster.create(CONFIG_MAPS, config_map("m", namespace, a="1"))
    assert await cluster.get(CONFIG_MAPS, "m", namespace) == made

    changed = await cluster.update(CONFIG_MAPS, made | {"data": {"a": "2"}})
    assert changed["data"] == {"a": "2"}

    gone = await cluster.delete(CONFIG_MAPS, "m", namespace)
    assert (gone["kind"], gone["status"]) == ("Status", "Success")
    with pytest.raises(errors.NotFound, match='configmaps "m" not found'):
        await cluster.get(CONFIG_MAPS, "m", namespace)


async def test_of_an_object_no_more_than_its_metadata_can_be_read(
    cluster: Client, namespace: str
) -> None:
    kept = {"metadata": {"name": "s", "namespace": namespace}, "stringData": {"a": "hidden"}}
    made = await cluster.create(SECRETS, kept)

    answer = await cluster.send(calls.get(SECRETS, "s", namespace, is_metadata=True))
    seen = orjson.loads(answer.body)

    assert seen["kind"] == "PartialObjectMetadata"
    assert seen["metadata"]["uid"] == made["metadata"]["uid"]
    assert "data" not in seen
    with pytest.raises(errors.NotFound) as absent:
        await cluster.get(SECRETS, "other", namespace, is_metadata=True)
    assert absent.value.details["name"] == "other"


async def test_a_kind_that_is_not_there_is_told_from_an_object_that_is_not(
    cluster: Client, namespace: str
) -> None:
    for absent in (
        Resource("nowhere.example.com", "v1", "boats", "Boat"),
        Resource("", "v1", "boats", "Boat"),
    ):
        with pytest.raises(errors.NotFound) as error:
            await cluster.get(absent, "b", namespace, is_metadata=True)
        assert "name" not in error.value.details


async def test_a_name_can_be_left_to_the_server(cluster: Client, namespace: str) -> None:
    draft = {"metadata": {"generateName": "m-"}}

    made = await cluster.create(CONFIG_MAPS, draft, namespace=namespace)

    assert made["metadata"]["name"].startswith("m-")
    assert len(made["metadata"]["name"]) > 2


async def test_a_dry_run_leaves_no_trace(cluster: Client, namespace: str) -> None:
    kept = await cluster.create(CONFIG_MAPS, config_map("kept", namespace, a="1"))

    dry = await cluster.create(CONFIG_MAPS, config_map("dry", namespace), dry_run=True)
    await cluster.update(CONFIG_MAPS, kept | {"data": {}}, dry_run=True)
    await cluster.patch(CONFIG_MAPS, "kept", {"data": {}}, namespace=namespace, dry_run=True)
    await cluster.delete(CONFIG_MAPS, "kept", namespace, dry_run=True)

    assert dry["metadata"]["uid"]
    left = await cluster.list(Scope(resource=CONFIG_MAPS, namespace=namespace))
    assert left.items == [{k: v for k, v in kept.items() if k not in {"kind", "apiVersion"}}]


# -- subresources ---------------------------------------------------------------------------------


async def test_the_status_is_changed_apart_from_the_rest(cluster: Client) -> None:
    await cluster.create(NODES, {"metadata": {"name": "status"}})
    status = {"capacity": {"cpu": "4"}}

    patched = await cluster.patch(
        NODES,
        "status",
        {"status": status, "spec": {"unschedulable": True}},
        subresource="status",
    )
    assert patched["status"]["capacity"] == {"cpu": "4"}
    assert "unschedulable" not in patched["spec"]

    patched["status"]["capacity"] = {"cpu": "8"}
    put = await cluster.update(NODES, patched, subresource="status")
    read = await cluster.get(NODES, "status", subresource="status")
    assert read == put
    assert read["status"]["capacity"] == {"cpu": "8"}

    await cluster.delete(NODES, "status")


async def test_a_pod_is_bound_and_evicted(cluster: Client, namespace: str) -> None:
    await cluster.create(PODS, pod("p", namespace))
    binding = {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "nowhere"}}
    await cluster.create(
        PODS,
        {"apiVersion": "v1", "kind": "Binding", **binding},
        namespace=namespace,
        name="p",
        subresource="binding",
    )
    assert (await cluster.get(PODS, "p", namespace))["spec"]["nodeName"] == "nowhere"

    eviction = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": "p"},
        "deleteOptions": {"gracePeriodSeconds": 0},
    }
    await cluster.create(PODS, eviction, namespace=namespace, name="p", subresource="eviction")
    with pytest.raises(errors.NotFound):
        await cluster.get(PODS, "p", namespace)


async def test_logs_that_cannot_be_had_say_why(cluster: Client, namespace: str) -> None:
    placed = pod("p", namespace)
    placed["spec"]["nodeName"] = "nowhere"
    await cluster.create(PODS, placed)
    call = calls.logs(PODS, "p", namespace, container="main", tail_lines=1)

    # It calls the node a pod; that there is none of that name is true.
    with pytest.raises(errors.NotFound, match=r'pods/p/log: .*"nowhere" not found'):
        await cluster.send(call)
    with pytest.raises(errors.NotFound, match='"nowhere" not found'):
        async with cluster.stream(call):
            pass
    with pytest.raises(errors.BadRequest, match="container other is not valid for pod p"):
        await cluster.send(calls.logs(PODS, "p", namespace, container="other"))


async def test_a_pod_that_no_node_has_yet_has_said_nothing(
    cluster: Client, namespace: str
) -> None:
    await cluster.create(PODS, pod("p", namespace))

    async with cluster.stream(calls.logs(PODS, "p", namespace, follow=True)) as stream:
        assert await stream.read() == b""


# -- patches --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (PatchKind.MERGE, {"data": {"a": None, "b": "2"}}),
        (PatchKind.STRATEGIC, {"data": {"a": None, "b": "2"}}),
        (
            PatchKind.JSON,
            [
                {"op": "test", "path": "/data/a", "value": "1"},
                {"op": "remove", "path": "/data/a"},
                {"op": "add", "path": "/data/b", "value": "2"},
            ],
        ),
    ],
)
async def test_each_kind_of_patch_changes_an_object(
    cluster: Client, namespace: str, kind: PatchKind, body: Any
) -> None:
    await cluster.create(CONFIG_MAPS, config_map("m", namespace, a="1"))

    patched = await cluster.patch(CONFIG_MAPS, "m", body, namespace=namespace, kind=kind)

    assert patched["data"] == {"b": "2"}


async def test_a_json_patch_whose_test_fails_changes_nothing(
    cluster: Client, namespace: str
) -> None:
    await cluster.create(CONFIG_MAPS, config_map("m", namespace, a="1"))
    body = [{"op": "test", "path": "/data/a", "value": "9"}]

    with pytest.raises(errors.Invalid):
        await cluster.patch(CONFIG_MAPS, "m", body, namespace=namespace, kind=PatchKind.JSON)


async def test_who_applies_another_s_field_is_told_whose_it_is(
    cluster: Client, namespace: str
) -> None:
    async def apply(value: str, manager: str, *, force: bool = False) -> Obj:
        return await cluster.patch(
            CONFIG_MAPS,
            "m",
            {"apiVersion": "v1", "kind": "ConfigMap", **config_map("m", namespace, a=value)},
            namespace=namespace,
            kind=PatchKind.APPLY,
            field_manager=manager,
            force=force,
        )

    await apply("1", "ann")
    with pytest.raises(errors.Conflict) as caught:
        await apply("2", "bob")
    forced = await apply("2", "bob", force=True)

    assert [cause.field for cause in caught.value.causes] == [".data.a"]
    assert 'conflict with "ann"' in caught.value.causes[0].message
    assert forced["data"] == {"a": "2"}


# -- deletes --------------------------------------------------------------------------------------


async def test_only_the_object_that_was_meant_is_deleted(
    cluster: Client, namespace: str
) -> None:
    made = await cluster.create(CONFIG_MAPS, config_map("m", namespace))
    meta = made["metadata"]

    with pytest.raises(errors.Conflict, match="UID"):
        await cluster.delete(CONFIG_MAPS, "m", namespace, uid="another")
    with pytest.raises(errors.Conflict, match="ResourceVersion"):
        await cluster.delete(CONFIG_MAPS, "m", namespace, resource_version="1")

    await cluster.delete(
        CONFIG_MAPS,
        "m",
        namespace,
        uid=meta["uid"],
        resource_version=meta["resourceVersion"],
    )


@pytest.mark.parametrize(
    ("propagation", "finalizer"), [("Foreground", "foregroundDeletion"), ("Orphan", "orphan")]
)
async def test_what_becomes_of_dependents_can_be_chosen(
    cluster: Client, namespace: str, propagation: Propagation, finalizer: str
) -> None:
    await cluster.create(CONFIG_MAPS, config_map("m", namespace))

    going = await cluster.delete(CONFIG_MAPS, "m", namespace, propagation=propagation)

    assert going["metadata"]["finalizers"] == [finalizer]
    assert going["metadata"]["deletionTimestamp"]
    body = {"metadata": {"finalizers": None}}
    await cluster.patch(CONFIG_MAPS, "m", body, namespace=namespace)


async def test_a_pod_is_given_the_time_it_is_granted(cluster: Client, namespace: str) -> None:
    placed = pod("p", namespace)
    placed["spec"]["nodeName"] = "nowhere"
    await cluster.create(PODS, placed)

    going = await cluster.delete(PODS, "p", namespace, grace=77)
    assert going["metadata"]["deletionGracePeriodSeconds"] == 77

    await cluster.delete(PODS, "p", namespace, grace=0)
    with pytest.raises(errors.NotFound):
        await cluster.get(PODS, "p", namespace)


async def test_a_part_of_a_collection_is_deleted(cluster: Client, namespace: str) -> None:
    for name, color in (("a", "red"), ("b", "blue"), ("c", "red")):
        obj = config_map(name, namespace)
        obj["metadata"]["labels"] = {"color": color}
        await cluster.create(CONFIG_MAPS, obj)

    await cluster.delete_collection(
        Scope(resource=CONFIG_MAPS, namespace=namespace, labels="color in (red, green)")
    )

    left = await cluster.list(Scope(resource=CONFIG_MAPS, namespace=namespace))
    assert names(left.items) == ["b"]


# -- reading --------------------------------------------------------------------------------------


async def test_the_server_tells_its_version_and_its_kinds(cluster: Client) -> None:
    version = (await cluster.raw("/version"))["gitVersion"]
    assert version.partition("+")[0] == f"v{assets.CURRENT}"

    groups = await cluster.raw("/apis", accept=AGGREGATED)

    assert groups["kind"] == "APIGroupDiscoveryList"
    batch = next(group for group in groups["items"] if group["metadata"]["name"] == "batch")
    resources = {kind["resource"] for kind in batch["versions"][0]["resources"]}
    assert {"jobs", "cronjobs"} <= resources


async def test_pages_are_of_one_moment_whatever_changes_meanwhile(
    cluster: Client, namespace: str
) -> None:
    everything = [f"m{number:02}" for number in range(20)]
    for name in everything:
        await cluster.create(CONFIG_MAPS, config_map(name, namespace))
    scope = Scope(resource=CONFIG_MAPS, namespace=namespace)

    first = await cluster.json(calls.list_(scope, limit=6))
    await cluster.delete(CONFIG_MAPS, "m15", namespace)
    await cluster.create(CONFIG_MAPS, config_map("m10-new", namespace))
    found, resume = names(first["items"]), first["metadata"]["continue"]
    while resume:
        page = await cluster.json(calls.list_(scope, limit=6, resume=resume))
        found += names(page["items"])
        resume = page["metadata"].get("continue")
        assert page["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]

    assert found == everything
    now = await cluster.list(scope, page=6)
    assert set(names(now.items)) == {*everything, "m10-new"} - {"m15"}


async def test_hundreds_of_requests_at_once_are_all_answered(
    cluster: Client, namespace: str
) -> None:
    async def one(number: int) -> Obj:
        name = f"m{number}"
        await cluster.create(CONFIG_MAPS, config_map(name, namespace, is_=name))
        return await cluster.get(CONFIG_MAPS, name, namespace)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(number)) for number in range(300)]

    for number, task in enumerate(tasks):
        assert task.result()["data"] == {"is_": f"m{number}"}
