"""Environment and arguments, as Kubernetes makes them."""

from collections.abc import Mapping
from typing import Any

import pytest

from jobferry.errors import BadInput
from jobferry.localkube.runner import env, fields
from jobferry.objects import Obj

POD: Obj = {
    "metadata": {
        "name": "pod",
        "namespace": "ns",
        "uid": "u",
        "labels": {"b": "2", "a": 'x"y'},
        "annotations": {"batch/index": "7"},
    },
    "spec": {"nodeName": "here", "containers": []},
}
ROOM = {"cpu": "4", "memory": "8Gi"}
OBJECTS: dict[tuple[str, str], Mapping[str, str]] = {
    ("configmap", "map"): {"ONE": "1", "bad name": "x"},
    ("secret", "hidden"): {"KEY": "s"},
}


def lookup(kind: str, name: str) -> Mapping[str, str] | None:
    return OBJECTS.get((kind, name))


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("$(A)", "1"),
        ("x$(A)y$(B)", "x1y2"),
        ("$(NO)", "$(NO)"),
        ("$$(A)", "$(A)"),
        ("$$$(A)", "$1"),
        ("$$$$(A)", "$$(A)"),
        ("$A", "$A"),
        ("$(A", "$(A"),
        ("$", "$"),
        ("a$", "a$"),
        ("$()", "$()"),
        ("$($(A))", "$($(A))"),
        ("\\$(A)", "\\1"),
        ("", ""),
    ],
)
def test_references_are_expanded(text: str, expanded: str) -> None:
    assert env.expand(text, {"A": "1", "B": "2"}) == expanded


def build(container: Obj) -> dict[str, str]:
    return env.build(POD, container, lookup, {"SERVICE": "s"}, ROOM)


@pytest.mark.parametrize(
    ("entry", "value"),
    [
        ({"value": "$(SERVICE)"}, "s"),
        ({"value": "$(X)"}, "$(X)"),
        ({}, ""),
        ({"valueFrom": {"fieldRef": {"fieldPath": "metadata.uid"}}}, "u"),
        ({"valueFrom": {"configMapKeyRef": {"name": "map", "key": "ONE"}}}, "1"),
        ({"valueFrom": {"secretKeyRef": {"name": "hidden", "key": "KEY"}}}, "s"),
        ({"valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}}, "4"),
    ],
)
def test_a_variable_has_its_value(entry: Obj, value: str) -> None:
    assert build({"env": [{"name": "X", **entry}]})["X"] == value


@pytest.mark.parametrize(
    ("container", "message"),
    [
        ({"envFrom": [{"configMapRef": {"name": "no"}}]}, 'configmap "no" not found'),
        ({"envFrom": [{"secretRef": {"name": "no"}}]}, 'secret "no" not found'),
        (
            {
                "env": [
                    {"name": "X", "valueFrom": {"configMapKeyRef": {"name": "map", "key": "z"}}}
                ]
            },
            "couldn't find key z in ConfigMap map",
        ),
    ],
)
def test_what_is_missing_is_named(container: Obj, message: str) -> None:
    with pytest.raises(env.Missing, match=message):
        build(container)


def test_what_is_optional_may_be_missing() -> None:
    ref = {"name": "no", "key": "k", "optional": True}
    container = {
        "envFrom": [{"configMapRef": {"name": "no", "optional": True}}],
        "env": [{"name": "X", "valueFrom": {"secretKeyRef": ref}}],
    }

    assert build(container) == {"SERVICE": "s"}


def test_all_of_a_config_map_but_what_is_no_name() -> None:
    container = {"envFrom": [{"prefix": "P_", "configMapRef": {"name": "map"}}]}

    assert build(container) == {"SERVICE": "s", "P_ONE": "1"}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("metadata.name", "pod"),
        ("metadata.annotations['batch/index']", "7"),
        ("metadata.labels['no']", ""),
        ("metadata.labels", 'a="x\\"y"\nb="2"'),
        ("spec.nodeName", "here"),
        ("status.podIP", "127.0.0.1"),
    ],
)
def test_fields_of_a_pod(path: str, value: str) -> None:
    assert fields.of_pod(POD, path) == value


def test_a_field_that_is_not_served_is_refused() -> None:
    with pytest.raises(BadInput, match=r"spec\.secret"):
        fields.of_pod(POD, "spec.secret")


@pytest.mark.parametrize(
    ("resources", "ref", "value"),
    [
        ({"limits": {"cpu": "1500m"}}, {"resource": "limits.cpu"}, "2"),
        ({"limits": {"cpu": "1500m"}}, {"resource": "limits.cpu", "divisor": "1m"}, "1500"),
        ({"requests": {"memory": "1Gi"}}, {"resource": "requests.memory"}, "1073741824"),
        ({}, {"resource": "limits.memory", "divisor": "1Gi"}, "8"),
        ({}, {"resource": "requests.cpu"}, "0"),
    ],
)
def test_resources_of_a_container(resources: Any, ref: Obj, value: str) -> None:
    assert fields.of_resources(POD, {"resources": resources}, ref, ROOM) == value


def test_paths_are_rewritten_where_they_stand_whole() -> None:
    places = {"/data": "/real/v", "/data/deep": "/real/w"}
    words = [
        "/data",
        "cat /data/x",
        "/database",
        "--in=/data/deep/y",
        "/my/data",
        "/data:/data",
    ]

    assert env.rewritten(words, places) == [
        "/real/v",
        "cat /real/v/x",
        "/database",
        "--in=/real/w/y",
        "/my/data",
        "/real/v:/real/v",
    ]
