"""Who owns what of custom resources, and what an apply results in: as a real API server says."""

import random
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from secrets import token_hex
from typing import Any

import pytest

from jobferry.localkube.apiserver.managed import scaling, updating
from jobferry.localkube.apiserver.managed.endpoint import Endpoint
from jobferry.localkube.apiserver.shapes import Leaf, ListMap, Struct
from jobferry.localkube.apiserver.types import codec, shaping
from jobferry.objects import Obj
from jobferry.testing.control_plane import ControlPlane
from tests.api.owned_things import (
    CRDS,
    ITEM,
    SPEC,
    Chance,
    crd_of,
    custom,
    install,
    new_group,
    schema,
    version_of,
)
from tests.api.ownership import APPLY, Kind, Scene, met
from tests.api.raw_http import RawHttp

pytestmark = pytest.mark.kube


@pytest.fixture
def http(plane: ControlPlane) -> Iterator[RawHttp]:
    with RawHttp(plane.url, plane.folder) as connection:
        yield connection


@pytest.fixture
def room(http: RawHttp) -> str:
    """A new namespace."""
    name = f"test-{token_hex(5)}"
    http.post("/api/v1/namespaces", {"metadata": {"name": name}})
    return name


@pytest.fixture(scope="module")
def things(plane: ControlPlane) -> Kind:
    """A custom resource with lists and maps of all types."""
    group = new_group()
    with RawHttp(plane.url, plane.folder) as connection:
        install(connection, crd_of(group, version_of("v1", schema())))
    return custom(group, SPEC)


def test_custom_resources(http: RawHttp, room: str, things: Kind) -> None:
    scene = Scene(http, things, room, "it")
    names = [{"name": "a", "value": "1"}, {"name": "b", "deep": {"x": 1}}]
    spec = {
        "byName": names,
        "set": ["x", "y"],
        "map": {"m": "n"},
        "nested": {"inner": {"x": 1}},
    }

    scene.create("maker", {"spec": spec})
    scene.update("two", lambda obj: obj["spec"]["byName"].reverse())
    scene.update("two", lambda obj: obj["spec"]["set"].append("z"))
    scene.apply(
        "three", {"spec": {"set": ["z", "w", "x"], "byName": [{"name": "c"}, {"name": "a"}]}}
    )
    scene.apply("three", {"spec": {"set": ["w"], "byName": [{"name": "a", "value": "2"}]}})
    scene.apply(
        "three", {"spec": {"set": ["w"], "byName": [{"name": "a", "value": "2"}]}}, force=True
    )
    scene.apply("three", {"spec": {"set": []}})
    scene.apply("three", {"spec": {"byTwo": [{"name": "p"}, {"name": "p", "port": 81}]}})
    scene.apply("four", {"spec": {"byTwo": [{"name": "p", "port": 80, "value": "v"}]}})
    scene.apply("three", {"spec": {"byTwo": [{"name": "p", "value": "w"}]}})
    scene.apply("three", {"spec": {"free": {"a": {"b": [1, {"c": 2}]}, "s": "t"}}})
    scene.apply("three", {"spec": {"free": {"a": "text"}}})
    scene.apply("four", {"spec": {"free": {"a": {"q": 1}}}}, force=True)
    scene.apply("three", {"spec": {"free": {"a": None}}}, force=True)
    scene.apply("three", {"spec": {"intOrString": 1}})
    scene.apply("four", {"spec": {"intOrString": "50%"}}, force=True)
    scene.apply("three", {"spec": {"numbers": [1, 2.5, 10, 3]}})
    scene.apply("four", {"spec": {"numbers": [10, 2.5]}})
    scene.apply(
        "three",
        {"spec": {"atomicList": ["a"], "atomicMap": {"a": "b"}, "atomicStruct": {"x": 1}}},
    )
    scene.apply("four", {"spec": {"atomicList": ["a", "b"], "atomicMap": {"c": "d"}}})
    scene.apply("four", {"spec": {"atomicStruct": {"y": "z"}}}, force=True)
    scene.apply("three", {"spec": {"mapOfStructs": {"k": {"x": 1, "list": names}, "l": {}}}})
    scene.apply(
        "four", {"spec": {"mapOfStructs": {"k": {"list": [{"name": "b", "value": "u"}]}}}}
    )
    scene.apply("three", {"spec": {"mapOfStructs": {"l": {"x": 5}}}})
    scene.apply("three", {})
    scene.apply(
        "status",
        {"status": {"text": "t", "byName": names}, "spec": {"text": "no"}},
        status=True,
    )
    scene.apply("status", {"status": {"byName": [{"name": "b", "value": "w"}]}}, status=True)
    scene.update("last", lambda obj: obj["status"].pop("byName"), status=True)

    met(scene)


