"""Both servers beside each other: server-side apply, conflicts, and who owns which field."""

from typing import Any

import pytest

from jobferry.objects import Obj
from tests.api.job_bodies import job
from tests.api.owned_things import Chance
from tests.api.twins import APPLY, MERGE, Twins

pytestmark = [pytest.mark.kube, pytest.mark.timeout(60)]


def maps(place: str, *parts: str) -> str:
    return "/".join((f"/api/v1/namespaces/{place}/configmaps", *parts))


def jobs_in(place: str, *parts: str) -> str:
    return "/".join((f"/apis/batch/v1/namespaces/{place}/jobs", *parts))


def config(name: str = "a", **members: Any) -> Obj:
    about = {"name": name, **members.pop("metadata", {})}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": about, **members}


def applied_job(spec: Obj | None = None, **metadata: Any) -> Obj:
    about = {"name": "j", **metadata}
    return {**job(spec), "metadata": about, "apiVersion": "batch/v1", "kind": "Job"}


async def test_two_appliers_share_an_object(twins: Twins, place: str) -> None:
    path = maps(place, "a")
    await twins.apply(path, config(data={"a": "1", "b": "1"}), "one")
    await twins.apply(path, config(data={"a": "1", "c": "1"}), "two")
    await twins.apply(path, config(data={"a": "2"}), "two")
    await twins.apply(path, config(data={"a": "2"}), "two", force="true")
    await twins.apply(path, config(data={"b": "1"}), "one")
    await twins.apply(path, config(data={}), "two")
    await twins.apply(path, config(), "one")
    await twins.get(path)


async def test_appliers_meet_updaters(twins: Twins, place: str) -> None:
    path = maps(place, "a")
    await twins.post(maps(place), config(data={"a": "1", "b": "1"}))
    await twins.apply(path, config(data={"a": "2", "b": "1"}))
    await twins.apply(path, config(data={"a": "2", "b": "1"}), force="true")
    await twins.patch(path, {"data": {"a": "3"}}, MERGE)
    await twins.apply(path, config(data={"b": "1"}))
    await twins.apply(path, config(data={"b": "1"}, metadata={"labels": {"x": "y"}}))
    await twins.same("PUT", path, config(data={"z": "1"}))
    await twins.patch(path, {"metadata": {"managedFields": [{}]}}, MERGE)
    await twins.apply(path, config(data={"z": "2"}))
    await twins.apply(path, config(data={"z": "2"}))


@pytest.mark.parametrize(
    "query",
    [
        {},
        {"fieldManager": ""},
        {"fieldManager": "x" * 129},
        {"fieldManager": "a", "force": "x"},
        {"fieldManager": "a", "force": "false"},
        {"fieldManager": "a", "dryRun": "All"},
        {"fieldManager": "a", "fieldValidation": "Strict"},
        {"fieldManager": "a", "fieldValidation": "Ignore"},
    ],
    ids=str,
)
async def test_options_of_applying(twins: Twins, place: str, query: Obj) -> None:
    path = maps(place, "a")
    for body in (config(data={"a": "b"}), config(data={"a": "b"}, unknown=1), config(data=1)):
        await twins.same("PATCH", path, body, content_type=APPLY, query=query)
    await twins.get(path)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"metadata": {"name": "a"}},
        {"kind": "ConfigMap", "metadata": {"name": "a"}},
        {"apiVersion": "v1", "metadata": {"name": "a"}},
        {"apiVersion": "v2", "kind": "ConfigMap", "metadata": {"name": "a"}},
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}},
        {"apiVersion": "a/b/c", "kind": "ConfigMap", "metadata": {"name": "a"}},
        {"apiVersion": "v1", "kind": "ConfigMap"},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}},
        config("b"),
        config(metadata={"namespace": "other"}),
        config(metadata={"managedFields": []}),
        config(metadata={"managedFields": [{"manager": "x"}]}),
        config(metadata={"resourceVersion": "1"}),
        config(metadata={"resourceVersion": "0"}),
        config(metadata={"uid": "11111111-1111-1111-1111-111111111111"}),
        config(metadata={"creationTimestamp": None}),
        config(metadata={"creationTimestamp": "2020-01-01T00:00:00Z"}),
        config(metadata={"generateName": "x-"}),
        config(metadata={"labels": {"a": None}}),
        config(metadata={"labels": {"a": "-"}}),
        config(metadata={"finalizers": ["a.b/c", "a.b/c"]}),
        config(metadata={"finalizers": ["x"]}),
        config(metadata={"ownerReferences": [{"uid": "u", "name": "n"}] * 2}),
        config(metadata={"ownerReferences": [{"name": "n"}]}),
        config(data={"a": 1}),
        config(data={"a": None}),
        config(data=None),
        config(data=[]),
        config(data={"a b": "c"}),
        config(immutable="x"),
        config(foo={"a": 1}),
        config(metadata={"foo": 1}),
        config(status={"a": 1}),
        "a: [",
        "[]",
        "x",
        "",
        "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: b}\n",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  y: 'yes'\n  n: yes\n",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: b, a: c}\n",
        "a: b\n---\nc: d\n",
        "a:\n\t- b",
    ],
    ids=lambda each: str(each)[:80],
)
@pytest.mark.parametrize("exists", [False, True])
async def test_configurations_are_judged_alike(
    twins: Twins, place: str, body: Any, exists: bool
) -> None:
    if exists:
        await twins.ask("POST", maps(place), config(data={"x": "y"}))
    await twins.apply(maps(place, "a"), body)
    await twins.get(maps(place, "a"))
    await twins.apply(maps(place, "a"), body, "other", force="true")


