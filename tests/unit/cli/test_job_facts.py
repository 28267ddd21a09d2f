from typing import Any

import pytest

from jobferry.cli import absences, describe, jobs, queue_names
from jobferry.cli.job_facts import Around, facts, is_delegated, progress, state, worker
from jobferry.cli.waiting import GOALS
from tests.unit.cli.hub_objects import NOW, at, event, job, placed, queue
from tests.unit.cli.hub_objects import worker as worker_object

COMPLETE = {"type": "Complete", "status": "True", "message": "All done"}


@pytest.mark.parametrize(
    ("spec", "status", "word"),
    [
        ({}, {}, "Waiting"),
        ({}, {"active": 2}, "Running"),
        ({}, {"active": 2, "ready": 1}, "Running"),
        ({}, {"active": 2, "ready": 0}, "Starting"),
        ({"suspend": True}, {}, "Suspended"),
        ({}, {"conditions": [{"type": "Suspended", "status": "True"}]}, "Suspended"),
        ({}, {"conditions": [COMPLETE]}, "Complete"),
        ({}, {"conditions": [{"type": "Failed", "status": "True"}]}, "Failed"),
        ({}, {"conditions": [{"type": "Failed", "status": "False"}]}, "Waiting"),
    ],
)
def test_a_job_stands_in_one_word(spec: Any, status: Any, word: str) -> None:
    assert state(job(status=status, **spec)) == word


def test_what_is_placed_and_not_active_yet_is_placed() -> None:
    assert state(placed(job(), "east")) == "Placed"


def test_a_job_whose_pods_do_not_start_does_not_run() -> None:
    stuck = placed(job(status={"active": 1, "ready": 0}), "east")

    assert facts(stuck, NOW).message == "0 of 1 pod ready"
    assert not GOALS["running"].holds(stuck)
    told = describe.summary(stuck, NOW)["Status"]
    assert told.startswith("Starting: 0 of 1 pod ready (`jobferry logs train`")
    assert GOALS["running"].holds(job(status={"active": 1, "ready": 1}))
    assert GOALS["running"].holds(job(status={"active": 1}))


def test_a_job_that_failed_points_to_its_logs() -> None:
    failed = job(status={"conditions": [{"type": "Failed", "status": "True"}]})

    assert "`jobferry logs train`" in describe.summary(failed, NOW)["Status"]


def test_nobody_knows_how_a_job_stands_whose_worker_is_not_heard_of() -> None:
    silent = worker_object("west")
    silent["status"]["conditions"][1] |= {"status": "False", "reason": "Silent"}
    around = Around(
        absent=absences.absent(
            [worker_object("east", up=False), worker_object("north"), silent]
        )
    )
    told = {name: f"{name} not heard since {at(-30)}" for name in ("east", "west")}
    runs = job(status={"active": 1, "ready": 1})

    assert around.absent == told
    seen = facts(placed(runs, "east"), NOW, around)
    assert (seen.state, seen.message) == ("Unknown", told["east"])
    assert jobs.row(placed(runs, "west"), NOW, False, around)[1] == "Unknown"
    shown = describe.summary(placed(runs, "west"), NOW, around)
    assert shown["Status"] == f"Unknown: {told['west']}"
    assert facts(placed(runs, "north"), NOW, around).state == "Running"
    done = job(status={"conditions": [COMPLETE]})
    assert facts(placed(done, "east"), NOW, around).state == "Complete"


def test_a_job_that_its_worker_refused_waits() -> None:
    there = placed(job(), "east")
    refused = event("Refused", "Worker east refused it: no such namespace", age=20)
    around = Around(events={"uid-train": [refused]})

    seen = facts(there, NOW, around)

    assert seen.state == "Waiting"
    assert seen.message == "east: it refused it 20s ago: no such namespace"
    assert facts(placed(job(), "west"), NOW, around).state == "Placed"


def test_a_job_that_waits_tells_what_was_said_last() -> None:
    events = [
        event("NoQueue", "there is no Queue q", age=50),
        event("NoWorker", "No worker can take it: east: not connected", age=20),
        event("Else", "Something", age=10),
    ]

    seen = facts(job(), NOW, Around(events={"uid-train": events, "uid-other": []}))

    assert (seen.state, seen.message) == ("Waiting", events[1]["message"])


def test_a_job_is_in_the_queue_of_its_namespace_unless_it_names_one() -> None:
    claims = [queue("a", namespaces=["ml", "both"]), queue("b", namespaces=["both"])]
    around = Around(queues=queue_names.by_namespace(claims))

    assert around.queues == {"ml": "a"}
    assert facts(job(), NOW, around).queue == "a"
    assert facts(job(queue="q"), NOW, around).queue == "q"
    assert facts(job(manager=None), NOW, around).queue == ""
    assert describe.summary(job(), NOW, around)["Queue"] == "a"


def test_what_goes_is_being_deleted_whatever_else_it_is() -> None:
    going = job(status={"active": 1})
    going["metadata"]["deletionTimestamp"] = at(0)

    assert state(going) == "Deleting"


@pytest.mark.parametrize(
    ("manager", "shown"),
    [
        (None, "<hub>"),
        ("kubernetes.io/job-controller", "<hub>"),
        ("kueue.x-k8s.io/multikueue", "<kueue.x-k8s.io/multikueue>"),
        ("jobferry.io/dispatcher", None),
    ],
)
def test_the_worker_column_says_who_runs_a_job(manager: str | None, shown: str | None) -> None:
    assert worker(job(manager=manager)) == shown


def test_a_job_of_a_dispatcher_by_another_name_is_known_by_its_placement() -> None:
    own = job(manager="example.com/mine")

    assert not is_delegated(own)
    assert is_delegated(placed(own, "east"))
    assert worker(placed(own, "east")) == "east"


def test_a_forged_placement_counts_for_nothing() -> None:
    forged = placed(job(), "east")
    forged["status"]["conditions"] = []

    assert worker(forged) is None


@pytest.mark.parametrize(
    ("spec", "status", "shown"),
    [
        ({"completions": 10}, {}, "0/10"),
        ({"completions": 10}, {"succeeded": 3, "failed": 2}, "3/10 (2 failed)"),
        ({"completions": None, "parallelism": 4}, {"succeeded": 1}, "1/1 of 4"),
    ],
)
def test_progress_is_what_succeeded_of_what_must(spec: Any, status: Any, shown: str) -> None:
    assert progress(job(status=status, **spec)) == shown


def test_a_row_has_all_that_is_asked_for() -> None:
    times = {"startTime": at(-50), "completionTime": at(-20)}
    done = placed(
        job(age=75, queue="gpu", status={"succeeded": 1, **times, "conditions": [COMPLETE]}),
        "east",
        attempt=2,
    )

    seen = facts(done, NOW)

    assert (seen.state, seen.worker, seen.attempt, seen.progress) == (
        "Complete",
        "east",
        2,
        "1/1",
    )
    assert (seen.age, seen.lasted, seen.queue, seen.message) == (
        "75s",
        "30s",
        "gpu",
        "All done",
    )
    columns, rows = jobs.table([done], NOW, True)
    assert len(columns) == len(rows[0])
    assert rows[0][0] == "ml"
