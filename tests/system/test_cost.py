"""How much thinking a Job costs, besides the requests that test_journey counts."""

from collections import Counter

import pytest

from jobferry.core.decide import decide
from jobferry.core.steps import Step
from jobferry.core.view import Kind, View
from jobferry.dispatch import reconciler
from tests.system.jobs import complete, job
from tests.system.world import World

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
