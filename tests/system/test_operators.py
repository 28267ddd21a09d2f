"""Workloads of many kinds under their real operators, on workers and, where that is possible, on the hub as well."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import replace

import pytest

from jobferry.kinds import paths
from jobferry.kube.resources import JOBS, PODS
from jobferry.testing.pods import EXIT_CODE, RUN_SECONDS
from tests.system.jobs import FOREVER
from tests.system.kinds import Trial
from tests.system.lab import Lab
from tests.system.operator_cases import CASES, FLAVOR, Case
from tests.system.operators import SERVICES, delegating, emptied, made, own_pods, running
from tests.system.processes import Processes
from tests.workloads.examples import ADAPTERS, row, suspension

pytestmark = [pytest.mark.kube, pytest.mark.soak, pytest.mark.timeout(90)]

Submit = Callable[..., Awaitable[Trial]]

PARAMS = [
    pytest.param(
        case,
        id=case.kind.partition(".")[0],
        marks=pytest.mark.operator(*(each.project for each in case.operators)),
    )
    for case in CASES
]


@pytest.fixture(scope="module", params=PARAMS)
def case(request: pytest.FixtureRequest, running_fleet: Processes) -> Iterator[Case]:
    """A kind whose operator runs."""
    case: Case = request.param
    with running(running_fleet.planes, *case.operators, on=case.clusters):
        yield case


@pytest.fixture
async def of(lab: Lab, case: Case) -> AsyncIterator[Submit]:
    """A dispatcher, and what makes workloads for it whose pods run for so long and end so."""
    is_closed = ADAPTERS[case.kind].accepts is not None
    settings = {"claim_multikueue": is_closed}
    async with delegating(lab, case.kind, *case.operators, **settings) as made_of:

        async def of(
            *, seconds: float = 0.0, exit_code: int = 0, is_delegated: bool = True
        ) -> Trial:
            said = {RUN_SECONDS: str(seconds), EXIT_CODE: str(exit_code)}
            for resource, obj in case.beside(said):
                for client in (lab.world.hub, *lab.world.workers.values()):
                    await client.create(resource, obj, namespace=lab.world.namespace)
            found = made_of(case.spec(said))
            if not is_delegated:
                own = paths.without(found.obj, found.adapter.managed_by_path)
                found = replace(found, obj=own)
            await found.submit()
            return found

        yield of


async def test_it_succeeds_and_goes_with_all_that_was_made_of_it(
    lab: Lab, case: Case, of: Submit
) -> None:
    found = await of()

    ends = "Complete" in case.ends
    await found.until(found.ended("Complete") if ends else case.runs)
    for resource in (JOBS, PODS, SERVICES):
        assert not await made(lab.world.hub, lab, resource)

    await found.delete()
    await found.gone_from("north")
    await emptied(lab, "north")


async def test_its_pods_are_known_by_their_labels(lab: Lab, case: Case, of: Submit) -> None:
    found = await of(seconds=FOREVER)
    await found.until(case.runs)

    known = await own_pods(found, "north")
    every = await made(lab.world.workers["north"], lab, PODS)

    assert known == {each["metadata"]["name"] for each in every}
    assert known


async def test_it_fails(case: Case, of: Submit) -> None:
    if "Failed" not in case.ends:
        pytest.skip("it never ends by itself")
    found = await of(exit_code=1)

    ended = await found.until(found.ended("Failed"))

    assert case.failed(ended)


async def test_it_is_suspended_and_resumed(lab: Lab, case: Case, of: Submit) -> None:
    found = await of(seconds=FOREVER)
    if row(found.adapter).suspend is None:
        pytest.skip("it cannot be suspended once it runs")
    await found.until(case.runs)

    await found.edit(suspension(found.adapter, True))
    await found.until(lambda obj: found.adapter.stillness(obj).name == "QUIET")
    await emptied(lab, "north", PODS)

    await found.edit(suspension(found.adapter, False))
    await found.until(case.runs)


async def test_it_is_suspended_and_changed_by_one_edit(
    lab: Lab, case: Case, of: Submit
) -> None:
    """On the hub nothing of it runs, so its webhook there takes at once what that on the worker takes later."""
    if case.while_stopped is None:
        pytest.skip("it cannot be changed")
    found = await of(seconds=FOREVER)
    await found.until(case.runs)

    await found.edit({"spec": {"suspend": True, **case.while_stopped}})
    await found.until(lambda obj: found.adapter.stillness(obj).name == "QUIET")
    await found.edit(suspension(found.adapter, False))
    await found.until(case.runs)

    for pod in await made(lab.world.workers["north"], lab, PODS):
        assert pod["metadata"]["annotations"].items() >= FLAVOR.items()
    assert not {"NotForwarded", "ChangedOnWorker"} & await lab.world.reasons(found.name)


async def test_it_leaves_a_drained_worker(lab: Lab, case: Case, of: Submit) -> None:
    found = await of(seconds=FOREVER)
    await found.until(case.runs)

    await lab.edit_worker("north", drain="MoveAway")

    assert await found.where(attempt=2) == "south"
    await found.on("south")
    await found.gone_from("north")
    await emptied(lab, "north")
    if "hub" in case.clusters:
        await found.on("south", case.runs)
        await found.until(case.runs)


async def test_the_operator_on_the_hub_runs_what_is_not_delegated(
    lab: Lab, case: Case, of: Submit
) -> None:
    """So that it is not for want of an operator that nothing runs there."""
    if "west" not in case.clusters:
        pytest.skip("there can be only one operator on a machine")
    found = await of(is_delegated=False)

    ends = "Complete" in case.ends
    await found.until(found.ended("Complete") if ends else case.runs)

    for worker in lab.world.workers.values():
        assert not await made(worker, lab, found.adapter.resource)
