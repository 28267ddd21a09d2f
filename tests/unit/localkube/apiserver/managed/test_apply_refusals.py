"""What an apply is refused for, and in which words."""

from typing import Any

import pytest

from jobferry.localkube.apiserver.managed import applying
from jobferry.localkube.apiserver.shapes import Leaf, ListMap, SetOf, Shape, Struct
from jobferry.localkube.apiserver.status import StatusError
from tests.unit.localkube.apiserver.managed.managed_object import (
    SPEC,
    START,
    ManagedObject,
    endpoint_of,
)

TYPED: dict[str, Shape] = {
    **SPEC.fields,
    "text": Leaf("string"),
    "number": Leaf("numeric"),
    "flag": Leaf("boolean"),
    "any": Leaf("untyped"),
    "atomic": Leaf(inner=Struct({"x": Leaf("numeric")})),
    "atoms": Leaf(inner=ListMap((), Leaf("string"))),
    "names": SetOf(Leaf("string")),
}


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"unknown": 1}, ".spec.unknown: field not declared in schema"),
        ([1, "x"], ".spec: expected map, got &{[1 x]}"),
        ({"list": {"a": 1}}, ".spec.list: expected list, got &{map[a:1]}"),
        ({"text": 1}, ".spec.text: expected string, got &value.valueUnstructured{Value:1}"),
        (
            {"text": {"a": ["b", None, 1.5]}},
            (
                ".spec.text: expected string, got &value.valueUnstructured{Value:map[string]interface {}"
                '{"a":[]interface {}{"b", interface {}(nil), 1.5}}}'
            ),
        ),
        ({"number": "1"}, ".spec.number: expected numeric (int or float), got string"),
        ({"number": True}, ".spec.number: expected numeric (int or float), got bool"),
        ({"flag": "x"}, ".spec.flag: expected boolean, got &{x}"),
        ({"any": {"a": "b"}}, ".spec.any: expected any scalar, got &{map[a:b]}"),
        ({"atomic": {"y": 1}}, ".spec.atomic.y: field not declared in schema"),
        ({"atomic": {"x": ""}}, ".spec.atomic.x: expected numeric (int or float), got string"),
        (
            {"atoms": ["a", 1]},
            ".spec.atoms[1]: expected string, got &value.valueUnstructured{Value:1}",
        ),
        (
            {"names": ["a", 1]},
            ".spec.names[=1]: expected string, got &value.valueUnstructured{Value:1}",
        ),
        (
            {"list": [{"name": "a", "odd": 1}]},
            '.spec.list[name="a"].odd: field not declared in schema',
        ),
        (
            {"list": [{"name": "a"}, {"name": "a"}]},
            '.spec.list: duplicate entries for key [name="a"]',
        ),
        (
            {"ports": [{"port": 1}, {"port": 1, "protocol": "TCP"}]},
            '.spec.ports: duplicate entries for key [port=1,protocol="TCP"]',
        ),
        (
            {"list": [{"value": "x"}]},
            (
                ".spec.list: element 0: associative list with keys has an element that omits all key"
                ' fields ["name"] (and doesn\'t have default values for any key fields)'
            ),
        ),
        (
            {"list": [None]},
            ".spec.list: element 0: associative list with keys may not have a null element",
        ),
        (
            {"list": ["x"]},
            ".spec.list: element 0: associative list with keys may not have non-map elements",
        ),
        (
            {"set": ["a", {}]},
            ".spec.set: element 1: associative list without keys has an element that's a map type",
        ),
        (
            {"set": [[]]},
            ".spec.set: element 0: not supported: associative list with lists as elements",
        ),
        (
            {"set": [None]},
            (
                ".spec.set: element 0: associative list without keys has an element that's an explicit"
                " null"
            ),
        ),
        ({"set": ["a", "a"]}, '.spec.set: duplicate entries for key [="a"]'),
        (
            {"text": 1, "flag": 2},
            (
                "errors:\n"
                "  .spec.text: expected string, got &value.valueUnstructured{Value:1}\n"
                "  .spec.flag: expected boolean, got &{2}"
            ),
        ),
    ],
)
def test_what_does_not_fit_is_refused(spec: Any, why: str) -> None:
    thing = ManagedObject(endpoint_of(Struct(TYPED)))

    with pytest.raises(StatusError) as refused:
        thing.apply("one", spec)

    assert refused.value.code == 500
    assert (
        str(refused.value)
        == f"failed to create typed patch object (/it; /v1, Kind=Thing): {why}"
    )


def test_a_stored_object_that_does_not_fit_is_said_to_be_so() -> None:
    thing = ManagedObject()
    thing.update("one", {"set": ["a"]})
    thing.spec["set"].append(None)

    with pytest.raises(StatusError) as refused:
        thing.apply("two", {"set": ["b"]})

    assert str(refused.value) == (
        "failed to create typed live object (/it; /v1, Kind=Thing): .spec.set: element 1:"
        " associative list without keys has an element that's an explicit null"
    )


@pytest.mark.parametrize(
    ("config", "why"),
    [
        ({"kind": "Other"}, "invalid object type: /v1, Kind=Other"),
        ({"apiVersion": "g/v2"}, "invalid object type: g/v2, Kind=Thing"),
        ({"metadata": {"managedFields": []}}, "metadata.managedFields must be nil"),
    ],
)
def test_a_request_that_makes_no_sense_is_refused(config: Any, why: str) -> None:
    body = {"apiVersion": "v1", "kind": "Thing", **config}

    with pytest.raises(StatusError) as refused:
        applying.applied(None, body, endpoint_of(), manager="one", now=START)

    assert (refused.value.code, str(refused.value)) == (400, why)
