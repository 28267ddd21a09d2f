"""The real MPI operator on the hub alone: there can be only one on a machine."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from jobferry.kinds import paths
from jobferry.kube.resources import PODS
from jobferry.objects import merge_patch
from jobferry.testing.pods import EXIT_CODE, RUN_SECONDS
from tests.system.lab import Lab
from tests.system.operator_cases import MPI_JOB
from tests.system.operators import delegating, made, running
from tests.system.processes import Processes

pytestmark = [
    pytest.mark.kube,
    pytest.mark.soak,
    pytest.mark.operator("mpi-operator"),
    pytest.mark.timeout(90),
]


@pytest.fixture(scope="module", autouse=True)
def operator(running_fleet: Processes) -> Iterator[None]:
    """The operator on the lab's hub."""
    with running(running_fleet.planes, *MPI_JOB.operators, on=("west",)):
        yield


async def test_it_leaves_alone_what_is_delegated_and_runs_the_rest(lab: Lab) -> None:
    async with delegating(lab, MPI_JOB.kind, *MPI_JOB.operators) as made_of:
        delegated = made_of(MPI_JOB.spec({RUN_SECONDS: "0", EXIT_CODE: "0"}))
        renamed = merge_patch.apply(delegated.obj, {"metadata": {"name": "own"}})
        own = replace(delegated, obj=paths.without(renamed, delegated.adapter.managed_by_path))
        await delegated.submit()
        await delegated.on("north")

        await own.submit()
        await own.until(own.ended("Complete"))

        pods = await made(lab.world.hub, lab, PODS)
        assert pods
        assert all(pod["metadata"]["name"].startswith("own-") for pod in pods)
        seen = await delegated.until(lambda _: True)
        assert not seen.get("status", {}).get("conditions")
