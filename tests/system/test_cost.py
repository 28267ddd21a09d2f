"""How much thinking a Job costs, besides the requests that test_journey counts."""

from collections import Counter

import pytest

from jobferry.clock import sleep
from jobferry.core.decide import decide
from jobferry.core.kind import Kind
from jobferry.core.steps import Step
from jobferry.core.view import View
from jobferry.dispatch import reconciler
from jobferry.dispatch.queues import QUEUES
from jobferry.kube.resources import JOBS
from jobferry.workers.resource import WORKERS
from tests.system.jobs import FOREVER, complete, job, runs
from tests.system.world import World, named, until_none

pytestmark = pytest.mark.fleet("one process")


@pytest.fixture
def decisions(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often it was decided on each Job, by its name."""
    counted: Counter[str] = Counter()

    def count(view: View, kind: Kind) -> Step:
        counted[view.name] += 1
        return decide(view, kind)

    monkeypatch.setattr(reconciler, "decide", count)
    return counted


async def test_a_job_that_just_runs_takes_few_decisions(
    world: World, decisions: Counter[str]
) -> None:
    await world.run(job("a", queue="east"), complete)
    await world.delete("a")
    await world.gone("a")

    # That it waits; place, create, rest; for its run and its end, write and rest; delete, rest.
    assert decisions["a"] <= 10


async def test_finished_jobs_are_looked_at_again_only_for_their_mirrors_sake(
    world: World, decisions: Counter[str]
) -> None:
    first_east = {"order": ["east"]}
    queue = await world.queue("east", workers=first_east, placement="Ordered")
    await world.run(job("ended", queue=queue), complete)
    await world.run(job("runs", queue=queue, seconds=FOREVER), runs())
    await _settle(world)

    decisions.clear()
    await world.hub.patch(QUEUES, queue, {"spec": {"giveUpAfterSeconds": 9000}})
    await _settle(world)
    assert (decisions["ended"], decisions["runs"]) == (0, 1)

    await world.hub.patch(WORKERS, "east", {"spec": {"drain": "NoNewWork"}})
    await _settle(world)
    assert (decisions["ended"], decisions["runs"]) == (0, 2)

    await world.hub.patch(QUEUES, queue, {"spec": {"finishedMirrors": {"keepSeconds": 0}}})
    await until_none(world.workers["east"], named(JOBS, "ended", world.namespace))


async def _settle(world: World) -> None:
    """Let all be done that there is to do: here time passes only then."""
    await sleep(world.hub.clock, 1.0)
