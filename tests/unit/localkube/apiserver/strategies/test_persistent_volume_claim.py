"""Claims to persistent volumes."""

import copy
from typing import Any

import pytest

from jobferry.localkube.apiserver.strategies import persistent_volume_claim as claim
from jobferry.objects import Obj

META = {"name": "c", "namespace": "n", "uid": "u", "resourceVersion": "1"}
SPEC: Obj = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
SOURCE = {"kind": "PersistentVolumeClaim", "name": "other"}


def made(**spec: Any) -> Obj:
    obj: Obj = {"metadata": dict(META), "spec": {**copy.deepcopy(SPEC), **spec}}
    claim.STRATEGY.default(obj)
    claim.STRATEGY.prepare_create(obj)
    return obj


def fields(obj: Obj) -> list[str]:
    return [each.field for each in claim.STRATEGY.validate_create(obj)]


def changes(old: Obj, **spec: Any) -> list[str]:
    new = {**old, "spec": {**old["spec"], **spec}}
    return [each.field for each in claim.STRATEGY.validate_update(new, old)]


def sized(storage: str) -> Obj:
    return {"requests": {"storage": storage}}


def test_a_new_claim_waits_for_a_file_system() -> None:
    obj = made()

    assert obj["status"] == {"phase": "Pending"}
    assert obj["spec"]["volumeMode"] == "Filesystem"
    assert fields(obj) == []


@pytest.mark.parametrize(
    ("spec", "found"),
    [
        ({"accessModes": []}, ["spec.accessModes"]),
        ({"accessModes": ["Odd"]}, ["spec.accessModes"]),
        ({"accessModes": ["ReadWriteOncePod", "ReadWriteMany"]}, ["spec.accessModes"]),
        ({"resources": {}}, ["spec.resources[storage]"]),
        ({"resources": sized("0")}, ["spec.resources[storage]"]),
        ({"storageClassName": "A"}, ["spec.storageClassName"]),
        ({"volumeMode": "Odd"}, ["spec.volumeMode"]),
    ],
)
def test_claims_are_checked(spec: Obj, found: list[str]) -> None:
    assert fields(made(**spec)) == found


def test_both_ways_to_name_a_source_agree() -> None:
    assert made(dataSource=SOURCE)["spec"]["dataSourceRef"] == SOURCE
    assert made(dataSourceRef=SOURCE)["spec"]["dataSource"] == SOURCE
    assert "dataSource" not in made(dataSource={"kind": "Odd", "name": "x"})["spec"]
    assert "dataSourceRef" not in made(dataSourceRef={**SOURCE, "namespace": "m"})["spec"]


def test_a_claim_gets_its_volume_and_class_once() -> None:
    free, taken = made(), made(volumeName="v", storageClassName="s")

    assert changes(free, volumeName="v", storageClassName="s") == []
    assert changes(taken, volumeName="w") == ["spec"]
    assert changes(taken, storageClassName="t") == ["spec"]


def test_only_bound_claims_grow() -> None:
    free = made()
    bound = {**made(), "status": {"phase": "Bound", "capacity": {"storage": "1Gi"}}}

    assert changes(free, resources=sized("2Gi")) == ["spec"]
    assert changes(bound, resources=sized("2Gi")) == []
    assert changes(bound, resources=sized("1024Mi")) == []
    assert changes(bound, resources=sized("512Mi")) == ["spec.resources.requests.storage"]
    assert "spec" in changes(bound, resources={})


def test_the_old_annotation_for_the_class_may_become_the_field_but_not_change() -> None:
    old = made()
    annotation = "volume.beta.kubernetes.io/storage-class"
    old["metadata"]["annotations"] = {annotation: "s"}
    new = {**old, "metadata": dict(META), "spec": {**old["spec"], "storageClassName": "s"}}
    other = {**old, "metadata": {**META, "annotations": {annotation: "t"}}}

    assert not claim.STRATEGY.validate_update(new, old)
    (found,) = claim.STRATEGY.validate_update(other, old)
    assert found.field == f"metadata.annotations.{annotation}"
    assert annotation in claim.STRATEGY.warn_create(old)[0]


def test_fractions_of_bytes_are_warned_of() -> None:
    (warning,) = claim.STRATEGY.warn_create(made(resources=sized("1500m")))

    assert warning.startswith("spec.resources.requests[storage]: fractional byte value")


def test_the_status_endpoint_changes_the_status_alone() -> None:
    old = made()
    new = {**old, "spec": {"volumeName": "v"}, "status": {"capacity": {"storage": "-1"}}}

    claim.STATUS.prepare_update(new, old)

    assert new["spec"] == old["spec"]
    assert [each.field for each in claim.STATUS.validate_update(new, old)] == [
        "status.capacity[storage]"
    ]


@pytest.mark.parametrize(
    ("status", "found"),
    [
        ({"allocatedResources": {"storage": "1", "a.b/c": "1"}}, []),
        ({"allocatedResources": {"storage": "-1"}}, ["status.allocatedResources[storage]"]),
        ({"allocatedResources": {"cpu": "1"}}, ["status.allocatedResources"]),
        ({"allocatedResourceStatuses": {"storage": "NodeResizePending"}}, []),
        (
            {"allocatedResourceStatuses": {"a b": "Big"}},
            ["status.allocatedResourceStatuses"] * 2,
        ),
    ],
)
def test_how_far_a_claim_has_grown_is_checked(status: Obj, found: list[str]) -> None:
    old = made()

    problems = claim.STATUS.validate_update({**old, "status": status}, old)

    assert [each.field for each in problems] == found
