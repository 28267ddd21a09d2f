"""Workloads of a hub without operators: webhooks on the worker fill in what the hub never sees, and leave out what is zero."""

from collections.abc import Iterator

import pytest

from jobferry.objects import Obj
from jobferry.testing.pods import EXIT_CODE, RUN_SECONDS
from tests.system.jobs import FOREVER, MANAGER
from tests.system.lab import Lab
from tests.system.operator_cases import WORKERS_ALONE, Case, template
from tests.system.operator_programs import JOB_SET
from tests.system.operators import delegating, running
from tests.system.processes import Processes

pytestmark = [
    pytest.mark.kube,
    pytest.mark.soak,
    pytest.mark.operator("jobset"),
    pytest.mark.timeout(90),
]


def job_set(annotations: Obj) -> Obj:
    """Return a JobSet that says as little as it can, some of it in vain."""
    job = {
        "template": template(annotations, "main"),
        "backoffLimit": 0,
        "manualSelector": False,
    }
    jobs = {"name": "workers", "template": {"spec": job}}
    return {"managedBy": MANAGER, "suspend": False, "replicatedJobs": [jobs]}


def runs_jobs(obj: Obj) -> bool:
    """Hold if a Job of a JobSet runs."""
    return any(
        each.get("ready") for each in obj.get("status", {}).get("replicatedJobsStatus", ())
    )


CASE = Case("JobSet.jobset.x-k8s.io", (JOB_SET,), job_set, runs_jobs)


@pytest.fixture(scope="module")
def case(running_fleet: Processes) -> Iterator[Case]:
    """A kind whose operator runs on workers alone."""
    with running(running_fleet.planes, *CASE.operators, on=WORKERS_ALONE):
        yield CASE


async def test_it_runs_and_nothing_is_said_to_be_lost_or_changed(lab: Lab, case: Case) -> None:
    said = {RUN_SECONDS: str(FOREVER), EXIT_CODE: "0"}
    async with delegating(lab, case.kind, *case.operators) as made_of:
        found = made_of(case.spec(said))

        asked = await found.submit()
        await found.until(case.runs)
        await found.edit({"metadata": {"labels": {"team": "red"}}})
        mirror = await found.on(
            "north", lambda obj: obj["metadata"]["labels"].get("team") == "red"
        )

        told = await lab.world.reasons(found.name)
        assert not {"Refused", "NotForwarded", "ChangedOnWorker", "StatusRefused"} & told
        assert mirror["spec"].keys() - asked["spec"].keys()
