"""One table for each numbered rule of dispatching; tests/api/test_legal.py proves them on real API servers."""

from typing import Any

import pytest

from jobferry.kinds.job import legal
from jobferry.kinds.job.status import end
from jobferry.objects import Obj
from tests.unit.kinds.job.jobs import (
    ELASTIC,
    INDEXED,
    NOW,
    PER_INDEX,
    at,
    condition,
    hub_job,
    said,
)

COMPLETE = {
    "conditions": [condition("SuccessCriteriaMet"), condition("Complete")],
    "startTime": at(-100),
    "completionTime": at(-10),
}
FAILED = {"conditions": [condition("FailureTarget"), condition("Failed", reason="Boom")]}
SUSPENDED = {"conditions": [condition("Suspended", reason="JobSuspended")]}
RESUMED = {"conditions": [condition("Suspended", "False", reason="JobResumed")]}


def legalised(old: Obj, wanted: Obj, **spec: Any) -> Obj:
    return legal.legalise(hub_job(old, **spec), wanted, NOW)


# -- rule 1: pods --------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", [COMPLETE, FAILED])
def test_rule_1_a_job_that_has_ended_has_no_pods(ending: Obj) -> None:
    busy = {"active": 2, "ready": 1, "terminating": 1}

    for old, wanted in ((busy, ending), ({}, ending | busy), ({}, ending | {"ready": 1})):
        status = legalised(old, wanted)
        assert not [member for member in busy if status.get(member)]


@pytest.mark.parametrize(
    ("wanted", "pods"),
    [
        (
            {"active": 2, "ready": 1, "terminating": 3},
            {"active": 2, "ready": 1, "terminating": 3},
        ),
        ({"active": 1, "ready": 2}, {"active": 1, "ready": 1}),
        ({"ready": 1}, {"ready": 0}),
        ({"active": 2}, {"active": 2}),
        ({}, {}),
    ],
)
def test_rule_1_no_more_pods_are_ready_than_active(wanted: Obj, pods: Obj) -> None:
    assert legalised({}, wanted) == pods


def test_pods_that_are_gone_are_shown_as_gone() -> None:
    assert legalised({"active": 2, "ready": 2, "terminating": 1}, {}) == {
        "ready": 0,
        "terminating": 0,
    }


# -- rule 2: conditions that bind ------------------------------------------------------------------


@pytest.mark.parametrize("interim", ["FailureTarget", "SuccessCriteriaMet"])
def test_rule_2_a_condition_that_binds_is_not_written_alone(interim: str) -> None:
    assert "conditions" not in legalised({}, {"conditions": [condition(interim)]})


@pytest.mark.parametrize(
    ("interim", "final"), [("FailureTarget", "Failed"), ("SuccessCriteriaMet", "Complete")]
)
def test_rule_2_an_end_comes_with_its_interim_condition(interim: str, final: str) -> None:
    ended = condition(final, reason="Why", message="because")

    for also in ([], [condition(interim, reason="Why", message="because")]):
        status = legalised({}, {"conditions": [*also, ended], "startTime": at(-9)})

        stated = [
            (each["type"], each["status"], each["reason"]) for each in status["conditions"]
        ]
        assert stated == [(interim, "True", "Why"), (final, "True", "Why")]


def test_rule_2_pods_that_are_not_counted_yet_stay_with_the_worker() -> None:
    uncounted = {"uncountedTerminatedPods": {"failed": ["a"]}}

    assert legalised(uncounted, uncounted) == {}


@pytest.mark.parametrize(
    ("bound", "wanted", "final"),
    [("FailureTarget", COMPLETE, "Failed"), ("SuccessCriteriaMet", FAILED, "Complete")],
)
def test_rule_2_who_wrote_a_binding_condition_has_decided_the_end(
    bound: str, wanted: Obj, final: str
) -> None:
    old = {"conditions": [condition(bound, reason="Theirs", message="said so")]}

    status = legalised(old, wanted)

    assert status["conditions"][0] == old["conditions"][0]
    assert [each["type"] for each in status["conditions"]] == [bound, final]
    assert status["conditions"][1]["reason"] == "Theirs"


# -- rules 3, 4 and 6: moments ---------------------------------------------------------------------

STARTED = {"startTime": at(-500)}
LATER = {"startTime": at(-50)}


@pytest.mark.parametrize(
    ("old", "wanted", "suspend", "start"),
    [
        ({}, LATER, False, at(-50)),
        (STARTED, LATER, False, at(-500)),
        (STARTED, {}, False, at(-500)),
        (STARTED, SUSPENDED, False, at(-500)),
        (STARTED | SUSPENDED, LATER | RESUMED, False, at(-500)),
        (STARTED, LATER, True, at(-500)),
        (STARTED, STARTED | SUSPENDED, True, None),
        (STARTED | SUSPENDED, STARTED, True, None),
        ({}, LATER, True, None),
        (SUSPENDED, LATER | RESUMED, False, at(-50)),
    ],
)
def test_rule_3_the_start_changes_only_while_suspended(
    old: Obj, wanted: Obj, suspend: bool, start: str | None
) -> None:
    assert legalised(old, wanted, suspend=suspend).get("startTime") == start


