"""Whose a placement and a mirror are: ours only if everything matches."""

import json
from dataclasses import replace
from typing import Any

import pytest

from jobferry.core import placement
from jobferry.kube.resources import JOBS, LEASES
from jobferry.objects import Obj
from jobferry.settings import Settings
from jobferry.workers.resource import WORKERS
from tests.system.fleet import SYSTEM, WORKER, add_worker
from tests.system.jobs import (
    FOREVER,
    MANAGER,
    WAITING,
    attempt,
    complete,
    condition,
    is_there,
    job,
    lost,
    placed,
    runs,
)
from tests.system.lab import Lab
from tests.system.world import World, named, until_one

pytestmark = pytest.mark.fleet

EAST_FIRST: dict[str, Any] = {"placement": "Ordered", "workers": {"order": ["east", "west"]}}


async def test_an_object_of_others_under_the_mirrors_name_is_never_touched(
    world: World,
) -> None:
    queue = await world.queue("east-first", **EAST_FIRST)
    foreign = await world.workers["east"].create(
        JOBS, job("a", manager=None, suspend=True), namespace=world.namespace
    )

    await world.run(job("a", queue=queue), complete)

    assert await world.where("a") == "west"
    assert "name is taken" in await world.event("a", "Refused")
    found = await world.on("east", "a")
    assert found["metadata"]["uid"] == foreign["metadata"]["uid"]
    assert found["spec"] == foreign["spec"]
    await world.delete("a")
    assert (await world.on("east", "a"))["metadata"]["uid"] == foreign["metadata"]["uid"]


async def test_a_placement_that_the_user_forged_does_not_count(world: World) -> None:
    shard = {"worker": "west", "cluster": "x", "base": {"succeeded": 1}}
    record = {"format": 1, "uid": "forged", "attempt": 7, "shards": [shard]}
    forged = job("a", queue="east")
    forged["metadata"]["annotations"] = {placement.ANNOTATION: json.dumps(record)}

    done = await world.run(forged, complete)

    assert condition(done, "Placed")["message"].startswith("attempt 1 on east")
    assert await world.pods("a") == {"east": 1}


async def test_a_job_made_from_the_yaml_of_a_placed_one_is_placed_anew(world: World) -> None:
    first = await world.run(job("a", queue="east"), complete)
    copy = job("b", queue="west")
    copy["metadata"]["annotations"] = first["metadata"]["annotations"]

    await world.run(copy, complete)

    assert await world.pods("b") == {"west": 1}


async def test_a_placement_that_was_lost_is_written_again(world: World) -> None:
    before = await world.run(job("a", seconds=FOREVER), runs(1))
    mirror = await world.mirror("a")

    await world.edit("a", {"metadata": {"annotations": {placement.ANNOTATION: None}}})

    after = await world.until("a", lambda obj: _record(obj) == _record(before))
    assert condition(after, "Placed") == condition(before, "Placed")
    assert (await world.mirror("a"))["metadata"]["uid"] == mirror["metadata"]["uid"]


async def test_a_placement_that_was_altered_is_put_right(world: World) -> None:
    before = await world.run(job("a", queue="east", seconds=FOREVER), runs(1))
    altered = (_record(before) or "").replace('"worker":"east"', '"worker":"west"')
    assert altered != _record(before)

    await world.edit("a", {"metadata": {"annotations": {placement.ANNOTATION: altered}}})

    await world.until("a", lambda obj: _record(obj) == _record(before))
    assert await world.pods("a") == {"east": 1}


@pytest.mark.parametrize("annotation", [None, "kept"])
async def test_a_hub_that_lost_the_record_of_a_job_finds_what_runs(
    world: World, annotation: str | None
) -> None:
    """As one that was restored from a backup."""
    before = await world.run(job("a", seconds=FOREVER), runs(1))
    mirror = await world.mirror("a")

    await _lose(world, before, annotation=_record(before) if annotation else None)

    after = await world.until("a", lambda obj: placed(obj) and _record(obj) == _record(before))
    assert condition(after, "Placed")["message"] == condition(before, "Placed")["message"]
    assert (await world.mirror("a"))["metadata"]["uid"] == mirror["metadata"]["uid"]
    assert sum((await world.pods("a")).values()) == 1
    await world.event("a", "Placed", "its record was lost, and its mirror found there")


