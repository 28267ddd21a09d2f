"""Runs of Tekton under its real controller and webhook: what is held, and what is cancelled."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

import pytest

from jobferry.testing.pods import EXIT_CODE, RUN_SECONDS
from tests.system.jobs import FOREVER, condition, is_there
from tests.system.kinds import Trial
from tests.system.lab import Lab
from tests.system.operator_cases import RUNS, Case
from tests.system.operators import delegating, made, running
from tests.system.processes import Processes

pytestmark = [
    pytest.mark.kube,
    pytest.mark.soak,
    pytest.mark.operator("tekton"),
    pytest.mark.timeout(90),
]

Submit = Callable[..., Awaitable[Trial]]

CANCELLED = {"PipelineRun": "Cancelled", "TaskRun": "TaskRunCancelled"}


@pytest.fixture(scope="module", autouse=True)
def operator(running_fleet: Processes) -> Iterator[None]:
    """The controller and the webhook on all clusters."""
    with running(running_fleet.planes, *RUNS[0].operators):
        yield


@pytest.fixture(params=RUNS, ids=lambda case: case.kind.partition(".")[0])
def case(request: pytest.FixtureRequest) -> Case:
    """A kind of runs."""
    case: Case = request.param
    return case


@pytest.fixture
async def of(lab: Lab, case: Case) -> AsyncIterator[Submit]:
    """A dispatcher, and what makes runs for it whose pods run for so long."""
    async with delegating(lab, case.kind, *case.operators) as made_of:

        async def of(*, seconds: float = 0.0, status: str | None = None) -> Trial:
            said = {RUN_SECONDS: str(seconds), EXIT_CODE: "0"}
            for resource, obj in case.beside(said):
                for client in (lab.world.hub, *lab.world.workers.values()):
                    await client.create(resource, obj, namespace=lab.world.namespace)
            held = {"status": status} if status else {}
            found = made_of({**case.spec(said), **held})
            await found.submit()
            return found

        yield of


def kind(case: Case) -> str:
    """Name the kind as Tekton does within its words."""
    return case.kind.partition(".")[0]


async def test_one_that_is_held_starts_nowhere_until_it_is_let_go(
    lab: Lab, case: Case, of: Submit
) -> None:
    """The webhook on the hub refuses a status that says that it started, as long as it is held."""
    found = await of(status=f"{kind(case)}Pending")
    await found.until(is_there)
    for worker in lab.world.workers.values():
        assert not await made(worker, lab, found.adapter.resource)

    await found.edit({"spec": {"status": None}})

    await found.until(found.ended("Complete"))
    assert "StatusRefused" not in await lab.world.reasons(found.name)


async def test_it_is_cancelled_on_the_worker(lab: Lab, case: Case, of: Submit) -> None:
    found = await of(seconds=FOREVER)
    await found.until(case.runs)

    await found.edit({"spec": {"status": CANCELLED[kind(case)]}})

    ended = await found.until(found.ended("Failed"))
    assert "Cancelled" in condition(ended, "Succeeded")["reason"]
    assert not {"NotForwarded", "StatusRefused"} & await lab.world.reasons(found.name)