@pytest.mark.parametrize(
    ("start", "completion", "shown"),
    [
        (None, at(-10), at(-10)),
        (at(-200), at(-10), at(-10)),
        (at(60), at(-10), at(60)),
        (at(-200), None, at(0)),
        (at(60), None, at(60)),
    ],
)
def test_rule_4_a_job_completes_no_earlier_than_it_started_on_the_hub(
    start: str | None, completion: str | None, shown: str
) -> None:
    old = {"startTime": start} if start else {}
    wanted = {**COMPLETE, "completionTime": completion}

    assert legalised(old, wanted)["completionTime"] == shown


def test_rule_4_only_a_complete_job_has_a_completion() -> None:
    for wanted in (FAILED, {}):
        assert "completionTime" not in legalised({}, wanted | {"completionTime": at(-10)})


def test_rule_6_a_job_that_we_fail_before_it_started_starts_now() -> None:
    status = legal.fail(hub_job(), "NoWorker", "No worker took it within 1 h.", NOW)

    assert status["startTime"] == at(0)
    assert [each["type"] for each in status["conditions"]] == ["FailureTarget", "Failed"]
    for each in status["conditions"]:
        assert (each["reason"], each["message"]) == (
            "NoWorker",
            "No worker took it within 1 h.",
        )


def test_rule_6_a_job_that_we_fail_later_keeps_what_it_has_earned() -> None:
    old = {"startTime": at(-100), "succeeded": 2, "failed": 1, "active": 2, "ready": 2}

    status = legal.fail(hub_job(old), "WorkerLost", "gone", NOW)

    kept = {key: status.get(key) for key in ("startTime", "succeeded", "failed", "ready")}
    assert kept == {"startTime": at(-100), "succeeded": 2, "failed": 1, "ready": 0}


# -- rules 5 and 7: indexes and counters -------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "old", "wanted", "completed", "failed"),
    [
        (PER_INDEX, {}, {"completedIndexes": "0-2", "failedIndexes": "3"}, "0-2", "3"),
        (PER_INDEX, {}, {"completedIndexes": "0,2", "failedIndexes": "1-3"}, "0,2", "1,3"),
        (PER_INDEX, {"failedIndexes": "1"}, {"completedIndexes": "1"}, "1", ""),
        (PER_INDEX, {"completedIndexes": "0"}, {"completedIndexes": "1"}, "0,1", None),
        (PER_INDEX | {"completions": 2}, {}, {"completedIndexes": "0,2,3"}, "0", None),
        (PER_INDEX | {"completions": 2}, {"completedIndexes": "0-3"}, {}, "0,1", None),
        (PER_INDEX | {"completions": 0}, {}, {"completedIndexes": "0"}, None, None),
        (PER_INDEX, {}, {"failedIndexes": ""}, None, ""),
        (INDEXED, {}, {"failedIndexes": "1"}, None, None),
        (INDEXED, {}, {"completedIndexes": "2,1"}, None, None),
        ({}, {}, {"completedIndexes": "1", "failedIndexes": ""}, None, None),
    ],
)
def test_rule_5_indexes_are_those_of_the_job_and_failed_or_completed_but_not_both(
    spec: Obj, old: Obj, wanted: Obj, completed: str | None, failed: str | None
) -> None:
    status = legalised(old, wanted, **spec)

    assert status.get("completedIndexes") == completed
    assert status.get("failedIndexes") == failed


@pytest.mark.parametrize(
    ("spec", "old", "wanted", "shown"),
    [
        ({}, {"succeeded": 3, "failed": 2}, {"succeeded": 1}, (3, 2)),
        ({}, {"succeeded": 1}, {"succeeded": 3, "failed": 2}, (3, 2)),
        (INDEXED, {"succeeded": 3}, {"succeeded": 1, "completedIndexes": "0"}, (3, 0)),
        (INDEXED, {}, {"succeeded": 2, "completedIndexes": "0,2", "failed": 1}, (2, 1)),
        (ELASTIC, {"succeeded": 3, "completedIndexes": "0-2"}, {"failed": 1}, (3, 1)),
    ],
)
def test_rule_7_counters_never_go_down(
    spec: Obj, old: Obj, wanted: Obj, shown: tuple[int, int]
) -> None:
    status = legalised(old, wanted, **spec)

    assert (status.get("succeeded", 0), status.get("failed", 0)) == shown


@pytest.mark.parametrize(("parallelism", "shown"), [(2, 2), (1, 4)])
def test_rule_7_only_successes_that_were_scaled_away_are_forgotten_if_the_server_lets_us(
    parallelism: int, shown: int
) -> None:
    old = {"succeeded": 4, "completedIndexes": "0-3"}
    scaled = ELASTIC | {"completions": 2, "parallelism": parallelism}

    status = legalised(old, {"succeeded": 2, "completedIndexes": "0,1"}, **scaled)

    assert (status["completedIndexes"], status["succeeded"]) == ("0,1", shown)


