"""The replicas of an object and of its Scale."""

from typing import Any

from jobferry.localkube.apiserver.managed import scaling

PLACES = {"g/v1": "spec.workers", "g/v2": None}


def entry(
    manager: str, operation: str = "Apply", *, fields: Any, **more: Any
) -> dict[str, Any]:
    return {
        "manager": manager,
        "operation": operation,
        "apiVersion": "g/v1",
        "time": "2026-01-01T00:00:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {name: {} for name in fields}},
        **more,
    }


def test_the_owners_of_the_replicas_own_those_of_the_scale() -> None:
    parent = [
        entry("one", fields=["f:other", "f:workers"]),
        entry("two", fields=["f:other"]),
        entry("three", fields=["f:workers"], apiVersion="g/v2"),
        entry("four", fields=["f:workers"], apiVersion="g/v0"),
    ]

    assert scaling.to_scale(parent, PLACES) == [
        entry("one", fields=["f:replicas"], apiVersion="autoscaling/v1")
    ]


def test_who_scales_takes_the_replicas_from_the_others() -> None:
    parent = [
        entry("one", fields=["f:other", "f:workers"]),
        entry("two", fields=["f:workers"]),
        entry("four", fields=["f:other"], apiVersion="g/v0"),
    ]
    scale = [
        entry("hpa", "Update", fields=["f:replicas"], apiVersion="autoscaling/v1", subresource="scale")
    ]  # fmt: skip

    told = scaling.to_parent(parent, scale, PLACES, "g/v1")

    new = entry("hpa", "Update", fields=["f:workers"], subresource="scale")
    del new["time"]
    assert told == [entry("one", fields=["f:other"]), new]


def test_who_keeps_the_replicas_keeps_the_entry() -> None:
    parent = [entry("one", fields=["f:other", "f:workers"])]
    scale = scaling.to_scale(parent, PLACES)

    assert scaling.to_parent(parent, scale or (), PLACES, "g/v1") == parent