def _replace_spec(spec: Obj, obj: Obj) -> None:
    obj["spec"] = spec


def test_the_order_of_lists(http: RawHttp, room: str, things: Kind) -> None:
    scene = Scene(http, things, room, "it")
    chance = random.Random(1)

    scene.create("maker", {})
    for _ in range(40):
        before = chance.sample("abcdefgh", chance.randint(0, 8))
        names = [{"name": name} for name in before]
        scene.update("maker", partial(_replace_spec, {"set": before, "byName": names}))
        mine = chance.sample("abcdefgh", chance.randint(0, 5))
        scene.apply("me", {"spec": {"set": mine, "byName": [{"name": name} for name in mine]}})

    met(scene)


def test_what_does_not_fit_a_custom_resource(http: RawHttp, room: str, things: Kind) -> None:
    scene = Scene(http, things, room, "it")

    scene.apply("me", {"spec": {"text": "t"}})
    wrongs: list[Any] = [
        {"text": 5},
        {"text": 1.5},
        {"text": True},
        {"text": {"a": "b"}},
        {"text": ["a", 1, None]},
        {"flag": "yes"},
        {"flag": 1},
        {"flag": {"a": 1}},
        {"number": "1"},
        {"number": True},
        {"number": {}},
        {"number": []},
        {"map": "x"},
        {"map": {"a": 1}},
        {"byName": {}},
        {"byName": [{"value": "x"}]},
        {"byName": [{"name": "x"}, {"name": "x"}]},
        {"byTwo": [{"name": "x"}, {"name": "x", "port": 80}]},
        {"set": "x"},
        {"numbers": [1, 1.0]},
        {"atomicList": ["a", 5]},
        {"atomicMap": {"a": 5}},
        {"atomicStruct": {"z": 5}},
        {"nested": {"inner": {"z": 1}}},
        {"nested": {"inner": {"x": "1"}}},
        {"mapOfStructs": {"a": {"list": [{"name": "q", "deep": 5}]}}},
        {"byTwo": [{"name": 'é\n"', "port": 5, "value": 7}]},
        {"unknown": 1},
    ]
    for wrong in wrongs:
        scene.apply("me", {"spec": wrong})

    met(scene)


def test_a_schema_that_changes(http: RawHttp, room: str) -> None:
    group = new_group()
    install(http, crd_of(group, version_of("v1", schema())))
    scene = Scene(http, custom(group, SPEC), room, "it")
    scene.create(
        "maker", {"spec": {"byName": [{"name": "a", "value": "1"}], "map": {"x": "y"}}}
    )
    scene.apply("one", {"spec": {"byName": [{"name": "a", "value": "1"}, {"name": "b"}]}})
    twice = {"spec": {"byName": [{"name": "a"}, {"name": "a"}]}}

    atomic = schema()
    fields = atomic["properties"]["spec"]["properties"]
    fields["byName"].pop("x-kubernetes-list-map-keys")
    fields["byName"]["x-kubernetes-list-type"] = "atomic"
    fields["map"]["x-kubernetes-map-type"] = "atomic"
    spec = crd_of(group, version_of("v1", atomic))["spec"]
    crd = http.ask("GET", f"{CRDS}/things.{group}").body
    http.put(f"{CRDS}/things.{group}", {**crd, "spec": {**crd["spec"], **spec}})
    query = {"fieldManager": "x", "force": "true", "dryRun": "All"}
    body = scene.titled(twice)
    while http.ask("PATCH", scene.path, body, content_type=APPLY, query=query).code != 200:
        pass
    whole = Leaf(inner=ListMap((), ITEM))
    mapped = Leaf(inner=Struct({}, Leaf("string")))
    scene.kind = custom(group, Struct({**SPEC.fields, "byName": whole, "map": mapped}))
    scene.patch("two", {"spec": {"text": "t"}})
    scene.apply("one", {"spec": {"byName": [{"name": "c"}]}})
    scene.apply("one", {"spec": {"map": {"x": "z"}}}, force=True)

    met(scene)