# -- rules 8 and 9: conditions ---------------------------------------------------------------------


@pytest.mark.parametrize(("wanted", "final"), [(COMPLETE, "Complete"), (FAILED, "Failed")])
def test_rule_8_a_job_ends_when_the_hub_is_told(wanted: Obj, final: str) -> None:
    ended = end(legalised({}, wanted))

    assert ended is not None
    assert (ended["type"], ended["lastTransitionTime"]) == (final, at(0))


def test_rule_9_a_suspended_job_that_runs_nowhere_is_shown_as_suspended() -> None:
    old = {"active": 1, "ready": 1, "startTime": at(-60), "failed": 1}

    status = legal.unplaced(hub_job(old, suspend=True), NOW)

    suspended = {
        "type": "Suspended",
        "status": "True",
        "reason": "JobSuspended",
        "message": "Job suspended",
        "lastProbeTime": at(0),
        "lastTransitionTime": at(0),
    }
    assert status == {"failed": 1, "ready": 0, "conditions": [suspended]}


def test_rule_9_a_resumed_job_that_runs_nowhere_is_no_longer_shown_as_suspended() -> None:
    status = legal.unplaced(hub_job(SUSPENDED, suspend=False), NOW)

    assert said(status, "Suspended") == "False"


def test_a_job_that_runs_nowhere_and_is_not_suspended_needs_no_status() -> None:
    assert legal.unplaced(hub_job(), NOW) == {}


@pytest.mark.parametrize(
    ("old", "wanted", "suspend", "shown"),
    [
        ({}, {}, True, None),
        ({}, SUSPENDED, True, "True"),
        ({}, SUSPENDED, False, "True"),  # Kueue on the worker does that
        (SUSPENDED, SUSPENDED, False, "True"),
        (SUSPENDED, {}, True, "True"),
        (SUSPENDED, RESUMED, True, "True"),
        (SUSPENDED, RESUMED, False, "False"),
        (SUSPENDED, {}, False, "False"),
        (RESUMED, SUSPENDED, True, "True"),
        ({}, RESUMED, False, None),
    ],
)
def test_suspension_is_shown_as_it_is_on_the_worker_unless_that_is_late(
    old: Obj, wanted: Obj, suspend: bool, shown: str | None
) -> None:
    assert said(legalised(old, wanted, suspend=suspend), "Suspended") == shown


def test_a_condition_that_somebody_wrote_twice_changes_when_what_counts_changes() -> None:
    untimed = {"type": "Suspended", "status": "False", "lastTransitionTime": None}

    status = legalised({"conditions": [untimed, condition("Suspended")]}, {})

    assert said(status, "Suspended") == "False"
    assert status["conditions"][0]["lastTransitionTime"] == at(0)


def test_conditions_of_others_on_the_hub_are_kept_where_they_are() -> None:
    placed = condition("Placed", lastProbeTime="")
    old = {"conditions": [placed, condition("Suspended"), condition("example.com/Checked")]}

    status = legalised(old, COMPLETE)

    types = [each["type"] for each in status["conditions"]]
    order = ["Placed", "Suspended", "example.com/Checked", "SuccessCriteriaMet", "Complete"]
    assert types == order
    assert status["conditions"][0] == placed


def test_conditions_of_others_on_the_worker_stay_there() -> None:
    assert legalised({}, {"conditions": [condition("Placed")]}) == {}


def test_a_job_that_has_ended_stays_as_it_is() -> None:
    ended = hub_job(legalised({"failed": 1}, COMPLETE))

    for wanted in (FAILED, {"failed": 3}, {}):
        assert legal.legalise(ended, wanted, NOW) == ended["status"]
    assert legal.fail(ended, "NoWorker", "gone", NOW) == ended["status"]


def test_members_of_a_newer_api_are_left_alone() -> None:
    assert legalised({"new": 1}, {"newer": 2}) == {"new": 1}


# -- rules 10 and 11: the write ------------------------------------------------------------------


def test_rule_10_all_conditions_are_sent() -> None:
    job = hub_job({"conditions": [condition("Placed")]})

    patch = legal.patch(job, legal.legalise(job, SUSPENDED, NOW))

    assert patch is not None
    assert [each["type"] for each in patch["status"]["conditions"]] == ["Placed", "Suspended"]


def test_rule_11_a_write_is_as_small_as_can_be_and_names_the_version_it_was_made_for() -> None:
    old = {"active": 2, "ready": 2, "startTime": at(-9), "conditions": [condition("Placed")]}
    job = hub_job(old)

    patch = legal.patch(job, legal.legalise(job, {"ready": 1, "succeeded": 1}, NOW))

    assert patch == {
        "metadata": {"resourceVersion": "41"},
        "status": {"active": None, "ready": 0, "succeeded": 1},
    }


def test_nothing_is_written_if_nothing_changes() -> None:
    job = hub_job({"active": 1, "ready": 0, "startTime": at(-9)})
    wanted = {"active": 1, "ready": 0, "startTime": at(-9), "uncountedTerminatedPods": {}}

    assert legal.patch(job, legal.legalise(job, wanted, NOW)) is None
