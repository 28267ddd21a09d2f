from typing import Any

import pytest

from jobferry.kinds.job.base import Base
from jobferry.kinds.job.draft import draft
from jobferry.objects import Obj
from jobferry.objects.indexes import IndexSet
from tests.unit.kinds.job.jobs import INDEXED, hub_job


def spec_of(base: Base, **spec: Any) -> Obj:
    drafted: Obj = draft(hub_job(**spec), base)["spec"]
    return drafted


def test_the_draft_is_a_job_without_anything_of_the_hub() -> None:
    job = hub_job({"active": 1}, ttlSecondsAfterFinished=60)
    job["metadata"] |= {
        "labels": {"team": "a", "job-name": "train"},
        "annotations": {"note": "b", "jobferry.io/placement": "{}"},
        "ownerReferences": [{"uid": "x"}],
        "finalizers": ["x.io/a"],
    }

    drafted = draft(job, Base())

    assert drafted == {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"labels": {"team": "a"}, "annotations": {"note": "b"}},
        "spec": {
            "completionMode": "NonIndexed",
            "completions": 5,
            "parallelism": 2,
            "backoffLimit": 6,
            "suspend": False,
            "template": {
                "metadata": {"creationTimestamp": None, "labels": {"app": "train"}},
                "spec": job["spec"]["template"]["spec"],
            },
        },
    }


def test_rule_21_a_selector_by_hand_is_kept_with_its_labels() -> None:
    job = hub_job(manualSelector=True)

    spec = draft(job, Base())["spec"]

    assert spec["selector"] == job["spec"]["selector"]
    assert spec["template"] == job["spec"]["template"]


def test_drafting_leaves_the_hub_job_alone() -> None:
    job = hub_job(activeDeadlineSeconds=60)

    draft(job, Base(succeeded=1, failed=1, seconds=9))

    assert job == hub_job(activeDeadlineSeconds=60)


def test_rule_7_limits_are_what_earlier_attempts_have_left_of_them() -> None:
    spec = spec_of(Base(succeeded=2, failed=4, seconds=50), activeDeadlineSeconds=60)

    assert (spec["backoffLimit"], spec["activeDeadlineSeconds"]) == (2, 10)


def test_rule_7_limits_that_are_used_up_are_zero() -> None:
    spec = spec_of(Base(succeeded=9, failed=9, seconds=90), activeDeadlineSeconds=60)

    assert (spec["backoffLimit"], spec["activeDeadlineSeconds"], spec["completions"]) == (
        0,
        0,
        0,
    )


@pytest.mark.parametrize(
    ("spec", "completions"),
    [({"completions": 5}, 3), ({"completions": None}, None), (INDEXED, 4)],
)
def test_rule_7_only_the_rest_is_run_where_pods_are_all_alike(
    spec: Obj, completions: int | None
) -> None:
    base = Base(succeeded=2, completed_indexes=IndexSet.of([0, 1]))

    assert spec_of(base, **spec).get("completions") == completions


def test_a_job_without_a_deadline_gets_none() -> None:
    assert "activeDeadlineSeconds" not in spec_of(Base(seconds=50))
