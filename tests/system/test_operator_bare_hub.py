"""Workloads of a hub without operators: webhooks on the worker fill in what the hub never sees, and leave out what is zero."""

from collections.abc import Iterator

import pytest

from jobferry.objects import Obj, merge_patch
from jobferry.testing.pods import EXIT_CODE, RUN_SECONDS
from tests.system.jobs import FOREVER, MANAGER
from tests.system.lab import Lab
from tests.system.operator_cases import RUNS, WORKERS_ALONE, Case, template
from tests.system.operator_programs import JOB_SET
from tests.system.operators import delegating, running
from tests.system.processes import Processes

pytestmark = [pytest.mark.kube, pytest.mark.soak, pytest.mark.timeout(90)]


def job_set(annotations: Obj) -> Obj:
    """Return a JobSet that says as little as it can, some of it in vain."""
    job = {
        "template": template(annotations, "main"),
        "backoffLimit": 0,
        "manualSelector": False,
    }
    jobs = {"name": "workers", "template": {"spec": job}}
    return {"managedBy": MANAGER, "suspend": False, "replicatedJobs": [jobs]}


def pipeline(annotations: Obj) -> Obj:
    """Return a PipelineRun of which some says nothing."""
    spec: Obj = merge_patch.apply(RUNS[0].spec(annotations), {"params": []})
    first = spec["pipelineSpec"]["tasks"][0]
    first |= {"description": "", "retries": 0, "matrix": None, "when": []}
    spec["pipelineSpec"]["workspaces"] = [
        {"name": "cache", "optional": True, "description": ""}
    ]
    first["taskSpec"]["workspaces"] = [{"name": "cache", "optional": True, "readOnly": False}]
    first["taskSpec"]["steps"][0] |= {"script": "", "workingDir": ""}
    return spec


def runs_jobs(obj: Obj) -> bool:
    """Hold if a Job of a JobSet runs."""
    return any(
        each.get("ready") for each in obj.get("status", {}).get("replicatedJobsStatus", ())
    )


CASES = (
    Case("JobSet.jobset.x-k8s.io", (JOB_SET,), job_set, runs_jobs),
    Case(RUNS[0].kind, RUNS[0].operators, pipeline, RUNS[0].runs, beside=RUNS[0].beside),
)
PARAMS = [
    pytest.param(
        case,
        id=case.kind.partition(".")[0],
        marks=pytest.mark.operator(case.operators[0].project),
    )
    for case in CASES
]


@pytest.fixture(scope="module", params=PARAMS)
def case(request: pytest.FixtureRequest, running_fleet: Processes) -> Iterator[Case]:
    """A kind whose operator runs on workers alone."""
    case: Case = request.param
    with running(running_fleet.planes, *case.operators, on=WORKERS_ALONE):
        yield case


async def test_it_runs_and_nothing_is_said_to_be_lost_or_changed(lab: Lab, case: Case) -> None:
    said = {RUN_SECONDS: str(FOREVER), EXIT_CODE: "0"}
    async with delegating(lab, case.kind, *case.operators) as made_of:
        for resource, obj in case.beside(said):
            await lab.world.workers["north"].create(
                resource, obj, namespace=lab.world.namespace
            )
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