async def test_lists_of_a_job_are_merged_by_their_keys(twins: Twins, place: str) -> None:
    path = jobs_in(place, "j")
    pod = {"restartPolicy": "Never"}
    first = {"name": "a", "image": "a", "env": [{"name": "X", "value": "1"}]}
    spec = {"suspend": True, "template": {"spec": {**pod, "containers": [first]}}}
    await twins.apply(path, applied_job(spec), "one")
    await twins.apply(path, applied_job({"suspend": False, "parallelism": 2}), "two")
    body = applied_job()
    body["spec"] = {"parallelism": 2}
    await twins.apply(path, body, "two")
    body["spec"] = {"suspend": False}
    await twins.apply(path, body, "two")
    await twins.apply(path, body, "two", force="true")
    again = [first, {"name": "b", "image": "b"}]
    body["spec"] = {"template": {"spec": {"containers": again}}}
    await twins.apply(path, body, "three")
    ports = [{"containerPort": 80}, {"containerPort": 80, "protocol": "TCP"}]
    body["spec"] = {"template": {"spec": {"containers": [{"name": "a", "ports": ports}]}}}
    await twins.apply(path, body, "three")
    twice = [{"name": "a"}, {"name": "a"}]
    body["spec"] = {"template": {"spec": {"containers": twice}}}
    await twins.apply(path, body, "three")
    body["spec"] = {"template": {"spec": {"containers": [{"image": "x"}]}}}
    await twins.apply(path, body, "three")
    body["metadata"] = {"name": "j", "finalizers": [1]}
    await twins.apply(path, body, "three")
    await twins.get(path)


async def test_statuses_are_applied_by_their_own_endpoint(twins: Twins, place: str) -> None:
    path = jobs_in(place, "j")
    await twins.apply(f"{path}/status", applied_job())
    await twins.apply(path, {**applied_job(), "status": {"active": 3}})
    body = {**applied_job(), "spec": {}, "status": {"active": 1}}
    await twins.apply(f"{path}/status", body, "one")
    await twins.apply(f"{path}/status", {**body, "status": {"active": 2}}, "two")
    await twins.apply(f"{path}/status", {**body, "status": {"active": 2}}, "two", force="true")
    condition = {"type": "Suspended", "status": "True"}
    await twins.apply(f"{path}/status", {**body, "status": {"conditions": [condition]}}, "two")
    await twins.patch(f"{path}/status", {"status": {"ready": 1}, "spec": {"parallelism": 4}})
    await twins.get(path)


async def test_pods_have_lists_with_several_keys(twins: Twins, place: str) -> None:
    path = f"/api/v1/namespaces/{place}/pods/p"
    head = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}
    ports = [{"containerPort": 80}, {"containerPort": 80, "protocol": "UDP"}]
    main: Obj = {"name": "a", "image": "a", "ports": ports}
    await twins.apply(path, {**head, "spec": {"containers": [main]}}, "one")
    main = {"name": "a", "image": "b", "ports": ports}
    await twins.apply(path, {**head, "spec": {"containers": [main]}}, "one")
    toleration = {"key": "a", "operator": "Exists"}
    await twins.apply(path, {**head, "spec": {"tolerations": [toleration]}}, "two")
    await twins.apply(path, {**head, "metadata": {"name": "p", "labels": {"x": "y"}}}, "two")
    await twins.get(path)


SCHEMA_OF_CHANCE = ("map", "text")


async def test_config_maps_are_written_by_chance(twins: Twins, place: str) -> None:
    for seed in range(6):
        chance = Chance(seed)
        name = f"c{seed}"
        path = maps(place, name)
        for _ in range(12):
            spec = chance.spec()
            data = {
                key: str(value)
                for key, value in {**spec.get("map", {}), "t": spec.get("text", "")}.items()
                if key.isalnum()
            }
            labels = dict.fromkeys((each for each in data if chance.random.random() < 0.5), "x")
            body = config(name, data=data, metadata={"labels": labels})
            manager = chance.random.choice(("one", "two"))
            if chance.random.random() < 0.6:
                force = chance.random.choice(("true", "false"))
                query = {"fieldManager": manager, "force": force}
                # Upstream tells of the other managers in any order.
                await twins.patch(path, body, APPLY, query=query, any_order=True)
            else:
                query = {"fieldManager": manager}
                await twins.patch(path, {"data": data}, MERGE, query=query)
