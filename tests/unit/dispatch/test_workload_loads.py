from typing import Any

import pytest

from jobferry.dispatch.workloads import Workloads
from jobferry.kinds.adapter import Context
from jobferry.kinds.job.delegated import DelegatedJob
from jobferry.objects import Obj
from tests.unit.kube.wires import Wire, client_over

OURS = "jobferry.io/dispatcher"
KIND = "Job.batch"


def job(version: int, worker: str = "", *, has_ended: bool = False) -> Obj:
    placed = {"type": "Placed", "status": "True", "message": f"attempt 1 on {worker} (uid)"}
    listed: list[Any] = [placed] if worker else []
    if has_ended:
        listed.append({"type": "Complete", "status": "True"})
    meta = {"namespace": "ns", "name": "a", "uid": "uid-1", "resourceVersion": str(version)}
    return {
        "metadata": meta,
        "spec": {"managedBy": OURS},
        "status": {"conditions": listed},
    }


@pytest.mark.parametrize(
    ("before", "after", "workers"),
    [
        (None, job(2), []),
        (None, job(2, "east"), ["east"]),
        (job(1), job(2, "east"), ["east"]),
        (job(1, "east"), job(2, "east"), []),
        (job(1, "east"), job(2, "west"), ["east", "west"]),
        (job(1, "east"), job(2, "east", has_ended=True), ["east"]),
    ],
)
def test_a_job_changes_the_load_of_the_workers_that_it_keeps_busy_and_kept_busy_before(
    before: Obj | None, after: Obj, workers: list[str]
) -> None:
    workloads = Workloads(client_over(Wire()), [DelegatedJob(Context(frozenset({OURS})))])
    workloads.follow(KIND)
    if before is not None:
        workloads.absorb(KIND, before)
    told: list[str] = []
    workloads.listen_to_load(told.append)

    workloads.absorb(KIND, after)

    assert told == workers
