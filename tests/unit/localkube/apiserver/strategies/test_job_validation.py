"""The rules for Jobs: one line each, numbered as in our facts about the Job API."""

import pytest

from jobferry.localkube.apiserver.strategies import job
from jobferry.objects import Obj
from tests.unit.localkube.apiserver.strategies.job_world import (
    INDEXED,
    Found,
    changed,
    found,
    new_job,
    stored,
)

LIMITED = INDEXED | {"backoffLimitPerIndex": 1}
MANY = LIMITED | {"completions": 100001}

SPECS: dict[str, tuple[Obj, Found]] = {
    "V8": ({"parallelism": -1}, [("spec.parallelism", "Invalid")]),
    "V9": ({"completions": -1}, [("spec.completions", "Invalid")]),
    "V10": ({"activeDeadlineSeconds": -1}, [("spec.activeDeadlineSeconds", "Invalid")]),
    "V10 zero": ({"activeDeadlineSeconds": 0}, []),
    "V11": ({"backoffLimit": -1}, [("spec.backoffLimit", "Invalid")]),
    "V12": ({"ttlSecondsAfterFinished": -1}, [("spec.ttlSecondsAfterFinished", "Invalid")]),
    "V13": (INDEXED | {"backoffLimitPerIndex": -1}, [("spec.backoffLimitPerIndex", "Invalid")]),
    "V14": (LIMITED | {"maxFailedIndexes": -1}, [("spec.maxFailedIndexes", "Invalid")]),
    "V15": (INDEXED | {"maxFailedIndexes": 1}, [("spec.backoffLimitPerIndex", "Required")]),
    "V16 empty": ({"managedBy": ""}, [("spec.managedBy", "Required")]),
    "V16 no path": ({"managedBy": "a.b"}, [("spec.managedBy", "Invalid")]),
    "V16 bad domain": ({"managedBy": "A/b"}, [("spec.managedBy", "Invalid")]),
    "V16 bad path": ({"managedBy": "a/b c"}, [("spec.managedBy", "Invalid")]),
    "V16 built-in": ({"managedBy": "kubernetes.io/job-controller"}, []),
    "V17": ({"managedBy": "a.b/" + "c" * 60}, [("spec.managedBy", "TooLong")]),
    "V17 just": ({"managedBy": "a.b/" + "c" * 59}, []),
    "V18": ({"completionMode": "Sparse"}, [("spec.completionMode", "NotSupported")]),
    "V19": (
        {"completionMode": "Indexed", "parallelism": 1},
        [("spec.completions", "Required")],
    ),
    "V20": (INDEXED | {"parallelism": 100001}, [("spec.parallelism", "Invalid")]),
    "V21": (LIMITED | {"maxFailedIndexes": 4}, [("spec.maxFailedIndexes", "Invalid")]),
    "V23": (MANY, [("spec.maxFailedIndexes", "Required")]),
    "V24": (
        MANY | {"maxFailedIndexes": 1, "parallelism": 10001},
        [("spec.parallelism", "Invalid")],
    ),
    "V25": (MANY | {"maxFailedIndexes": 10001}, [("spec.maxFailedIndexes", "Invalid")]),
    "V26, V27": (
        {"backoffLimitPerIndex": 1, "maxFailedIndexes": 1},
        [("spec.backoffLimitPerIndex", "Invalid"), ("spec.maxFailedIndexes", "Invalid")],
    ),
    "V44": (
        {"successPolicy": {"rules": []}},
        [("spec.successPolicy", "Invalid")],
    ),
    "V53": ({"podReplacementPolicy": "Never"}, [("spec.podReplacementPolicy", "NotSupported")]),
    "V54": (
        {"template": {"metadata": {"labels": {"a b": ""}, "annotations": {"c d": ""}}}},
        [
            ("metadata.labels", "Invalid"),
            ("spec.template.labels", "Invalid"),
            ("spec.template.annotations", "Invalid"),
        ],
    ),
    "V54, a label that would be generated": (
        {"template": {"metadata": {"labels": {"job-name": "-"}}}},
        [
            ("metadata.labels", "Invalid"),
            ("spec.template.metadata.labels[job-name]", "Invalid"),
            ("spec.template.labels", "Invalid"),
        ],
    ),
    "V55a": (
        {"template": {"spec": {"restartPolicy": "Always"}}},
        [("spec.template.spec.restartPolicy", "Required")],
    ),
    "V55b": (
        {"template": {"spec": {"restartPolicy": "Sometimes"}}},
        [("spec.template.spec.restartPolicy", "NotSupported")],
    ),
    "V55c": (
        {
            "podFailurePolicy": {"rules": []},
            "template": {"spec": {"restartPolicy": "OnFailure"}},
        },
        [("spec.template.spec.restartPolicy", "Invalid")],
    ),
    "V56": (
        {"manualSelector": True},
        [("spec.selector", "Required"), ("spec.template.metadata.labels", "Invalid")],
    ),
    "V57": (
        {"manualSelector": True, "selector": {"matchExpressions": [{"key": "a"}]}},
        [("spec.selector.matchExpressions[0].operator", "Invalid")],
    ),
    "V58": (
        {"manualSelector": True, "selector": {"matchLabels": {"a": "b"}}},
        [("spec.template.metadata.labels", "Invalid")],
    ),
    "V7": (
        {"selector": {"matchLabels": {"a": "b"}}},
        [("spec.selector", "Invalid"), ("spec.template.metadata.labels", "Invalid")],
    ),
    "V3": (
        {"template": {"metadata": {"labels": {"controller-uid": "other"}}}},
        [("spec.template.metadata.labels[controller-uid]", "Invalid")],
    ),
    "V6": (
        {"template": {"metadata": {"labels": {"batch.kubernetes.io/job-name": "other"}}}},
        [("spec.template.metadata.labels[batch.kubernetes.io/job-name]", "Invalid")],
    ),
    "all is well": (INDEXED, []),
}


