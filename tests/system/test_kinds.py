"""Workloads of other kinds than Jobs travel as Jobs do."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, suppress
from pathlib import Path

import pytest

from jobferry.core.placement_object import RESOURCE as PLACEMENTS
from jobferry.kube import errors
from jobferry.kube.calls import Scope
from jobferry.objects import Obj
from tests.system.fleet import DISPATCHER
from tests.system.jobs import (
    NORTH_FIRST,
    SOON,
    complete,
    condition,
    is_there,
    job,
    placed,
    ready,
)
from tests.system.kinds import (
    JOB_SET,
    SIMULATION,
    STOPPED,
    Trial,
    define,
    done_now,
    known,
    multikueue,
    rights,
    rights_to_delete,
    staged,
    trial,
    undefine,
)
from tests.system.lab import Lab
from tests.system.replicas import Replicas
from tests.system.world import named, until_none
from tests.workloads.lives import LIVES

pytestmark = pytest.mark.fleet

BOTH = pytest.mark.parametrize("kind", [JOB_SET, SIMULATION])
SUSPEND = {JOB_SET: "suspend", SIMULATION: "paused"}


@pytest.fixture
async def stage(lab: Lab) -> AsyncIterator[Lab]:
    """A lab whose clusters have both kinds, and whose dispatcher may use them."""
    async with staged(lab, JOB_SET, SIMULATION):
        yield lab


NORTH = {"worker": "north", "cluster": "anywhere"}


def served(worker: Obj) -> set[str]:
    """Return the kinds that a Worker says to serve, whatever the version."""
    listed = (worker.get("status") or {}).get("kinds") or ()
    return {each.rpartition("/")[0] for each in listed}


async def records(lab: Lab) -> list[Obj]:
    """Return all Placements of the test."""
    scope = Scope(resource=PLACEMENTS, namespace=lab.world.namespace)
    return (await lab.world.hub.list(scope)).items


async def placed_north(lab: Lab, kind: str, policy: Obj = NORTH_FIRST) -> Trial:
    """Create a workload that goes to the worker north, and see it there."""
    queue = await lab.world.queue("north-first", **policy)
    found = trial(lab, kind, queue=queue)
    await found.submit()
    await found.on("north")
    return found


@BOTH
async def test_a_workload_runs_on_a_worker_and_its_status_comes_back(
    stage: Lab, kind: str
) -> None:
    found = trial(stage, kind)
    await found.submit()

    worker = await found.where()
    mirror = await found.on(worker)
    assert "managedBy" not in mirror["spec"]
    assert mirror["metadata"]["labels"]["jobferry.io/worker"] == worker
    for status in LIVES[kind]:
        await found.play(worker, status)
        shown = {key: value for key, value in status.items() if key != "conditions"}
        await found.until(found.shows(shown))
    done = await found.until(found.ended())

    uid = done["metadata"]["uid"]
    await found.delete()
    await found.gone_from(worker)
    await until_none(stage.world.hub, named(PLACEMENTS, uid, stage.world.namespace))


@BOTH
async def test_a_workload_is_suspended_and_resumed(stage: Lab, kind: str) -> None:
    member = SUSPEND[kind]
    found = trial(stage, kind, changes={member: True})
    await found.submit()
    await stage.world.run(job("other"), complete)  # by then it could have been placed
    assert await records(stage) == []

    await found.edit({"spec": {member: False}})
    worker = await found.where()
    await found.on(worker)
    await found.edit({"spec": {member: True}})
    await found.on(worker, lambda obj: obj["spec"].get(member) is True)
    await found.play(worker, STOPPED[kind])
    await found.until(lambda obj: found.adapter.stillness(obj).value == "quiet")

    await found.edit({"spec": {member: False}})
    await found.on(worker, lambda obj: not obj["spec"].get(member))
    await found.play(worker, LIVES[kind][-1])
    await found.until(found.ended())


@BOTH
async def test_an_edit_is_forwarded(stage: Lab, kind: str) -> None:
    found = trial(stage, kind)
    await found.submit()
    worker = await found.where()
    await found.on(worker)

    await found.edit({"metadata": {"labels": {"team": "a"}}})

    await found.on(worker, lambda obj: obj["metadata"]["labels"].get("team") == "a")


@BOTH
async def test_work_leaves_a_drained_worker_once_it_has_stopped(stage: Lab, kind: str) -> None:
    found = await placed_north(stage, kind)
    await found.play("north", LIVES[kind][1])

    await stage.edit_worker("north", drain="MoveAway")
    await found.on("north", lambda obj: obj["spec"].get(SUSPEND[kind]) is True)
    await found.play("north", STOPPED[kind])

    assert await found.where(attempt=2) == "south"
    mirror = await found.on("south")
    assert not mirror["spec"].get(SUSPEND[kind])
    await found.gone_from("north")
    await found.play("south", LIVES[kind][-1])
    await found.until(found.ended())


@BOTH
async def test_work_that_no_operator_has_looked_at_leaves_a_drained_worker(
    stage: Lab, kind: str
) -> None:
    found = await placed_north(stage, kind)

    await stage.edit_worker("north", drain="MoveAway")

    assert await found.where(attempt=2) == "south"
    await found.gone_from("north")
    mirror = await found.on("south")
    assert not mirror["spec"].get(SUSPEND[kind])


@BOTH
async def test_work_of_a_lost_worker_moves_and_is_removed_when_it_is_back(
    stage: Lab, kind: str
) -> None:
    found = await placed_north(stage, kind, SOON)
    await found.play("north", LIVES[kind][1])

    await stage.proxies["north"].cut()
    assert await found.where(attempt=2) == "south"
    await found.on("south")
    await stage.proxies["north"].mend()

    await found.gone_from("north")
    await found.on("south")


async def test_the_time_of_what_has_ended_is_over_on_the_hub_too(stage: Lab) -> None:
    found = trial(stage, SIMULATION, changes={"keepSeconds": 1})
    await found.submit()
    await found.play(await found.where(), done_now(stage))

    said = await stage.world.event(found.name, "TTLNotApplied")
    assert "jobferry-dispatcher-ttl" in said
    await found.until(found.ended())


async def test_with_the_right_it_is_deleted(stage: Lab) -> None:
    found = trial(stage, SIMULATION, changes={"keepSeconds": 0})
    async with rights_to_delete(stage, SIMULATION):
        await found.submit()
        worker = await found.where()

        await found.play(worker, done_now(stage))

        await until_none(stage.world.hub, found.scope())
        await found.gone_from(worker)


async def test_parts_of_a_delegated_workload_are_not_delegated_by_themselves(
    stage: Lab,
) -> None:
    found = trial(stage, JOB_SET)
    made = await found.submit()
    await found.on(await found.where())
    part, other = job("part"), job("other")
    owner = {"apiVersion": made["apiVersion"], "kind": made["kind"], "controller": True}
    meta = made["metadata"]
    part["metadata"]["ownerReferences"] = [{**owner, "name": meta["name"], "uid": meta["uid"]}]

    await stage.world.submit(part)
    await stage.world.run(other, complete)

    seen = await stage.world.until("part", is_there)
    assert not placed(seen)


async def test_a_forged_placement_changes_nothing(stage: Lab) -> None:
    world, found = stage.world, trial(stage, JOB_SET, changes={"suspend": True})
    made = await found.submit()
    uid, kind = made["metadata"]["uid"], {"apiVersion": made["apiVersion"], "kind": "JobSet"}
    named_so = {**kind, "name": found.name}
    elsewhere: Obj = {
        "metadata": {"name": uid, "namespace": "default"},
        "spec": {"workload": {**named_so, "uid": uid}, "attempt": 7, "shards": [NORTH]},
    }
    of_another: Obj = {
        "metadata": {"name": "another-uid"},
        "spec": {
            "workload": {**named_so, "uid": "another-uid"},
            "attempt": 7,
            "shards": [NORTH],
        },
    }
    await world.hub.create(PLACEMENTS, elsewhere)
    await world.hub.create(PLACEMENTS, of_another, namespace=world.namespace)
    try:
        await found.edit({"spec": {"suspend": False}})

        record = await found.record()
        assert record["spec"]["attempt"] == 1
        await found.on(str(record["spec"]["shards"][0]["worker"]))
    finally:
        with suppress(errors.NotFound):  # it is of nothing that is there
            await world.hub.delete(PLACEMENTS, uid, "default")


async def test_a_placement_goes_with_its_workload_though_that_is_to_leave_all_behind(
    stage: Lab,
) -> None:
    world, found = stage.world, trial(stage, JOB_SET)
    uid = (await found.submit())["metadata"]["uid"]
    worker = await found.where()
    await found.on(worker)

    resource = found.adapter.resource
    await world.hub.delete(resource, found.name, world.namespace, propagation="Orphan")

    await until_none(world.hub, named(PLACEMENTS, uid, world.namespace))
    await found.gone_from(worker)


async def test_a_placement_says_no_more_than_that_a_user_may_see_it(stage: Lab) -> None:
    found = trial(stage, JOB_SET)
    await found.submit()
    record = await found.record()

    (owner,) = record["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"]) == ("JobSet", found.name)
    assert not owner["controller"]


# Kinds that come and go


async def test_a_kind_that_is_installed_later_is_picked_up_and_one_that_goes_is_let_go(
    lab: Lab,
) -> None:
    world = lab.world
    async with AsyncExitStack() as stack:
        for client in (world.hub, *world.workers.values()):
            stack.push_async_callback(undefine, client, JOB_SET)
        await stack.enter_async_context(rights(lab, JOB_SET))
        await lab.add_workers()
        await stack.enter_async_context(lab.dispatcher())
        assert JOB_SET not in served(await lab.worker("north"))

        await define(world.hub, JOB_SET)
        found = trial(lab, JOB_SET)
        await found.submit()
        assert "does not serve JobSet" in await world.event(found.name, "NoWorker")
        await world.run(job("a"), complete)  # that is no reason not to get other work

        await define(world.workers["south"], JOB_SET)
        await lab.worker("south", lambda obj: JOB_SET in served(obj))
        assert await found.where() == "south"
        await found.on("south")
        assert JOB_SET not in served(await lab.worker("north"))

        await undefine(world.hub, JOB_SET)
        await found.gone_from("south")
        await undefine(world.workers["south"], JOB_SET)
        await lab.worker("south", lambda obj: JOB_SET not in served(obj))
        await world.run(job("b"), complete)


async def test_where_a_rival_runs_nothing_is_placed_and_nothing_that_runs_is_stopped(
    lab: Lab,
) -> None:
    world, ray_job = lab.world, "RayJob.ray.io"
    found, later = trial(lab, ray_job), trial(lab, ray_job, name="later")
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(known(lab, ray_job))
        await stack.enter_async_context(rights(lab, ray_job))
        await lab.add_worker("north")
        async with lab.dispatcher(claim_multikueue=True):
            await found.submit()
            await found.on("north")

        async with multikueue(world.hub):
            await stack.enter_async_context(lab.dispatcher(claim_multikueue=True))
            await later.submit()
            await found.play("north", LIVES[ray_job][1])
            await world.run(job("a"), complete)  # by then something could have been done
            assert len(await records(lab)) == 1
            await found.on("north")

        await later.on("north")
        await found.until(found.shows({"jobStatus": "RUNNING"}))


async def test_without_rights_on_a_kind_jobs_go_on(lab: Lab) -> None:
    world = lab.world
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(known(lab, JOB_SET))
        await lab.add_workers()
        await stack.enter_async_context(lab.dispatcher())

        worker = await lab.worker(
            "north", lambda obj: condition(obj, "Ready").get("status") == "True"
        )
        assert condition(worker, "Connected")["reason"] == "KindsUnseen"
        await world.run(job("a"), complete)


async def test_without_rights_on_a_kind_on_workers_it_is_told_that_it_is_not_seen_there(
    lab: Lab,
) -> None:
    world = lab.world
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(known(lab, JOB_SET))
        await stack.enter_async_context(rights(lab, JOB_SET, on_workers=False))
        await lab.add_worker("north")
        await stack.enter_async_context(lab.dispatcher())
        found = trial(lab, JOB_SET)

        await found.submit()

        told = await world.event(found.name, "NoWorker")
        assert f"north: does not show us {JOB_SET}: we have no rights on it there" in told
        assert "`jobferry manifests worker --kinds JobSet` has them" in told
        assert served(await lab.worker("north")) == {"Job.batch"}


@pytest.mark.fleet("processes")
async def test_a_dispatcher_that_is_killed_between_record_and_mirror_leaves_no_gap(
    lab: Lab, tmp_path: Path
) -> None:
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(known(lab, JOB_SET))
        await stack.enter_async_context(rights(lab, JOB_SET))
        await lab.add_worker("north")
        kubeconfig = lab.fleet.planes["west"].kubeconfig(DISPATCHER)
        replicas = stack.enter_context(Replicas(kubeconfig, tmp_path))
        replicas.scale(1)
        await lab.worker("north", lambda obj: JOB_SET in served(obj) and ready(obj))
        found = trial(lab, JOB_SET)

        lab.proxies["north"].freeze()
        await found.submit()
        record = await found.record()
        replicas.kill()
        lab.proxies["north"].strand()
        replicas.scale(1)

        await found.on("north")
        assert (await found.record())["metadata"]["uid"] == record["metadata"]["uid"]
        assert (await found.record())["spec"]["attempt"] == 1
