"""Patches, and objects to apply them to: tables by hand, and a generated set."""

from collections.abc import Iterator
from random import Random
from typing import Any

from jobferry.kube.calls import PatchKind
from jobferry.kube.resources import CONFIG_MAPS, JOBS
from jobferry.objects import Obj, json_patch
from jobferry.objects.resource import Resource

POD_TEMPLATES = Resource("", "v1", "podtemplates", "PodTemplate")
SERVICES = Resource("", "v1", "services", "Service")
BUDGETS = Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget")

A, B, C, D = ({"name": name} for name in "abcd")
POD = {
    "containers": [
        {
            **A,
            "image": "a:1",
            "args": ["x", "y"],
            "env": [{**A, "value": "1"}, {**B, "value": "2"}],
            "ports": [{"containerPort": 80, "name": "web"}, {"containerPort": 81}],
            "volumeMounts": [{**A, "mountPath": "/a"}, {**B, "mountPath": "/b"}],
        },
        {**B, "image": "b:1", "resources": {"limits": {"cpu": "1", "memory": "1Gi"}}},
        {**C, "image": "c:1"},
    ],
    "volumes": [{**A, "emptyDir": {}}, {**B, "configMap": {"name": "x"}}],
    "tolerations": [{"key": "a", "operator": "Exists"}],
    "nodeSelector": {"disk": "fast"},
    "restartPolicy": "Never",
}
OBJECTS: dict[Resource, Obj] = {
    CONFIG_MAPS: {
        "metadata": {
            "labels": {"l": "1"},
            "annotations": {"x/y": "1", "m.n": "2"},
            "finalizers": ["x.io/a", "x.io/b", "x.io/c"],
        },
        "data": {"a": "1", "b": "2"},
    },
    POD_TEMPLATES: {"template": {"metadata": {"labels": {"l": "1"}}, "spec": POD}},
    JOBS: {
        "spec": {
            "suspend": True,
            "template": {
                "spec": {"containers": [{**A, "image": "a:1"}], "restartPolicy": "Never"}
            },
        }
    },
    SERVICES: {
        "spec": {
            "ports": [
                {**A, "port": 53, "protocol": "TCP"},
                {**B, "port": 53, "protocol": "UDP"},
                {**C, "port": 80},
            ]
        }
    },
    BUDGETS: {"spec": {"minAvailable": 1, "selector": {"matchLabels": {"a": "1"}}}},
}


def meta(**members: Any) -> Obj:
    return {"metadata": members}


def pod(**members: Any) -> Obj:
    return {"template": {"spec": members}}


def operation(op: str, path: str, value: Any = None, **others: Any) -> list[Obj]:
    return [{"op": op, "path": path, "value": value, **others}]


def ordered(field: str, *items: Any) -> Obj:
    return {f"$setElementOrder/{field}": list(items)}


DELETE, REPLACE = {"$patch": "delete"}, {"$patch": "replace"}
NEW = {**D, "image": "d:1"}

Case = tuple[Resource, Any]

JSON_PATCHES: list[Case] = [
    (CONFIG_MAPS, []),
    (CONFIG_MAPS, operation("add", "/data/c", "3")),
    (CONFIG_MAPS, operation("add", "/data", {"c": "3"})),
    (CONFIG_MAPS, operation("add", "data/c", "3")),
    (CONFIG_MAPS, operation("replace", "/data/missing", "3")),
    (CONFIG_MAPS, operation("remove", "/data/a")),
    (CONFIG_MAPS, operation("remove", "/metadata/annotations/x~1y")),
    (CONFIG_MAPS, operation("add", "/metadata/annotations/x~1z~0", "1")),
    (CONFIG_MAPS, operation("add", "/metadata/finalizers/-", "x.io/d")),
    (CONFIG_MAPS, operation("add", "/metadata/finalizers/-1", "x.io/d")),
    (CONFIG_MAPS, operation("add", "/metadata/finalizers/+1", "x.io/d")),
    (CONFIG_MAPS, operation("remove", "/metadata/finalizers/-2")),
    (CONFIG_MAPS, operation("replace", "/metadata/finalizers/01", "x.io/d")),
    (CONFIG_MAPS, operation("move", "/data/c", **{"from": "/data/a"})),
    (CONFIG_MAPS, operation("move", "/metadata/finalizers/0", **{"from": "/metadata/finalizers/2"})),
    (CONFIG_MAPS, operation("copy", "/metadata/labels/a", **{"from": "/data/a"})),
    (CONFIG_MAPS, operation("copy", "/data/c", **{"from": "/data/missing"})),
    (CONFIG_MAPS, operation("test", "/data", {"b": "2", "a": "1"})),
    (CONFIG_MAPS, operation("test", "/data/missing")),
    (CONFIG_MAPS, operation("test", "/data/a", "1") + operation("replace", "/data/a", "2")),
    (POD_TEMPLATES, operation("replace", "/template/spec/containers/0/image", "a:2")),
    (POD_TEMPLATES, operation("test", "/template/spec/containers/0/ports/0/containerPort", 80)),
    (JOBS, operation("replace", "/spec/suspend", False)),
]  # fmt: skip

