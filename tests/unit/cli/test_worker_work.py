from typing import Any

import pytest

from jobferry.cli import worker_drain, worker_load, worker_remove, worker_undrain, workers
from jobferry.cli.workload_facts import Workload
from jobferry.dispatch import switches
from jobferry.objects import Obj
from jobferry.settings import DEFAULTS
from jobferry.workers import sight
from tests.unit.cli.hub_objects import NOW, job, placed, worker
from tests.unit.cli.test_other_kinds import JOB_SET, NAME, job_set, record
from tests.workloads.lives import LIVES

KNOWN = switches.known(DEFAULTS)

COMPLETE = {"conditions": [{"type": "Complete", "status": "True"}]}


def silent() -> Obj:
    """A Worker that is connected and has not answered for a while."""
    found = worker("east", drain="MoveAway")
    found["status"]["conditions"][1] |= {"status": "False", "reason": "Silent"}
    return found


def removing(message: str) -> Obj:
    ready = {"type": "Ready", "status": "False", "reason": "Removing", "message": message}
    return worker("east", status={"conditions": [ready]})


def test_unfinished_work_is_counted_as_it_is_by_kind() -> None:
    done = placed(job("done"), "east")
    done["status"] = {**done["status"], **COMPLETE}
    jobs = [placed(job("a"), "east"), placed(job("b"), "west"), job("c"), done]
    sets = [job_set(), job_set(metadata={"name": "x", "uid": "x"}, status=LIVES[NAME][-1])]
    found = [Workload(KNOWN["Job.batch"], each) for each in jobs]
    found += [Workload(JOB_SET, each, record(each)) for each in sets]

    assert worker_load.count(found, "east") == {"Job": 1, "JobSet": 1}


def test_only_kinds_are_read_of_which_something_was_placed_there() -> None:
    records = [record(job_set()), record(job_set(), "west")]

    assert worker_load.placed_kinds(records[:1], "east", KNOWN) == [
        KNOWN["Job.batch"],
        JOB_SET,
    ]
    assert worker_load.placed_kinds(records[1:], "east", KNOWN) == [KNOWN["Job.batch"]]
    with pytest.raises(LookupError):
        worker_load.placed_kinds(records, "east", {"Job.batch": KNOWN["Job.batch"]})


@pytest.mark.parametrize(
    ("load", "says"),
    [
        ({}, ""),
        ({"Job": 1, "JobSet": 0}, "1 Job"),
        ({"Job": 3, "JobSet": 1}, "3 Jobs and 1 JobSet"),
        ({"Job": 1, "JobSet": 2, "Pod": 4}, "1 Job, 2 JobSets and 4 Pods"),
        ({worker_load.ANY: 2}, "2 workloads"),
    ],
)
def test_how_much_work_there_is_is_told_by_kind(load: worker_load.Load, says: str) -> None:
    assert worker_load.text(load) == says


@pytest.mark.parametrize(
    ("drain", "active", "up", "says"),
    [
        ("MoveAway", 2, True, "its unfinished work (2 Jobs) moves to other Workers."),
        ("MoveAway", 0, True, "it has no unfinished work"),
        ("MoveAway", 2, False, "as soon as it can be reached (Unreachable now)"),
        ("NoNewWork", 2, True, "its unfinished work (2 Jobs) goes on"),
    ],
)
def test_a_drain_says_what_becomes_of_the_work(
    drain: str, active: int, up: bool, says: str
) -> None:
    assert says in worker_drain.sentence(worker("east", up=up), drain, {"Job": active})


def test_a_silent_worker_is_promised_nothing_before_it_answers() -> None:
    said = worker_drain.sentence(silent(), "MoveAway", {"Job": 1})

    assert "as soon as it can be reached (Silent now)" in said
    assert worker_undrain.sentence(silent()) == (
        "Worker east gets work again as soon as it can be reached (Silent now)."
    )
    drained = worker("east", drain="MoveAway")
    assert worker_undrain.sentence(drained) == "Worker east may get work again."
    assert worker_undrain.sentence(worker("east")) == "Worker east was not drained."


def test_a_worker_that_takes_work_and_hides_a_kind_says_which() -> None:
    hides = worker("east")
    hides["status"]["conditions"][0] |= {
        "reason": sight.UNSEEN,
        "message": sight.told({NAME: "no rights"}),
    }
    hides["status"]["conditions"][1] |= {"message": "Takes work."}

    assert workers.row(hides, NOW)[-1] == (
        f"Takes work. Connected, but not for: {NAME}: no rights"
    )
    assert workers.row(worker("east"), NOW)[-1] == "Connected."
    assert workers.row(worker("east", up=False), NOW)[-1] == "No answer."


def test_a_worker_that_is_removed_says_what_it_waits_for() -> None:
    waits = "It is being removed: waits until its mirrors are gone."

    assert waits in worker_remove.sentence("east", removing(waits))
    assert "No dispatcher has said yet" in worker_remove.sentence("east", worker("east"))
    assert worker_remove.sentence("east", None) == "Worker east is removed."


def test_what_stays_on_the_cluster_of_a_removed_worker_is_told() -> None:
    secret: dict[str, Any] = {"kubeconfig": {"secret": {"namespace": "s", "name": "east"}}}

    said = worker_remove.account(worker("east", **secret), is_gone=False)

    assert "Once it is gone" in said
    assert "delete serviceaccount/jobferry-worker secret/jobferry-worker" in said
    assert "-l jobferry.io/rights=worker" in said
    assert worker_remove.account(worker("east"), is_gone=True) == ""
    shared = worker("east", sharedCluster=True, **secret)
    assert worker_remove.account(shared, is_gone=True) == ""
