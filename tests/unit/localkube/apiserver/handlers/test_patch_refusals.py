"""What is shown of patches that do not make an object."""

import orjson

from jobferry.localkube.apiserver import built_in
from jobferry.localkube.apiserver.handlers import patch_refusals
from jobferry.localkube.apiserver.storage.entry import Entry
from jobferry.objects import Obj, merge_patch


def _stored(obj: Obj) -> Entry:
    return Entry("/registry/batch/jobs/a/b", orjson.dumps(obj), 5, 5)


def test_strategic_patches_are_shown_without_what_merging_used_up() -> None:
    patch = {
        "spec": {
            "$setElementOrder/containers": [{"name": "a"}],
            "containers": [{"name": "a", "image": "b"}],
            "strategy": {"$retainKeys": ["type"], "type": "x"},
            "replicas": 2,
        }
    }
    assert (
        patch_refusals.patch_text(patch, {}) == "map[spec:map[replicas:2 strategy:map[type:x]]]"
    )


def test_nulls_in_strategic_patches_are_used_up_within_what_was_not_there() -> None:
    patch = {
        "spec": {"labels": {"a": None}, "nodes": {"a": None, "b": [{"c": None}]}},
        "x": None,
    }

    shown = patch_refusals.patch_text(patch, {"spec": {"labels": {}}})

    assert shown == "map[spec:map[labels:map[a:<nil>] nodes:map[b:[map[]]]] x:<nil>]"


def test_patched_objects_are_shown_in_the_order_of_go_except_where_they_changed() -> None:
    jobs = next(each for each in built_in.resources() if each.plural == "jobs")
    stored = {
        "kind": "Job",
        "apiVersion": "batch/v1",
        "metadata": {"labels": {"a": "b"}, "namespace": "a", "name": "b", "uid": "c"},
        "spec": {"suspend": True, "parallelism": 1, "completions": 2},
    }
    shown = patch_refusals.patched_text(
        jobs, _stored(stored), lambda obj: merge_patch.apply(obj, {"spec": {"suspend": "x"}})
    )
    assert shown.startswith('{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"b","n')
    assert '"spec":{"completions":2,"parallelism":1,"suspend":"x","template":' in shown


def test_refusals_show_what_they_are_about() -> None:
    error = patch_refusals.refused("{}", "why")
    assert (error.code, str(error)) == (422, ' "" is invalid: patch: Invalid value: "{}": why')
