"""Groups of Pods: all of them go to one worker, or none does."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from jobferry.core.placement_object import RESOURCE as PLACEMENTS
from jobferry.kube.calls import Scope
from tests.system.fleet import DISPATCHER
from tests.system.jobs import NORTH_FIRST, SOON, complete, is_there, job, ready
from tests.system.kinds import Trial
from tests.system.lab import Lab
from tests.system.pods import (
    KIND,
    KINDS,
    FewRecords,
    group,
    pod,
    recorded,
    submit,
    where,
    with_pods,
)
from tests.system.replicas import Replicas
from tests.system.terminal import Terminal
from tests.system.world import until_one
from tests.workloads.examples import POD_GROUP

pytestmark = [pytest.mark.fleet, pytest.mark.timeout(120)]


@pytest.fixture
async def stage(lab: Lab) -> AsyncIterator[Lab]:
    """A lab in which a dispatcher may see Pods."""
    async with with_pods(lab):
        yield lab


async def test_a_group_runs_on_one_of_two_workers_and_ends(stage: Lab) -> None:
    await stage.add_workers(capacity={"cpu": "4"})
    async with stage.dispatcher(kinds=KINDS):
        pods = group(stage)
        await submit(pods)
        others = group(stage, "h")
        await submit(others)

        first, second = await where(pods), await where(others)
        assert len(first) == 1
        assert len(second) == 1
        assert first != second  # four do not hold six

        for each in pods:
            await each.delete()
            await each.gone_from(*first)


async def test_the_group_of_the_page_runs_when_it_is_pasted(stage: Lab) -> None:
    await stage.add_workers()
    async with stage.dispatcher(kinds=KINDS):
        pods = [Trial(stage, KIND, each) for each in POD_GROUP]
        assert len(pods) == 2
        await submit(pods)

        assert len({await each.where() for each in pods}) == 1
        for each in pods:
            await each.until(each.ended())


async def test_where_there_is_room_for_some_none_goes_and_others_pass(stage: Lab) -> None:
    await stage.add_workers(capacity={"cpu": "2"})
    async with stage.dispatcher(kinds=KINDS):
        pods = group(stage)
        await submit(pods)
        said = await stage.world.event("g-0", "NoWorker")
        assert "too little cpu is left of its 2: 3 is needed" in said

        small = pod(stage, "small")
        await small.submit()
        await where([small])
        assert await recorded(stage) == {"small"}

        await stage.edit_worker("south", capacity={"cpu": "4"})
        assert await where(pods) == {"south"}


async def test_a_worker_takes_no_group_that_is_more_than_its_most(stage: Lab) -> None:
    await stage.add_worker("north", maxMirrors=2)
    async with stage.dispatcher(kinds=KINDS):
        pods = group(stage)
        await submit(pods)
        assert "at most 2 workloads" in await stage.world.event("g-2", "NoWorker")
        await stage.world.run(job("passes"), complete)
        assert await recorded(stage) == set()

        await stage.edit_worker("north", maxMirrors=3)
        assert await where(pods) == {"north"}


async def test_nothing_goes_until_the_last_has_come(stage: Lab) -> None:
    await stage.add_workers()
    async with stage.dispatcher(kinds=KINDS):
        first, second, third = group(stage)
        await submit([first, second])
        said = await stage.world.event("g-0", "GroupWaits")
        assert said == "It waits until all 3 pods of its group g are there"
        await stage.world.run(job("passes"), complete)
        assert await recorded(stage) == set()

        await third.submit()

        assert len(await where([first, second, third])) == 1


async def test_all_of_a_group_leave_a_drained_worker_together(stage: Lab) -> None:
    await stage.add_worker("north", capacity={"cpu": "3"})
    await stage.add_worker("south", capacity={"cpu": "2"})
    async with stage.dispatcher(kinds=KINDS):
        pods = group(stage)
        await submit(pods)
        assert await where(pods) == {"north"}

        await stage.edit_worker("north", drain="MoveAway")
        await stage.world.run(
            job("b"), complete
        )  # on south, which is not large enough for three
        for each in pods:
            assert await each.where() == "north"

        await stage.edit_worker("south", capacity={"cpu": "3"})
        assert await where(pods, attempt=2) == {"south"}
        for each in pods:
            await each.gone_from("north")


async def test_all_of_a_group_move_from_a_lost_worker(stage: Lab) -> None:
    await stage.add_workers()
    queue = await stage.world.queue("soon", **SOON)
    async with stage.dispatcher(kinds=KINDS):
        pods = group(stage, queue=queue)
        await submit(pods)
        assert await where(pods) == {"north"}

        await stage.proxies["north"].cut()

        assert await where(pods, attempt=2) == {"south"}
        await stage.proxies["north"].mend()
        for each in pods:
            await each.gone_from("north")


async def test_one_that_is_replaced_goes_where_the_others_are(stage: Lab) -> None:
    await stage.add_workers(capacity={"cpu": "3"})
    queue = await stage.world.queue("north-first", **NORTH_FIRST)
    async with stage.dispatcher(kinds=KINDS):
        small = pod(stage, "small", queue=queue)
        await small.submit()
        assert await where([small]) == {"north"}
        pods = group(stage, queue=queue)
        await submit(pods)
        assert await where(pods) == {"south"}

        await pods[1].delete()
        await pods[1].gone_from("south")
        another = pod(stage, "g-9", group="g", queue=queue)  # north comes first, and has room
        await another.submit()

        assert await where([another]) == {"south"}


@pytest.mark.parametrize("total", ["many", "0", "-1", "9" * 60, ""])
async def test_a_total_that_is_none_is_told_and_holds_up_nobody(stage: Lab, total: str) -> None:
    await stage.add_worker("north")
    async with stage.dispatcher(kinds=KINDS):
        await submit(group(stage, total=total))

        said = await stage.world.event("g-0", "NotSupported")

        assert "jobferry.io/pod-group-total-count" in said
        await stage.world.run(job("passes"), complete)
        assert await recorded(stage) == set()


async def test_those_that_do_not_agree_how_many_they_are_are_told(stage: Lab) -> None:
    await stage.add_worker("north")
    async with stage.dispatcher(kinds=KINDS):
        pods = [pod(stage, "g-0", group="g", total=2), pod(stage, "g-1", group="g", total=3)]
        await submit(pods)

        assert "do not agree" in await stage.world.event("g-1", "GroupWaits")
        await stage.world.run(job("passes"), complete)
        assert await recorded(stage) == set()


# A dispatcher that ends in the middle


async def test_a_dispatcher_that_ends_between_two_placements_leaves_them_together(
    stage: Lab,
) -> None:
    await stage.add_workers()
    pods = group(stage)
    way = FewRecords(stage.fleet.reach, 1)
    async with stage.standby(kinds=KINDS, reach=way.reach):
        await stage.worker("north")
        await stage.worker("south")
        await submit(pods)
        await way.hangs.wait()
        records = Scope(resource=PLACEMENTS, namespace=stage.world.namespace)
        await until_one(stage.world.hub, records, is_there)
        assert len(await recorded(stage)) == 1

    async with stage.dispatcher(kinds=KINDS):
        assert len(await where(pods)) == 1


async def test_a_dispatcher_that_ends_while_they_move_leaves_them_together(stage: Lab) -> None:
    await stage.add_workers()
    queue = await stage.world.queue("north-first", **NORTH_FIRST)
    pods = group(stage, queue=queue)
    way = FewRecords(stage.fleet.reach, 1, attempt=2)
    async with stage.standby(kinds=KINDS, reach=way.reach):
        await submit(pods)
        assert await where(pods) == {"north"}
        await stage.edit_worker("north", drain="MoveAway")
        await way.hangs.wait()

    async with stage.standby(kinds=KINDS):  # north is not Ready any more
        assert await where(pods, attempt=2) == {"south"}
        for each in pods:
            await each.gone_from("north")


@pytest.mark.fleet("processes")
async def test_a_dispatcher_that_is_killed_between_placements_leaves_them_together(
    stage: Lab, tmp_path: Path
) -> None:
    size = 12
    await stage.add_workers()
    kubeconfig = stage.fleet.planes["west"].kubeconfig(DISPATCHER)
    options = ("--kinds=Job,Pod", "--requests-in-flight=1")
    async with AsyncExitStack() as stack:
        replicas = stack.enter_context(Replicas(kubeconfig, tmp_path, *options))
        for number in range(5):
            replicas.scale(1)
            await stage.worker("north", ready)
            await stage.worker("south", ready)
            pods = group(stage, f"g{number}", size, cpu="10m")
            await submit(pods)
            await pods[-1].record()  # which is the first
            replicas.kill()
            done = {each.name for each in pods} & await recorded(stage)
            replicas.scale(1)
            assert len(await where(pods)) == 1
            if len(done) < size:
                return  # it was killed in the middle
            replicas.kill()
        pytest.fail("all were placed each time before it could be killed")


# What commands say


@pytest.mark.fleet("processes")
async def test_why_tells_how_many_of_a_group_are_there(stage: Lab, terminal: Terminal) -> None:
    await stage.add_workers(capacity={"cpu": "2"})
    here = ("--context", "west", "-n", stage.world.namespace, "-k", "pod")
    async with stage.dispatcher(kinds=KINDS):
        first, second, third = group(stage)
        await submit([first, second])
        said = await terminal.out("why", "g-0", *here)
        assert "It waits for 1 more pod of its group g (2 of 3 are there)." in said

        await third.submit()
        said = await terminal.out("why", "g-0", *here)
        assert "too little cpu is left of its 2: 3 is needed" in said
        assert "number 1 of 1" in said