def test_several_versions(http: RawHttp, room: str) -> None:
    group = new_group()
    old = version_of("v1", schema(), storage=False)
    install(http, crd_of(group, old, version_of("v2", schema())))
    first, second = custom(group, SPEC, "v1", "v2"), custom(group, SPEC, "v2", "v1")
    scene = Scene(http, first, room, "it")

    def in_version(kind: Kind) -> None:
        scene.kind = kind
        scene.live = http.ask("GET", scene.path).body

    scene.create("maker", {"spec": {"byName": [{"name": "a"}], "text": "t", "map": {"a": "b"}}})
    scene.apply("one", {"spec": {"set": ["a", "b"], "flag": True}})
    in_version(second)
    scene.patch("maker", {"spec": {"text": "u"}})
    scene.apply("one", {"spec": {"set": ["b"]}})
    scene.apply("two", {"spec": {"text": "v", "map": {"a": "c"}}})
    scene.apply("two", {"spec": {"text": "v", "map": {"a": "c"}}}, force=True)
    in_version(first)
    scene.apply("two", {"spec": {"map": {"a": "c"}}})
    assert scene.live is not None
    unknown = {**scene.live["metadata"]["managedFields"][0], "apiVersion": f"{group}/v0"}
    scene.update("x", lambda obj: obj["metadata"]["managedFields"].append(unknown))

    met(scene)


def test_scaling(http: RawHttp, room: str) -> None:
    group = new_group()
    paths = {"specReplicasPath": ".spec.number", "statusReplicasPath": ".status.number"}
    install(http, crd_of(group, version_of("v1", schema(), scale=paths)))
    scene = Scene(http, custom(group, SPEC), room, "it")
    places = {f"{group}/v1": "spec.number"}
    scale = Endpoint(
        api_version="autoscaling/v1",
        kind="Scale",
        shape=shaping.shape_of("autoscaling/v1", "Scale"),
        subresource="scale",
        reset=("status",),
        zero=codec.decode("autoscaling/v1", "Scale", {}).obj,
    )

    def rescale(manager: str, replicas: int) -> None:
        assert scene.live is not None
        before, path = scene.live["metadata"]["managedFields"], f"{scene.path}/scale"
        live = http.ask("GET", path).body
        live["metadata"]["managedFields"] = scaling.to_scale(before, places)
        new = {**live, "spec": {"replicas": replicas}}
        http.ask("PUT", path, new, query={"fieldManager": manager})
        mine = updating.updated(live, new, scale, manager=manager, now=datetime.now(UTC))
        stored = http.ask("GET", scene.path).body
        scene.live = stored
        ours = scaling.to_parent(before, mine or (), places, f"{group}/v1")
        scene.compare_entries(stored, ours)

    scene.create("maker", {"spec": {"number": 1, "text": "t"}})
    rescale("one", 2)
    rescale("one", 3)
    rescale("two", 4)
    scene.apply("three", {"spec": {"number": 4, "flag": True}})
    rescale("three", 4)
    rescale("two", 5)
    rescale("maker", 6)

    met(scene)


@pytest.mark.parametrize("seed", range(8))
def test_whatever_is_done_to_a_custom_resource(
    http: RawHttp, room: str, things: Kind, seed: int
) -> None:
    scene = Scene(http, things, room, "it")
    chance = Chance(seed)

    scene.create("maker", {"spec": chance.spec()})
    for _ in range(25):
        manager = chance.random.choice(("one", "two", "three"))
        match chance.random.randint(0, 4):
            case 0:
                scene.update(manager, lambda obj: obj["spec"].update(chance.spec()))
            case 1:
                scene.update(manager, lambda obj: obj.update(spec=chance.spec()))
            case _:
                force = chance.random.random() < 0.7
                scene.apply(manager, {"spec": chance.spec()}, force=force)

    met(scene)
