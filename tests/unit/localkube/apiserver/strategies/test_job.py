"""Jobs: what is filled in, generated, kept and warned of."""

import pytest

from jobferry.localkube.apiserver.strategies import job
from jobferry.objects import Obj
from tests.unit.localkube.apiserver.strategies.job_world import (
    INDEXED,
    UID,
    changed,
    new_job,
    stored,
)


@pytest.mark.parametrize(
    ("given", "completions", "parallelism"),
    [({}, 1, 1), ({"completions": 4}, 4, 1), ({"parallelism": 0}, None, 0)],
)
def test_completions_alone_are_never_filled_in(
    given: Obj, completions: int | None, parallelism: int
) -> None:
    spec = new_job(given)["spec"]
    assert (spec.get("completions"), spec["parallelism"]) == (completions, parallelism)


def test_the_backoff_limit_depends_on_whether_there_is_one_per_index() -> None:
    assert new_job()["spec"]["backoffLimit"] == 6
    assert new_job(INDEXED | {"backoffLimitPerIndex": 1})["spec"]["backoffLimit"] == 2**31 - 1


def test_pods_are_replaced_late_if_there_is_a_failure_policy() -> None:
    assert new_job()["spec"]["podReplacementPolicy"] == "TerminatingOrFailed"
    with_policy = new_job({"podFailurePolicy": {"rules": []}})
    assert with_policy["spec"]["podReplacementPolicy"] == "Failed"


def test_patterns_of_a_failure_policy_mean_true() -> None:
    rule = {"action": "Ignore", "onPodConditions": [{"type": "A"}]}
    spec = new_job({"podFailurePolicy": {"rules": [rule]}})["spec"]
    patterns = spec["podFailurePolicy"]["rules"][0]["onPodConditions"]
    assert patterns == [{"type": "A", "status": "True"}]


def test_labels_and_selector_are_generated() -> None:
    made = new_job()
    assert made["spec"]["selector"] == {
        "matchLabels": {"batch.kubernetes.io/controller-uid": UID}
    }
    assert made["spec"]["template"]["metadata"]["labels"] == {
        "job-name": "train",
        "batch.kubernetes.io/job-name": "train",
        "controller-uid": UID,
        "batch.kubernetes.io/controller-uid": UID,
    }


def test_a_job_without_labels_has_those_of_its_pods() -> None:
    made = new_job({"template": {"metadata": {"labels": {"a": "b"}}}})
    assert made["metadata"]["labels"] == made["spec"]["template"]["metadata"]["labels"]
    assert made["metadata"]["labels"] is not made["spec"]["template"]["metadata"]["labels"]


def test_labels_of_a_jobs_own_stay_alone() -> None:
    labels = {"template": {"metadata": {"labels": {"a": "b"}}}}
    assert new_job(labels, labels={"a": "b"})["metadata"]["labels"] == {"a": "b"}


def test_a_manual_selector_is_left_alone() -> None:
    spec = new_job({"manualSelector": True})["spec"]
    assert "selector" not in spec
    assert "labels" not in spec["template"]["metadata"]


def test_only_the_status_endpoint_changes_the_status() -> None:
    old = stored(status={"active": 1})
    assert changed(old, {"status": {"active": 9}})["status"] == {"active": 1}
    new = old | {"spec": {}, "status": {"active": 2}}
    job.STATUS.prepare_update(new, old)
    assert (new["spec"], new["status"]) == (old["spec"], {"active": 2})


def test_defaults_filled_in_twice_are_the_same() -> None:
    once = new_job(INDEXED)
    twice = new_job(INDEXED)
    job.STRATEGY.default(twice)
    assert once == twice


def test_selectors_see_how_many_pods_succeeded() -> None:
    assert job.STRATEGY.fields({"status": {"succeeded": 3}}) == {"status.successful": "3"}
    assert job.STRATEGY.fields({}) == {"status.successful": "0"}


def test_a_name_with_dots_is_warned_of() -> None:
    (warning,) = job.STRATEGY.warn_create(new_job(name="a.b"))
    assert warning.startswith("metadata.name: this is used in Pod names")
    assert warning.endswith("[must not contain dots]")


def test_many_completions_are_warned_of() -> None:
    (warning,) = job.STRATEGY.warn_create(
        new_job(INDEXED | {"completions": 100001, "parallelism": 10001})
    )
    assert warning.startswith("spec: In Indexed Jobs with a number of completions")


def test_warnings_come_again_only_with_a_new_generation() -> None:
    old = stored(INDEXED | {"completions": 100001, "parallelism": 10001})
    new = changed(old, {})
    assert not job.STRATEGY.warn_update(new, old)
    new["metadata"]["generation"] = 2
    assert len(job.STRATEGY.warn_update(new, old)) == 1


def test_what_belongs_to_features_that_are_off_is_dropped() -> None:
    main = {"name": "main", "image": "a", "lifecycle": {"stopSignal": "SIGTERM"}}
    spec = new_job({"template": {"spec": {"containers": [main], "workloadRef": {}}}})["spec"]
    pod = spec["template"]["spec"]
    assert "lifecycle" not in pod["containers"][0]
    assert "workloadRef" not in pod
