"""A custom resource with lists and maps of all types, and what may be written to it."""

import random
from secrets import token_hex
from typing import Any

import orjson

from jobferry.localkube.apiserver.managed.endpoint import Endpoint
from jobferry.localkube.apiserver.shapes import (
    ANYTHING,
    LEAF,
    Leaf,
    ListMap,
    SetOf,
    Shape,
    Struct,
)
from jobferry.localkube.apiserver.types import shaping
from jobferry.objects import Obj
from tests.api.ownership import Kind
from tests.api.raw_http import RawHttp

DEEP = Struct({"x": Leaf("numeric"), "y": Leaf("string")})
ITEM = Struct(
    {"name": Leaf("string"), "port": Leaf("numeric"), "value": Leaf("string"), "deep": DEEP}
)
SPEC = Struct(
    {
        "byName": ListMap(("name",), ITEM),
        "byTwo": ListMap(("name", "port"), ITEM, {"port": 80}),
        "set": SetOf(),
        "numbers": SetOf(),
        "atomicList": Leaf(inner=ListMap((), Leaf("string"))),
        "atomicMap": Leaf(inner=Struct({}, Leaf("string"))),
        "atomicStruct": Leaf(inner=Struct({"x": Leaf("numeric"), "y": Leaf("string")})),
        "map": Struct({}, Leaf("string")),
        "mapOfStructs": Struct(
            {}, Struct({"x": Leaf("numeric"), "list": ListMap(("name",), ITEM)})
        ),
        "nested": Struct({"inner": Struct({"x": Leaf("numeric"), "y": Leaf("boolean")})}),
        "free": ANYTHING,
        "some": Struct({"known": Leaf("string")}, ANYTHING),
        "intOrString": ANYTHING,
        "text": Leaf("string"),
        "flag": Leaf("boolean"),
        "number": Leaf("numeric"),
        "nullable": Leaf("string"),
    }
)


def schema() -> Obj:
    string, number = {"type": "string"}, {"type": "integer"}
    deep = {"type": "object", "properties": {"x": number, "y": string}}
    item = {"name": string, "value": string, "deep": deep}
    named = {"type": "object", "required": ["name"], "properties": {**item, "port": number}}
    two = {**named, "properties": {**item, "port": {**number, "default": 80}}}

    def list_of(items: Obj, kind: str, *keys: str) -> Obj:
        found: Obj = {"type": "array", "items": items, "x-kubernetes-list-type": kind}
        return {**found, "x-kubernetes-list-map-keys": list(keys)} if keys else found

    def map_of(value: Obj) -> Obj:
        return {"type": "object", "additionalProperties": value}

    atomic = {"x-kubernetes-map-type": "atomic"}
    by_name = list_of(named, "map", "name")
    preserving = {"x-kubernetes-preserve-unknown-fields": True}
    inner = {"type": "object", "properties": {"x": number, "y": {"type": "boolean"}}}
    struct = {"type": "object", "properties": {"x": number, "y": string}}
    entry = {"type": "object", "properties": {"x": number, "list": by_name}}
    properties = {
        "byName": by_name,
        "byTwo": list_of(two, "map", "name", "port"),
        "set": list_of(string, "set"),
        "numbers": list_of({"type": "number"}, "set"),
        "atomicList": list_of(string, "atomic"),
        "atomicMap": {**map_of(string), **atomic},
        "atomicStruct": {**struct, **atomic},
        "map": map_of(string),
        "mapOfStructs": map_of(entry),
        "nested": {"type": "object", "properties": {"inner": inner}},
        "free": {"type": "object", **preserving},
        "some": {"type": "object", "properties": {"known": string}, **preserving},
        "intOrString": {"x-kubernetes-int-or-string": True},
        "text": string,
        "flag": {"type": "boolean"},
        "number": number,
        "nullable": {**string, "nullable": True},
    }
    spec = {"type": "object", "properties": properties}
    status = {"type": "object", "properties": {"text": string, "byName": by_name}}
    return {"type": "object", "properties": {"spec": spec, "status": status}}


def crd_of(group: str, *versions: Obj) -> Obj:
    names = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"things.{group}"},
        "spec": {
            "group": group,
            "names": names,
            "scope": "Namespaced",
            "versions": list(versions),
        },
    }


