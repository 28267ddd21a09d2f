"""What a demo makes of what it sees: Jobs and Workers as objects, then in words."""

import pytest

from jobferry.cli import sights
from jobferry.cli.scene import summary
from jobferry.cli.sights import Creating, WorkerSeen
from jobferry.core import placement, times
from jobferry.core.placement import Placement, Shard
from jobferry.kinds.job import base as bases
from jobferry.kinds.job.base import Base
from jobferry.objects import Obj
from tests.unit.cli.scenes import MOVE, after, hub


def job(*, managed: bool = True, **status: object) -> Obj:
    spec = {"completions": 8, **({"managedBy": "jobferry.io/dispatcher"} if managed else {})}
    metadata = {"name": "darts", "uid": "u1", "resourceVersion": "1"}
    return {"metadata": metadata, "spec": spec, "status": status}


def placed(obj: Obj, worker: str, attempt: int, base: Base) -> Obj:
    record = Placement("u1", attempt, (Shard(worker, "c1", bases.write(base)),))
    patch = placement.patch(obj, record, times.instant("2026-01-01T00:00:00Z"))
    return {
        **obj,
        "metadata": {**obj["metadata"], **patch["metadata"]},
        "status": {**obj["status"], **patch["status"]},
    }


def test_a_job_says_where_it_runs_and_what_earlier_attempts_have_done() -> None:
    seen = sights.of_job(
        1.0, "hub", placed(job(succeeded=5, active=2), "west", 2, Base(succeeded=3))
    )

    assert seen == hub(1.0, place="west", attempt=2, kept=3, done=5, active=2)


@pytest.mark.parametrize(
    ("cluster", "managed", "place"),
    [("hub", True, ""), ("hub", False, "hub"), ("east", False, "east")],
)
def test_a_job_without_a_placement_runs_where_it_is_or_nowhere(
    cluster: str, managed: bool, place: str
) -> None:
    assert sights.of_job(1.0, cluster, job(managed=managed)).place == place


def test_a_job_tells_its_end() -> None:
    conditions = [{"type": "Failed", "status": "True"}, {"type": "Complete", "status": "False"}]

    assert sights.of_job(1.0, "hub", job(conditions=conditions)).end == "Failed"


def test_a_worker_is_ready_when_the_hub_says_so() -> None:
    worker = {"metadata": {"name": "east"}}
    ready = {**worker, "status": {"conditions": [{"type": "Ready", "status": "True"}]}}

    assert not sights.of_worker(1.0, worker).is_ready
    assert sights.of_worker(1.0, ready).is_ready


def test_a_move_is_told_with_what_was_kept() -> None:
    scene, told = after(*MOVE)

    assert told == [
        "  1.0 s  A hub and 2 workers are ready.",
        "  1.0 s  1 of 1 new Jobs on the hub say managedBy: jobferry.io/dispatcher.",
        "  1.1 s  hub       darts       runs on east: 2 active",
        "  1.2 s  east      darts       mirror runs",
        "  2.5 s  kill -9 7: east is off, pods and all.",
        "  2.6 s  The hub misses east: its work moves in 2 s (workerLostAfter here).",
        "  4.6 s  darts moves to west as attempt 2; 3 of 8 runs are kept.",
        "  6.0 s  hub       darts       Complete on west: 8 succeeded, 0 failed",
    ]
    assert scene.ended_at == 6.0


def test_the_summary_gives_the_figures() -> None:
    scene, _ = after(*MOVE)

    assert summary(scene, 6.1) == [
        "1 Jobs went to the hub; 1 of them ran on workers, where nothing is installed.",
        "The first was on a worker 0.20 s after it was created.",
        "darts lost its worker and ran on elsewhere 2.1 s later; 3 of 8 runs kept.",
        "All of it took 6.1 s, of which 1.0 s to start all clusters.",
    ]


def test_it_is_over_when_all_jobs_have_ended_and_all_were_created() -> None:
    creating = Creating(at=1.0, delegated=2, total=2)
    one, two = hub(2.0, end="Complete"), hub(3.0, "pi", end="Failed")

    assert not after(creating, one)[0].all_ended
    assert not after(creating, one, hub(3.0, "pi"))[0].all_ended
    assert after(creating, one, two)[0].all_ended


def test_the_same_is_not_told_twice() -> None:
    scene, told = after(hub(1.0, active=2), hub(2.0, active=2, done=1), hub(3.0, active=1))

    assert [words[9:] for words in told] == [
        "hub       darts       runs on east: 2 active",
        "hub       darts       runs on east: 1 active",
    ]
    assert scene.jobs["darts"].at == 3.0


def test_workers_that_come_one_by_one_at_the_start_are_no_news() -> None:
    first = (
        WorkerSeen(at=0.5, name="east", is_ready=False),
        WorkerSeen(at=0.6, name="east", is_ready=True),
    )
    both = (*first, WorkerSeen(at=0.7, name="west", is_ready=True))

    assert not after(*first)[0].has_its_workers
    assert after(*both)[0].has_its_workers
    assert after(*both)[1] == []


def test_a_worker_that_comes_back_is_told() -> None:
    scene, told = after(*MOVE, WorkerSeen(at=7.0, name="east", is_ready=True))

    assert told[-1] == "  7.0 s  east is back."
    assert scene.clusters["east"].killed_at is None
