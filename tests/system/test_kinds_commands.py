"""What commands show of workloads of other kinds than Jobs, and do with them."""

import json
from collections.abc import AsyncIterator

import pytest

from tests.system.kinds import JOB_SET, staged, trial
from tests.system.lab import Lab
from tests.system.terminal import Terminal
from tests.system.world import until_none
from tests.workloads.lives import LIVES

pytestmark = [pytest.mark.fleet("processes"), pytest.mark.timeout(120)]


@pytest.fixture
async def stage(lab: Lab) -> AsyncIterator[Lab]:
    """A lab whose clusters have JobSets, and whose dispatcher may use them."""
    async with staged(lab, JOB_SET):
        yield lab


async def test_commands_show_other_kinds_too(stage: Lab, terminal: Terminal) -> None:
    found, world = trial(stage, JOB_SET), stage.world
    await found.submit()
    worker = await found.where()
    await found.on(worker)
    here = ("--context", "west", "-n", world.namespace, "-k", "jobset")

    listed = (await terminal.out("jobs", *here)).splitlines()
    assert listed[1].split()[:4] == [found.name, "Placed", worker, "1"]
    assert f"Worker:     {worker} (attempt 1)" in await terminal.out(
        "describe", found.name, *here
    )
    assert f"is placed on {worker}, attempt 1" in await terminal.out("why", found.name, *here)
    kinds = {
        row.split()[0]: row.split()[1:4]
        for row in (await terminal.out("kinds", "--context", "west")).splitlines()
    }
    assert kinds[JOB_SET] == ["yes", "yes", "north,south"]
    assert kinds["RayJob.ray.io"][:2] == ["no", "no"]
    top = await terminal.out("top", "--context", "west", "-o", "json")
    assert sum(each["active"] for each in json.loads(top)["workers"]) == 1


async def test_a_new_worker_that_would_not_get_what_it_serves_is_told_of(
    stage: Lab, terminal: Terminal
) -> None:
    add = ("workers", "add", "new", "--from-context", "east", "--context", "west", "--yes")

    without, with_it = [
        (await terminal.run(*add, *kinds)).out for kinds in ((), ("--kinds", "JobSet"))
    ]

    assert "it gets no JobSet, though it serves that: with `--kinds JobSet` it would" in without
    assert "identity" in with_it
    assert "other kinds" not in with_it


async def test_commands_wait_for_other_kinds_and_cancel_them(
    stage: Lab, terminal: Terminal
) -> None:
    found, world = trial(stage, JOB_SET), stage.world
    here = ("--context", "west", "-n", world.namespace, "-k", "JobSet")
    await found.submit()
    worker = await found.where()

    late = await terminal.run("wait", found.name, *here, "--timeout", "1s")
    assert (late.code, f"why {found.name} --kind JobSet" in late.err) == (4, True)
    missing = await terminal.run("wait", "nosuch", *here)
    assert "`jobferry jobs -k JobSet` lists those that are there" in missing.err
    refused = await terminal.run("wait", found.name, *here, "--for", "placed")
    assert "--for placed does not go with --kind" in refused.err

    await found.play(worker, LIVES[JOB_SET][-1])
    assert (
        await terminal.out("wait", found.name, *here) == f"{found.name} has ended: Complete\n"
    )
    assert f"its mirror on {worker} goes, too" in await terminal.out(
        "cancel", found.name, *here
    )
    await until_none(world.hub, found.scope())
    await found.gone_from(worker)