def version_of(name: str, schema: Obj, *, storage: bool = True, **subresources: Obj) -> Obj:
    return {
        "name": name,
        "served": True,
        "storage": storage,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}, **subresources},
    }


CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def custom(group: str, spec: Shape, version: str = "v1", *others: str) -> Kind:
    """Return how things of a group are written to."""
    fields: dict[str, Shape] = {
        "apiVersion": Leaf("string"),
        "kind": Leaf("string"),
        "metadata": shaping.shape_of("v1", "ConfigMap").fields["metadata"],
        "spec": spec,
        "status": Struct({"text": LEAF, "byName": ListMap(("name",), ITEM)}),
    }
    shape = Struct(fields)

    def endpoint(subresource: str, *reset: str) -> Endpoint:
        return Endpoint(
            api_version=f"{group}/{version}",
            kind="Thing",
            shape=shape,
            subresource=subresource,
            reset=reset,
            zero={"apiVersion": f"{group}/{version}", "kind": "Thing"},
            versions=frozenset(f"{group}/{other}" for other in others),
            custom=True,
        )

    def decode(obj: Obj) -> Obj:
        if items := obj.get("spec", {}).get("byTwo"):
            with_ports = [{"port": 80, **item} for item in items]
            return {**obj, "spec": {**obj["spec"], "byTwo": with_ports}}
        return obj

    path = f"/apis/{group}/{version}/things"
    return Kind(path, endpoint("", "status"), endpoint("status", "spec"), decode)


def new_group() -> str:
    return f"g{token_hex(4)}.example.com"


def install(http: RawHttp, crd: Obj) -> None:
    """Create a CRD and wait until its objects are served."""
    http.post(CRDS, crd)
    spec = crd["spec"]
    for version in spec["versions"]:
        while not is_served(http, f"/apis/{spec['group']}/{version['name']}/things"):
            pass


def is_served(http: RawHttp, path: str) -> bool:
    try:
        return http.ask("GET", path).code == 200
    except orjson.JSONDecodeError:  # of "404 page not found"
        return False


WORDS = ("a", "a!", "b", 'd<&>"é\b\x01\U0001f600\\')


class Chance:
    """Makes up what is written."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def some(self, values: Any) -> list[Any]:
        values = list(values)
        return self.random.sample(values, self.random.randint(0, min(3, len(values))))

    def item(self, name: str) -> Obj:
        parts: Obj = {
            "value": self.random.choice(WORDS),
            "deep": {"x": self.random.randint(0, 2)},
        }
        if self.random.random() < 0.3:
            parts["deep"] = {"y": self.random.choice(WORDS)}
        return {"name": name, **{key: parts[key] for key in self.some(parts)}}

    def items(self) -> list[Obj]:
        return [self.item(name) for name in self.some(WORDS)]

    def free(self, depth: int = 0) -> Any:
        choice = self.random.randint(0, 5 if depth < 2 else 3)
        if choice > 3:
            return {word: self.free(depth + 1) for word in self.some(WORDS)}
        return (1, "text", ["a", {"b": 1}], {})[choice]

    def spec(self) -> Obj:
        two = [{"name": n, "port": p} for n in "ab" for p in (80, 81)]
        parts: Obj = {
            "byName": self.items(),
            "byTwo": [{**one, "value": self.random.choice(WORDS)} for one in self.some(two)],
            "set": self.some(WORDS),
            "numbers": self.some([1, 2, 10, 2.5]),
            "atomicList": self.some(WORDS),
            "atomicMap": dict.fromkeys(self.some(WORDS), "x"),
            "atomicStruct": {"x": self.random.randint(0, 3)},
            "map": {word: self.random.choice(WORDS) for word in self.some(WORDS)},
            "mapOfStructs": {
                word: {"x": self.random.randint(0, 2), "list": self.items()}
                for word in self.some(WORDS)
            },
            "nested": {"inner": {"x": self.random.randint(0, 2)}},
            "free": {word: self.free() for word in self.some(WORDS)},
            "text": self.random.choice(WORDS),
        }
        return {key: parts[key] for key in self.random.sample(sorted(parts), 6)}