async def test_what_was_found_is_not_taken_for_new_when_its_worker_is_lost(lab: Lab) -> None:
    world = lab.world
    await lab.add_workers()
    queue = await world.queue("waiting", **WAITING)
    async with lab.dispatcher():
        before = await world.run(job("a", seconds=FOREVER, queue=queue), runs(1))
        await _lose(world, before)
        await world.until("a", placed)

        await lab.proxies["north"].cut()

        await world.event("a", "WorkerLost")
        assert await world.pods("a") == {"north": 1}


async def test_what_a_hub_lost_while_no_dispatcher_ran_is_found_by_the_next(lab: Lab) -> None:
    world = lab.world
    await lab.add_workers()
    async with lab.dispatcher():
        before = await world.run(job("a", seconds=FOREVER), runs(1))
        worker, mirror = await world.where("a"), await world.mirror("a")
    await _lose(world, before)
    await lab.proxies[worker].cut()

    async with lab.standby():
        await lab.worker(worker, lost)
        await world.run(job("b"), complete)  # meanwhile it would have been placed anew
        assert not placed(await world.until("a", is_there))
        await lab.proxies[worker].mend()

        assert await world.where("a") == worker
        assert (await world.mirror("a"))["metadata"]["uid"] == mirror["metadata"]["uid"]


async def _lose(world: World, obj: Obj, annotation: str | None = None) -> None:
    """Take the placement off a Job, as if it had never been recorded."""
    patch = {
        "metadata": {"annotations": {placement.ANNOTATION: annotation}},
        "status": {"conditions": []},
    }
    await world.hub.patch(
        JOBS, obj["metadata"]["name"], patch, namespace=world.namespace, subresource="status"
    )


def _record(obj: Obj) -> str | None:
    record: str | None = obj["metadata"].get("annotations", {}).get(placement.ANNOTATION)
    return record


async def test_a_copy_that_somebody_made_of_a_mirror_is_never_touched(world: World) -> None:
    await world.run(job("a", queue="east", seconds=FOREVER), runs(1))
    clone = await _copy(world, "east", "copy", to="east")

    await world.delete("a")

    await world.gone("a")
    await world.run(job("b", queue="east"), complete)
    assert (await world.on("east", "copy"))["metadata"]["uid"] == clone["metadata"]["uid"]


async def test_a_copy_of_a_mirror_on_another_worker_is_never_touched(world: World) -> None:
    await world.run(job("a", queue="east", seconds=FOREVER), runs(1))
    clone = await _copy(world, "east", "a", to="west")

    await world.run(job("b", queue="west"), complete)

    assert (await world.on("west", "a"))["metadata"]["uid"] == clone["metadata"]["uid"]


async def _copy(world: World, worker: str, name: str, *, to: str) -> Obj:
    """Do what a person does who copies the YAML of the mirror of "a"."""
    mirror = await world.on(worker, "a")
    labels, notes = mirror["metadata"]["labels"], mirror["metadata"]["annotations"]
    copy = job(name, manager=None, suspend=True)
    copy["metadata"] = {"name": name, "labels": labels, "annotations": notes}
    return await world.workers[to].create(JOBS, copy, namespace=world.namespace)


async def test_two_hubs_on_one_worker_keep_apart(lab: Lab) -> None:
    """The other hub is the shared one; both know the cluster east, and use the same names."""
    ours, theirs = lab.world, replace(lab.world, hub=lab.world.workers["south"])
    await theirs.submit(job("a", queue="east", seconds=FOREVER))
    mirror = await ours.on("north", "a", runs(1))

    await lab.add_worker("north")
    async with lab.dispatcher():
        await ours.submit(job("a"))

        assert "name is taken" in await ours.event("a", "Refused")
        found = await ours.on("north", "a", runs(1))
        assert found["metadata"]["uid"] == mirror["metadata"]["uid"]


async def test_two_dispatchers_on_one_hub_keep_apart(lab: Lab) -> None:
    world, other = lab.world, "example.com/other"
    await lab.add_workers()
    async with lab.dispatcher(), lab.dispatcher(managed_by=(other,)):
        await world.submit(job("ours"))
        await world.submit(job("theirs", manager=other))

        await world.until("ours", complete)
        await world.until("theirs", complete)
        theirs = await world.mirror("theirs")
        assert theirs["metadata"]["labels"]["jobferry.io/dispatcher"] == "example.com_other"
        await world.delete("ours")
        await world.gone("ours")
        assert complete(await world.mirror("theirs"))