MERGE_PATCHES: list[Case] = [
    (CONFIG_MAPS, {}),
    (CONFIG_MAPS, {"data": {"a": None, "c": "3", "missing": None}}),
    (CONFIG_MAPS, {"data": None}),
    (CONFIG_MAPS, meta(finalizers=["x.io/d"], labels={"l": None})),
    (CONFIG_MAPS, {"immutable": True, "binaryData": {"x": "eA==", "y": None}}),
    (POD_TEMPLATES, pod(containers=[NEW], nodeSelector={"disk": None, "zone": "1"})),
    (POD_TEMPLATES, pod(securityContext={"runAsUser": 1, "runAsGroup": None})),
    (JOBS, {"spec": {"suspend": None, "parallelism": 3}}),
]

STRATEGIC_PATCHES: list[Case] = [
    (CONFIG_MAPS, {"data": {"a": None, "c": "3"}}),
    (CONFIG_MAPS, {"data": {"c": "3", **REPLACE}}),
    (CONFIG_MAPS, {"data": DELETE}),
    (CONFIG_MAPS, {"data": {"$retainKeys": ["a", "c"], "c": "3"}}),
    (CONFIG_MAPS, meta(finalizers=["x.io/d", "x.io/b"])),
    (CONFIG_MAPS, meta(finalizers=["x.io/d"], **ordered("finalizers", "x.io/c", "x.io/d"))),
    (CONFIG_MAPS, meta(**ordered("finalizers", "x.io/c", "x.io/a"))),
    (CONFIG_MAPS, meta(**{"$deleteFromPrimitiveList/finalizers": ["x.io/a", "x.io/d"]})),
    (CONFIG_MAPS, meta(**{"$deleteFromPrimitiveList/finalizers": None})),
    (POD_TEMPLATES, pod(containers=[NEW])),
    (POD_TEMPLATES, pod(containers=[NEW, {**B, "image": "b:2"}])),
    (POD_TEMPLATES, pod(containers=[{**C, "image": "c:2"}, {**A, "image": "a:2"}])),
    (POD_TEMPLATES, pod(containers=[{**A, "args": ["z"], "env": [{**B, **DELETE}, {**C, "value": "3"}]}])),
    (POD_TEMPLATES, pod(containers=[{**A, "ports": [{"containerPort": 81, "name": "x"}, {"containerPort": 82}]}])),
    (POD_TEMPLATES, pod(containers=[{**A, "volumeMounts": [{**B, "mountPath": "/a"}]}])),
    (POD_TEMPLATES, pod(containers=[{**A, **DELETE}, {**B, "resources": {"limits": {"cpu": None}}}])),
    (POD_TEMPLATES, pod(containers=[{**A, **DELETE}, NEW], **ordered("containers", D))),
    (POD_TEMPLATES, pod(containers=[REPLACE, NEW])),
    (POD_TEMPLATES, pod(containers=[{**NEW, "env": [{**A, **DELETE}], "args": None}])),
    (POD_TEMPLATES, pod(**ordered("containers", C, A))),
    (POD_TEMPLATES, pod(containers=[NEW], **ordered("containers", C, D, A))),
    (POD_TEMPLATES, pod(volumes=[{**A, "$retainKeys": ["name", "hostPath"], "hostPath": {"path": "/x"}}])),
    (POD_TEMPLATES, pod(tolerations=[{"key": "b", "operator": "Exists"}], nodeSelector=None)),
    (POD_TEMPLATES, pod(imagePullSecrets=[B, A, B], hostAliases=[{"ip": "1.1.1.1", "hostnames": ["x"]}])),
    (POD_TEMPLATES, pod(containers=[{**C, "image": None}])),
    (SERVICES, {"spec": {"ports": [{"port": 80, "targetPort": 8080}, {**D, "port": 81}]}}),
    (SERVICES, {"spec": {"ports": [{"port": 53, **DELETE}]}}),
    (BUDGETS, {"spec": {"selector": {"matchLabels": {"b": "1"}}}}),
    (JOBS, {"spec": {"suspend": False, "parallelism": 2}}),
]  # fmt: skip

