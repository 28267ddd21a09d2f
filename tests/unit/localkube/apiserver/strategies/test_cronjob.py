"""CronJobs: what is filled in, checked and warned of."""

import copy
from typing import Any

import pytest

from jobferry.localkube.apiserver.strategies import cronjob
from jobferry.objects import Obj, merge_patch
from tests.unit.localkube.apiserver.strategies.job_world import POD, Found, found

SPEC: Obj = {"schedule": "0 3 * * *", "jobTemplate": {"spec": {"template": {"spec": POD}}}}
TEMPLATE = "spec.jobTemplate.spec"


def new_cronjob(changes: Obj | None = None, **metadata: Any) -> Obj:
    about = {"name": "nightly", "namespace": "ml", "uid": "u", "generation": 1} | metadata
    made = {"metadata": about, "spec": merge_patch.apply(copy.deepcopy(SPEC), changes or {})}
    cronjob.STRATEGY.default(made)
    cronjob.STRATEGY.prepare_create(made)
    return made


def of_jobs(**members: Any) -> Obj:
    return {"jobTemplate": {"spec": members}}


def test_a_cronjob_is_filled_in_but_its_jobs_are_not() -> None:
    spec = new_cronjob()["spec"]
    limits = spec["successfulJobsHistoryLimit"], spec["failedJobsHistoryLimit"]
    assert (spec["concurrencyPolicy"], spec["suspend"], limits) == ("Allow", False, (3, 1))
    assert set(spec["jobTemplate"]["spec"]) == {"template"}
    assert spec["jobTemplate"]["spec"]["template"]["spec"]["dnsPolicy"] == "ClusterFirst"


CASES: dict[str, tuple[Obj, Found]] = {
    "good": ({}, []),
    "no schedule": ({"schedule": None}, [("spec.schedule", "Required")]),
    "bad schedule": ({"schedule": "now"}, [("spec.schedule", "Invalid")]),
    "zone in schedule": ({"schedule": "TZ=UTC 0 3 * * *"}, [("spec.schedule", "Invalid")]),
    "zone": ({"timeZone": "Europe/Berlin"}, []),
    "empty zone": ({"timeZone": ""}, [("spec.timeZone", "Invalid")]),
    "local zone": ({"timeZone": "Local"}, [("spec.timeZone", "Invalid")]),
    "no zone": ({"timeZone": "No/Where"}, [("spec.timeZone", "Invalid")]),
    "bad zone": ({"timeZone": "a b"}, [("spec.timeZone", "Invalid")]),
    "policy": ({"concurrencyPolicy": "Never"}, [("spec.concurrencyPolicy", "NotSupported")]),
    "numbers": (
        {"startingDeadlineSeconds": -1, "failedJobsHistoryLimit": -1},
        [
            ("spec.startingDeadlineSeconds", "Invalid"),
            ("spec.failedJobsHistoryLimit", "Invalid"),
        ],
    ),
    "jobs": (of_jobs(parallelism=-1), [(f"{TEMPLATE}.parallelism", "Invalid")]),
    "selector": (
        of_jobs(selector={"matchLabels": {"a": "b"}}, manualSelector=True),
        [(f"{TEMPLATE}.selector", "Invalid"), (f"{TEMPLATE}.manualSelector", "NotSupported")],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_new_cronjob_is_checked(name: str) -> None:
    changes, expected = CASES[name]
    assert found(cronjob.STRATEGY.validate_create(new_cronjob(changes))) == expected


def test_a_name_leaves_room_for_the_names_of_jobs() -> None:
    assert not cronjob.STRATEGY.validate_create(new_cronjob(name="a" * 52))
    (problem,) = cronjob.STRATEGY.validate_create(new_cronjob(name="a" * 53))
    assert problem.body.endswith("must be no more than 52 characters")


def test_an_old_schedule_may_keep_its_zone() -> None:
    old = new_cronjob({"schedule": "TZ=UTC 0 3 * * *"}, resourceVersion="1")
    assert not cronjob.STRATEGY.validate_update(old, old)
    with_both = copy.deepcopy(old)
    with_both["spec"]["timeZone"] = "Etc/UTC"
    (problem,) = cronjob.STRATEGY.validate_update(with_both, old)
    assert "cannot use both" in problem.body
    (warning,) = cronjob.STRATEGY.warn_update(old, old)
    assert warning.startswith("cannot use TZ or CRON_TZ in spec.spec.schedule")


def test_status_and_spec_are_kept_apart() -> None:
    old = new_cronjob() | {"status": {"active": []}}
    new = new_cronjob({"schedule": "@daily"}) | {"status": {"lastScheduleTime": "x"}}
    cronjob.STATUS.prepare_update(new, old)
    assert new["spec"] == old["spec"]
    cronjob.STRATEGY.prepare_update(new, old)
    assert new["status"] == old["status"]