@pytest.mark.parametrize("rule", SPECS)
def test_a_new_job_is_checked(rule: str) -> None:
    changes, expected = SPECS[rule]
    assert found(job.STRATEGY.validate_create(new_job(changes))) == expected


def test_a_name_has_to_be_a_subdomain() -> None:
    problems = job.STRATEGY.validate_create(new_job(name="Train"))
    assert found(problems) == [("metadata.name", "Invalid")]


def test_a_name_longer_than_a_label_is_found_in_the_labels_of_pods() -> None:
    problems = job.STRATEGY.validate_create(new_job(name="a" * 64))
    assert found(problems) == [("spec.template.labels", "Invalid")]


def test_the_last_hostname_of_an_indexed_job_has_to_be_a_label() -> None:
    (problem,) = job.STRATEGY.validate_create(new_job(INDEXED, name="a.b"))
    what = "will not able to create pod with invalid DNS label: a.b-2"
    assert str(problem) == f'metadata.name: Invalid value: "a.b": {what}'


SUSPENDED: Obj = {"suspend": True}
IMAGE = {"template": {"spec": {"containers": [{"name": "main", "image": "b"}]}}}
NODES = {"template": {"spec": {"nodeSelector": {"a": "b"}}}}

UPDATES: dict[str, tuple[Obj, Obj, Obj, Found]] = {
    "parallelism": ({}, {}, {"parallelism": 9}, []),
    "U1": ({}, {}, {"completions": 5}, [("spec.completions", "Invalid")]),
    "U2": (INDEXED, {}, {"completions": 5}, [("spec.completions", "Invalid")]),
    "U2 in tandem": (INDEXED, {}, {"completions": 5, "parallelism": 5}, []),
    "U3": (INDEXED, {}, {"completions": None}, [("spec.completions", "Required")]),
    "U5": ({}, {}, IMAGE, [("spec.template", "Invalid")]),
    "U5 suspended": (SUSPENDED, {}, IMAGE, [("spec.template", "Invalid")]),
    "U5 nodes": ({}, {}, NODES, [("spec.template", "Invalid")]),
    "U5 nodes, suspended": (SUSPENDED, {}, NODES, []),
    "U5 nodes, resumed": (SUSPENDED, {}, NODES | {"suspend": False}, []),
    "U5 nodes, after start": (
        SUSPENDED,
        {"startTime": "2026-01-01T00:00:00Z"},
        NODES,
        [("spec.template", "Invalid")],
    ),
    "U6": (INDEXED, {}, {"completionMode": "NonIndexed"}, [("spec.completionMode", "Invalid")]),
    "U7": (
        {"podReplacementPolicy": "Failed"},
        {},
        {"podFailurePolicy": {"rules": []}},
        [("spec.podFailurePolicy", "Invalid")],
    ),
    "U8": (
        INDEXED,
        {},
        {"backoffLimitPerIndex": 1},
        [("spec.backoffLimitPerIndex", "Invalid")],
    ),
    "U9": ({}, {}, {"managedBy": "a.b/c"}, [("spec.managedBy", "Invalid")]),
    "U9 suspended": (
        SUSPENDED | {"managedBy": "a.b/c"},
        {},
        {"managedBy": None},
        [("spec.managedBy", "Invalid")],
    ),
    "U10": (
        INDEXED,
        {},
        {"successPolicy": {"rules": [{"succeededCount": 1}]}},
        [("spec.successPolicy", "Invalid")],
    ),
}


@pytest.mark.parametrize("rule", UPDATES)
def test_a_changed_job_is_checked(rule: str) -> None:
    changes, status, patch, expected = UPDATES[rule]
    old = stored(changes, status)
    new = changed(old, {"spec": patch})
    assert found(job.STRATEGY.validate_update(new, old)) == expected


def test_what_is_wrong_with_the_spec_of_a_changed_job_is_said_twice() -> None:
    old = stored()
    new = changed(old, {"spec": {"backoffLimit": -1}})
    fields = [problem.field for problem in job.STRATEGY.validate_update(new, old)]
    assert fields == ["spec.backoffLimit"] * 2


def test_affinity_to_nodes_may_come_and_go_before_the_start() -> None:
    with_pods: Obj = {
        "template": {"spec": {"affinity": {"podAffinity": {}, "nodeAffinity": {}}}}
    }
    with_nodes: Obj = {"template": {"spec": {"affinity": {"nodeAffinity": {}}}}}
    without = {"spec": {"template": {"spec": {"affinity": None}}}}
    plain, to_nodes = stored(SUSPENDED), stored(SUSPENDED | with_nodes)
    to_pods = stored(SUSPENDED | with_pods)
    for old, patch, allowed in (
        (plain, {"spec": with_nodes}, True),
        (plain, {"spec": with_pods}, False),
        (to_nodes, without, True),
        (to_pods, without, False),
    ):
        assert (not job.STRATEGY.validate_update(changed(old, patch), old)) is allowed


def test_labels_that_an_old_job_never_had_are_not_missed() -> None:
    old = stored()
    for spec in (old["spec"]["template"]["metadata"]["labels"], old["metadata"]["labels"]):
        del spec["batch.kubernetes.io/job-name"], spec["batch.kubernetes.io/controller-uid"]
    old["spec"]["selector"] = {"matchLabels": {"controller-uid": "the-uid"}}
    new = changed(old, {"spec": {"parallelism": 2}})
    assert not job.STRATEGY.validate_update(new, old)
