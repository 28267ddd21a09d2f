"""What the pods of a Job look like."""

import pytest

from jobferry.localkube.controllers.heads import Pod
from jobferry.localkube.controllers.job import drafts, pods
from jobferry.objects import Obj
from tests.unit.localkube.controllers.job.passes import FINALIZER, indexed, job, pod, view

INDEX_ENV = {
    "name": "JOB_COMPLETION_INDEX",
    "valueFrom": {
        "fieldRef": {"fieldPath": "metadata.labels['batch.kubernetes.io/job-completion-index']"}
    },
}
TEMPLATE = {
    "metadata": {
        "labels": {"job-name": "work"},
        "annotations": {"note": "x"},
        "finalizers": ["example.com/keep"],
        "name": "ignored",
    },
    "spec": {
        "restartPolicy": "Never",
        "initContainers": [{"name": "first"}],
        "containers": [
            {"name": "main", "env": [{"name": "A", "value": "1"}]},
            {"name": "own", "env": [{"name": "JOB_COMPLETION_INDEX", "value": "mine"}]},
        ],
    },
}


def test_a_pod_is_what_the_template_says_and_belongs_to_the_job() -> None:
    made = drafts.draft(view(job(template=TEMPLATE)), None)

    assert made == {
        "metadata": {
            "namespace": "default",
            "generateName": "work-",
            "labels": {"job-name": "work"},
            "annotations": {"note": "x"},
            "finalizers": ["example.com/keep", FINALIZER],
            "ownerReferences": [
                {
                    "apiVersion": "batch/v1",
                    "kind": "Job",
                    "name": "work",
                    "uid": "job-uid",
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": TEMPLATE["spec"],
    }


def test_a_pod_knows_its_index() -> None:
    asked = indexed(template=TEMPLATE)
    made = drafts.draft(view(asked), 3)

    assert made["metadata"]["generateName"] == "work-3-"
    assert made["metadata"]["labels"][pods.INDEX] == "3"
    assert made["metadata"]["annotations"] == {"note": "x", pods.INDEX: "3"}
    assert made["spec"]["hostname"] == "work-3"
    envs = [each.get("env") for each in made["spec"]["containers"]]
    assert envs == [
        [{"name": "A", "value": "1"}, INDEX_ENV],
        [{"name": "JOB_COMPLETION_INDEX", "value": "mine"}],
    ]
    assert made["spec"]["initContainers"] == [{"name": "first", "env": [INDEX_ENV]}]
    assert asked.spec.template == TEMPLATE


@pytest.mark.parametrize(
    ("name", "index", "prefix"),
    [
        ("work", None, "work-"),
        ("x" * 253, None, "x" * 253),
        ("x" * 252, None, "x" * 252 + "-"),
        ("x" * 57, 1, "x" * 55 + "-1-"),
        ("x" * 55, 1, "x" * 55 + "-1-"),
        ("x" * 50, 123456789, "x" * 47 + "-123456789-"),
    ],
)
def test_a_name_has_room_for_its_end(name: str, index: int | None, prefix: str) -> None:
    asked = job(name=name) if index is None else indexed(name=name, completions=10**9)

    assert drafts.draft(view(asked), index)["metadata"]["generateName"] == prefix


IGNORE_SEVEN: Obj = {
    "podFailurePolicy": {
        "rules": [{"action": "Ignore", "onExitCodes": {"operator": "In", "values": [7]}}]
    }
}


@pytest.mark.parametrize(
    ("replaced", "spec", "counts"),
    [
        (None, {}, ("0", None)),
        (pod("f", "Failed", index=1), {}, ("1", None)),
        (pod("f", "Failed", index=1, annotations={pods.FAILURES: "2"}), {}, ("3", None)),
        (pod("f", "Failed", index=1, code=7), IGNORE_SEVEN, ("0", "1")),
        (pod("f", "Failed", index=1, code=1), IGNORE_SEVEN, ("1", None)),
        (
            pod(
                "f",
                "Failed",
                index=1,
                annotations={pods.FAILURES: "2", pods.IGNORED_FAILURES: "1"},
            ),
            {},
            ("3", "1"),
        ),
    ],
)
def test_a_replacement_carries_the_failures_of_its_index_on(
    replaced: Pod | None, spec: Obj, counts: tuple[str, str | None]
) -> None:
    asked = indexed(backoffLimitPerIndex=9, **spec)
    found = [replaced] if replaced else []
    said = drafts.draft(view(asked, *found), 1)["metadata"]["annotations"]

    assert (said[pods.FAILURES], said.get(pods.IGNORED_FAILURES)) == counts


def test_without_a_limit_by_index_no_failures_are_carried_on() -> None:
    assert pods.FAILURES not in drafts.draft(view(indexed()), 1)["metadata"]["annotations"]