JSON_MISTAKES: list[Case] = [
    (CONFIG_MAPS, {}),
    (CONFIG_MAPS, [1]),
    (CONFIG_MAPS, [None]),
    (CONFIG_MAPS, [None, ["x"]]),
    (CONFIG_MAPS, [{"op": 1}]),
    (CONFIG_MAPS, [{"op": "add", "path": 1}]),
    (CONFIG_MAPS, [{"op": "add", "path": "/data/a", "from": []}]),
    (CONFIG_MAPS, [{"op": "frob", "path": "/data"}]),
    (CONFIG_MAPS, [{"path": "/data"}]),
    (CONFIG_MAPS, [{"op": "add", "value": "1"}]),
    (CONFIG_MAPS, [{"op": "move", "path": "/data/c"}]),
    (CONFIG_MAPS, operation("remove", "/data/missing")),
    (CONFIG_MAPS, operation("add", "/missing/a", "1")),
    (CONFIG_MAPS, operation("add", "", {})),
    (CONFIG_MAPS, operation("replace", "", "x")),
    (CONFIG_MAPS, operation("test", "/data/a", "2")),
    (CONFIG_MAPS, operation("test", "", {})),
    (CONFIG_MAPS, operation("add", "/metadata/finalizers/4", "x.io/d")),
    (CONFIG_MAPS, operation("replace", "/metadata/finalizers/-", "x.io/d")),
    (CONFIG_MAPS, operation("remove", "/metadata/finalizers/-4")),
    (CONFIG_MAPS, operation("move", "/data/c", **{"from": "/data/missing"})),
    (CONFIG_MAPS, operation("test", "/data/a", "1") * (json_patch.MAX_OPERATIONS + 1)),
    (CONFIG_MAPS, operation("copy", "/metadata/annotations/m.n", **{"from": "/metadata"}) * 5000),
    (POD_TEMPLATES, operation("test", "/template/spec/containers/0/ports/0/containerPort", 80.0)),
    (POD_TEMPLATES, operation("test", "/template/spec/containers/0/ports/0/containerPort", "80")),
]  # fmt: skip

MERGE_MISTAKES: list[Case] = [(CONFIG_MAPS, []), (CONFIG_MAPS, "x"), (CONFIG_MAPS, 1.5)]

STRATEGIC_MISTAKES: list[Case] = [
    (CONFIG_MAPS, [{}]),
    (CONFIG_MAPS, {"$patch": "merge"}),
    (CONFIG_MAPS, {"$patch": 1, "data": {}}),
    (CONFIG_MAPS, {"data": {"$patch": "frob", "a": None}}),
    (CONFIG_MAPS, {"data": {"$retainKeys": "a"}}),
    (CONFIG_MAPS, {"data": {"$retainKeys": ["a"], "b": "1"}}),
    (CONFIG_MAPS, meta(finalizers=[1])),
    (CONFIG_MAPS, meta(finalizers=[None])),
    (CONFIG_MAPS, meta(finalizers=[{"b": True, "a": [1.5]}])),
    (CONFIG_MAPS, meta(**{"$deleteFromPrimitiveList": ["x.io/a"]})),
    (CONFIG_MAPS, meta(**{"$setElementOrder": ["x.io/a"]})),
    (CONFIG_MAPS, meta(**{"$setElementOrder/finalizers": "x.io/a"})),
    (CONFIG_MAPS, meta(**{"$setElementOrder/labels": ["l"]})),
    (CONFIG_MAPS, meta(finalizers=None, **ordered("finalizers", "x.io/a"))),
    (CONFIG_MAPS, meta(finalizers=["x.io/d"], **ordered("finalizers", "x.io/a"))),
    (POD_TEMPLATES, pod(containers=[{"image": "x", "args": ["y", "z"]}])),
    (POD_TEMPLATES, pod(containers=[{**A, "ports": [{"name": "x"}]}])),
    (POD_TEMPLATES, pod(containers=[DELETE])),
    (POD_TEMPLATES, pod(containers=[{**A, "$patch": "merge"}])),
    (POD_TEMPLATES, pod(containers=[{**A, "$patch": "frob"}])),
    (POD_TEMPLATES, pod(containers=["a"])),
    (POD_TEMPLATES, pod(containers=[{**A, "image": "x"}], **ordered("containers", B))),
    (POD_TEMPLATES, pod(containers=[{**A, "image": "x"}], **ordered("containers", "a"))),
]  # fmt: skip