async def test_the_author_of_a_job_for_nobody_is_told(lab: Lab) -> None:
    world, other = lab.world, "jobferry.io/other"
    await lab.add_workers()
    async with lab.dispatcher(), lab.dispatcher(managed_by=(other,)):
        # Until then, nobody is there for it.
        lease = named(LEASES, Settings(managed_by=(other,)).lease_name, SYSTEM)
        await until_one(
            world.hub, lease, lambda found: bool(found["spec"].get("holderIdentity"))
        )
        await world.submit(job("lost", manager="jobferry.io/dispatchr"))
        await world.run(job("theirs", manager=other), complete)

        told = await world.event("lost", "NotClaimed")
        assert "No dispatcher was found for managedBy jobferry.io/dispatchr" in told
        assert "NotClaimed" not in await world.reasons("theirs")


async def test_one_dispatcher_can_claim_several_managers(lab: Lab) -> None:
    await lab.add_workers()
    claimed = ("jobferry.io/dispatcher", "kueue.x-k8s.io/multikueue")
    async with lab.dispatcher(managed_by=claimed):
        await lab.world.run(job("a", manager=claimed[0]), complete)
        await lab.world.run(job("b", manager=claimed[1]), complete)


async def test_jobs_that_are_not_claimed_any_more_run_on_until_they_are_deleted(
    lab: Lab,
) -> None:
    """Of one the dispatcher still hears, the other is none of its business by its name."""
    world, managers = lab.world, {"b": "jobferry.io/second", "c": "example.com/third"}
    await lab.add_workers()
    async with lab.dispatcher(managed_by=(MANAGER, *managers.values())):
        for name, manager in managers.items():
            await world.run(job(name, manager=manager, seconds=FOREVER), runs(1))
    before = {name: (await world.mirror(name))["metadata"]["uid"] for name in managers}

    async with lab.dispatcher():
        await world.event("b", "NotClaimed", "goes on, and nobody reports of it")
        for name, uid in before.items():
            note = {"metadata": {"annotations": {"example.com/changed": "true"}}}
            worker = world.workers[await world.where(name)]
            await worker.patch(JOBS, name, note, namespace=world.namespace)
            await world.run(job(f"after-{name}"), complete)
            assert (await world.mirror(name))["metadata"]["uid"] == uid

        for name in managers:
            await world.delete(name)
        await world.gone("b")
    async with lab.dispatcher():
        await world.gone("c")


async def test_a_dispatcher_that_was_renamed_runs_nothing_a_second_time(lab: Lab) -> None:
    """Without a name of its own it has that of the first managedBy, which may be taken out of the settings."""
    world, second = lab.world, "jobferry.io/second"
    await lab.add_workers()
    async with lab.dispatcher(managed_by=(MANAGER, second)):
        await world.run(job("a", manager=second, seconds=FOREVER), runs(1))

    async with lab.dispatcher(managed_by=(second,)):
        await world.event("a", "OtherDispatcher", f"a dispatcher of the name {MANAGER}")
        assert attempt(await world.until("a", is_there)) == 1
        await world.run(job("b", manager=second), complete)

    async with lab.dispatcher(managed_by=(second,), dispatcher=MANAGER):
        await world.finish_pod(await world.where("a"), "a")
        await world.until("a", complete)


async def test_the_hub_can_be_its_own_worker(lab: Lab) -> None:
    world = replace(lab.world, workers={"itself": lab.world.hub})
    await add_worker(world.hub, "itself", lab.fleet.planes["west"].kubeconfig(WORKER))
    async with lab.dispatcher():
        await world.run(job("a", seconds=1), complete)

        assert await world.pods("a") == {}
        assert await world.pods("a-mirror") == {"itself": 1}
        mirror = await world.on("itself", "a-mirror", complete)
        assert "managedBy" not in mirror["spec"]
        assert not placed(mirror)
        await world.delete("a")
        await world.gone("a-mirror")


async def test_the_second_worker_for_a_cluster_gets_no_work(lab: Lab) -> None:
    world = lab.world
    await lab.add_worker("south")
    async with lab.dispatcher():
        await add_worker(world.hub, "twin", lab.kubeconfig("south"))

        twin = await until_one(
            world.hub,
            named(WORKERS, "twin"),
            lambda obj: condition(obj, "DuplicateCluster").get("status") == "True",
        )

        assert condition(twin, "Ready")["reason"] == "DuplicateCluster"
        await world.run(job("a"), complete)
        assert await world.where("a") == "south"
        await world.until("a", is_there)
