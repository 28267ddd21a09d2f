"""Metadata of objects, new and changed."""

from typing import Any

import pytest

from jobferry.localkube.apiserver.validation import metadata, names
from jobferry.objects import Obj
from tests.unit.localkube.apiserver.validation.rule_world import Found, found

OWNER = {"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": "b", "controller": True}


def obj(**members: Any) -> Obj:
    return {"metadata": {"name": "a", "namespace": "b", **members}}


def created(made: Obj, *, namespaced: bool = True) -> Found:
    return found(
        metadata.create_problems(made, namespaced=namespaced, name_problems=names.is_subdomain)
    )


CASES: dict[str, tuple[Obj, Found]] = {
    "good": ({"labels": {"a.b/c": "d"}, "finalizers": ["a.b/c", "orphan"]}, []),
    "no name": ({"name": ""}, [("metadata.name", "Required")]),
    "bad name": ({"name": "A"}, [("metadata.name", "Invalid")]),
    "bad prefix": ({"generateName": "A"}, [("metadata.generateName", "Invalid")]),
    "no namespace": ({"namespace": ""}, [("metadata.namespace", "Required")]),
    "bad namespace": ({"namespace": "a.b"}, [("metadata.namespace", "Invalid")]),
    "label": ({"labels": {"a b": "c d"}}, [("metadata.labels", "Invalid")] * 2),
    "annotation": (
        {"annotations": {"A.B/c": "", "a b": ""}},
        [("metadata.annotations", "Invalid")],
    ),
    "much": ({"annotations": {"a": "b" * 262144}}, [("metadata.annotations", "TooLong")]),
    "owner": ({"ownerReferences": [OWNER]}, []),
    "owners": ({"ownerReferences": [OWNER, OWNER]}, [("metadata.ownerReferences", "Invalid")]),
    "empty owner": (
        {"ownerReferences": [{}]},
        [
            (f"metadata.ownerReferences.{each}", "Invalid")
            for each in ("apiVersion", "kind", "name", "uid")
        ],
    ),
    "Event": (
        {"ownerReferences": [OWNER | {"kind": "Event"}]},
        [("metadata.ownerReferences", "Invalid")],
    ),
    "finalizer": ({"finalizers": ["mine"]}, [("metadata.finalizers[0]", "Invalid")]),
    "both finalizers": (
        {"finalizers": ["orphan", "foregroundDeletion"]},
        [("metadata.finalizers", "Invalid")],
    ),
    "managed": (
        {"managedFields": [{"operation": "Guess", "fieldsType": "V2", "manager": "a\n"}]},
        [
            (f"metadata.managedFields[0].{each}", "Invalid")
            for each in ("operation", "fieldsType", "manager")
        ],
    ),
    "long manager": (
        {"managedFields": [{"operation": "Apply", "manager": "a" * 129}]},
        [("metadata.managedFields[0].manager", "TooLong")],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_new_metadata_is_checked(name: str) -> None:
    members, expected = CASES[name]
    assert created(obj(**members)) == expected


def test_what_belongs_to_no_namespace_has_none() -> None:
    assert created(obj(), namespaced=False) == [("metadata.namespace", "Forbidden")]


def test_kinds_of_others_may_have_finalizers_without_a_domain() -> None:
    assert not list(metadata.common_create_problems(obj(finalizers=["mine"]), namespaced=True))


OLD = obj(uid="u", resourceVersion="1", generation=2, creationTimestamp="t")
CHANGES: dict[str, tuple[Obj, Found]] = {
    "nothing": ({}, []),
    "version": ({"resourceVersion": ""}, [("metadata.resourceVersion", "Invalid")]),
    "generation": ({"generation": 1}, [("metadata.generation", "Invalid")]),
    "identity": (
        {"name": "x", "namespace": "y", "uid": "z"},
        [(f"metadata.{each}", "Invalid") for each in ("name", "namespace", "uid")],
    ),
    "times": (
        {"creationTimestamp": "x", "deletionTimestamp": "y"},
        [
            (f"metadata.{each}", "Invalid")
            for each in ("creationTimestamp", "deletionTimestamp")
        ],
    ),
    "labels": ({"labels": {"a b": "c"}}, [("metadata.labels", "Invalid")]),
}


@pytest.mark.parametrize("name", CHANGES)
def test_changed_metadata_is_checked(name: str) -> None:
    members, expected = CHANGES[name]
    new = {"metadata": OLD["metadata"] | members}
    assert found(metadata.update_problems(new, OLD)) == expected


def test_no_finalizer_comes_to_what_is_being_deleted() -> None:
    old = {"metadata": OLD["metadata"] | {"deletionTimestamp": "d", "finalizers": ["a.b/c"]}}
    new = {"metadata": old["metadata"] | {"finalizers": ["a.b/c", "x.y/z"]}}
    (problem,) = metadata.update_problems(new, old)
    assert problem.body.endswith('found new finalizers []string{"x.y/z"}')


def test_every_update_is_checked_as_a_create_and_as_an_update() -> None:
    new = {"metadata": OLD["metadata"] | {"labels": {"a b": "c"}}}
    assert len(list(metadata.common_update_problems(new, OLD, namespaced=True))) == 2


def test_a_template_has_labels_and_annotations_only() -> None:
    given = {"name": "a", "labels": {"a": "b"}, "annotations": {}}
    assert found(metadata.template_problems(given, "m")) == [("m.name", "Forbidden")]
    assert found(metadata.template_problems({"uid": "u"}, "m")) == [("m.uID", "Forbidden")]