def some(random: Random, items: list[Any]) -> list[Any]:
    """Pick none, some or all of them, in any order."""
    return random.sample(items, random.randint(0, len(items)))


def random_items(random: Random, key: str, names: list[Any], **members: list[Any]) -> list[Any]:
    """Make a patch of a list: items to merge, a few to delete, sometimes the list to replace."""
    items = []
    for name in some(random, names):
        item = {member: random.choice(choices) for member, choices in members.items()}
        items.append({key: name, **(DELETE if random.random() < 0.2 else item)})
    return items + [REPLACE] * (random.random() < 0.1)


def random_order(random: Random, key: str, items: list[Any]) -> list[Any]:
    """Make an order that holds the items of a patch, as it must, and perhaps others."""
    order = [{key: item[key]} for item in items if "$patch" not in item]
    for name in some(random, [*"abcdef"]):
        if {key: name} not in order:
            order.insert(random.randint(0, len(order)), {key: name})
    return order


def random_container(random: Random, container: Obj) -> Obj:
    if "$patch" in container:
        return container
    env = random_items(random, "name", [*"abc"], value=["1", "2", None])
    ports = random_items(random, "containerPort", [80, 81, 82], protocol=["TCP", "UDP"])
    return {**container, **dict(some(random, [("env", env), ("ports", ports)]))}


def random_strategic_patch(random: Random) -> Obj:
    containers = random_items(
        random, "name", [*"abcde"], image=["x:1", "x:2"], args=[["1"], [], None]
    )
    patch = {"containers": [random_container(random, container) for container in containers]}
    if REPLACE not in containers and random.random() < 0.5:
        patch |= ordered("containers", *random_order(random, "name", containers))
    only_empty = {"$retainKeys": ["name", "emptyDir"], "emptyDir": {}}
    volumes = [{"name": name, **only_empty} for name in some(random, [*"abc"])]
    selector = random.choice([None, {"a": "1"}, {"a": "1", **REPLACE}])
    return pod(
        **patch, **dict(some(random, [("volumes", volumes), ("nodeSelector", selector)]))
    )


def random_json_patch(random: Random) -> list[Obj]:
    pointers = [f"/metadata/finalizers/{index}" for index in ("0", "1", "2", "-", "-1", "-3")]
    pointers += ["/data/a", "/data/b", "/data/c", "/missing/a"]
    return [
        {
            "op": random.choice(["add", "remove", "replace", "move", "copy", "test"]),
            "path": random.choice(pointers),
            "from": random.choice(pointers),
            "value": random.choice(["x.io/x", "x.io/a"]),
        }
        for _ in range(random.randint(1, 2))
    ]


def random_merge_patch(random: Random) -> Obj:
    data = {key: random.choice(["1", "2", None]) for key in some(random, [*"abc"])}
    labels = random.choice([None, {"l": None}, {"l": "2", "m": "3"}, {}])
    finalizers = random.choice([None, [], ["x.io/a"], ["x.io/d", "x.io/a"]])
    return {"data": random.choice([None, data]), **meta(labels=labels, finalizers=finalizers)}


def generated() -> Iterator[tuple[PatchKind, Resource, Any]]:
    random = Random(20260)
    for _ in range(150):
        yield PatchKind.STRATEGIC, POD_TEMPLATES, random_strategic_patch(random)
        yield PatchKind.JSON, CONFIG_MAPS, random_json_patch(random)
        yield PatchKind.MERGE, CONFIG_MAPS, random_merge_patch(random)
