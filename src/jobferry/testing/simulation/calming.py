"""The end of all trouble: whoever broke or wrote something mends it, so that every Job can end."""

from contextlib import suppress
from functools import partial

from jobferry.clock import Seconds, sleep
from jobferry.core import marks
from jobferry.core.marks import Standing
from jobferry.dispatch.queues import LABEL
from jobferry.kube import errors
from jobferry.kube.calls import Scope
from jobferry.kube.client import Client
from jobferry.kube.resources import JOBS
from jobferry.objects import Obj
from jobferry.testing.simulation import job_sets, truth
from jobferry.testing.simulation.faults import QUOTAS
from jobferry.testing.simulation.replicas import SETTINGS
from jobferry.testing.simulation.users import USERS
from jobferry.testing.simulation.world import HELD, World, worker
from jobferry.workers.resource import WORKERS

PATIENCE: Seconds = 90.0
"""How long a Worker that was deleted is waited for: by then all that can end has."""

SANE: Obj = {"drain": "None", "maxMirrors": None, "capacity": None, "namespaces": None}


async def calm_down(world: World) -> None:
    """Let everything go well from now on."""
    world.journal.say("! calm")
    world.calm.set()
    world.calm_since = world.clock.monotonic()
    world.meddling.clear()
    _restart(world, 0.0)
    for moods in world.webhooks.values():
        moods.clear()
    # What was under way when it became calm mends what it broke by itself.
    await sleep(world.clock, 3.0)
    _restart(world, world.calm_since)
    for name in world.workers:
        async with world.client(name) as client:
            if name in world.restored:
                await _lift_quotas(world, client)
            await _tidy(world, client)
    async with world.client("hub") as hub:
        # Only what needs it: an edit wakes every Job, also one that was forgotten and should not be.
        for name in _queues(world):
            await USERS.run(world, "queue", {"name": name, "spec": {}})
        for name in world.workers:
            if "hub" in world.restored:
                await world.renew(
                    name
                )  # its Secret may be from before credentials were revoked
            await _mend_worker(world, hub, name)


def _restart(world: World, since: Seconds) -> None:
    """Let all dispatchers run, as they were at first.

    As Kubernetes asks of those who restore a cluster, whoever followed one that was restored since then begins anew.
    Most of the time we notice by ourselves (`Informer._compare_histories`), but not if its versions are beyond where we
    were by then.
    """
    is_restored = any(at >= since for at in world.restored.values())
    for replica in world.replicas.values():
        replica.process.wake()
        if replica.settings != SETTINGS or is_restored:
            replica.settings = SETTINGS
            replica.kill()
        replica.start()


def _queues(world: World) -> list[str]:
    """Name the Queues that Jobs ask for which have not ended."""
    waiting = (job for job in truth.claimed(world) if not truth.finish(job))
    named = (job["metadata"].get("labels", {}).get(LABEL) for job in waiting)
    return sorted({name for name in named if name})


async def _mend_worker(world: World, hub: Client, name: str) -> None:
    """Let a Worker be there, and take everything; an edit makes us ask again where we were refused."""
    patch: Obj = {"spec": SANE}
    if name in world.refusing:
        patch["metadata"] = {"labels": {"calm": "yes"}}
    since = world.clock.monotonic()
    while True:
        if world.clock.monotonic() - since > PATIENCE:
            await _give_up(world, hub, name)
        with suppress(errors.AlreadyExists):
            await hub.create(WORKERS, worker(name))
        with suppress(errors.NotFound):  # one that was deleted may go at this very moment
            found = await hub.patch(WORKERS, name, patch)
            if not found["metadata"].get("deletionTimestamp"):
                return
        await sleep(world.clock, 1.0)


async def _give_up(world: World, hub: Client, name: str) -> None:
    """Delete what holds a Worker back that is to go: what never ends, and can go nowhere else."""
    for each in truth.workloads(world):
        placed = truth.placed(world, each)
        if truth.finish(each) or placed is None or placed.shards[0].worker != name:
            continue
        resource, meta = JOBS if truth.is_job(each) else job_sets.RESOURCE, each["metadata"]
        with suppress(errors.NotFound):
            await hub.delete(resource, meta["name"], meta["namespace"], uid=meta["uid"])


async def _lift_quotas(world: World, client: Client) -> None:
    """Let those who left no room for Jobs do so no more: what they had lifted may have come back with its cluster."""
    for quota in (await client.list(Scope(resource=QUOTAS))).items:
        meta = quota["metadata"]
        await world.insist(partial(client.delete, QUOTAS, meta["name"], meta["namespace"]))


async def _tidy(world: World, client: Client) -> None:
    """Let those who put Jobs of their own in the way of mirrors, or stopped or held mirrors, undo it."""
    for job in (await client.list(Scope(resource=JOBS))).items:
        if job["metadata"].get("ownerReferences"):
            continue  # it was made for the mirror of a JobSet
        await world.insist(partial(_undo, world, client, job))


async def _undo(world: World, client: Client, job: Obj) -> None:
    meta, found = job["metadata"], marks.read(job)
    namespace, name = meta["namespace"], meta["name"]
    if HELD in meta.get("finalizers", ()):
        await world.let_go(client, namespace, name)
    if meta["uid"] in world.made and (namespace, name) not in world.tampered:
        return  # whatever it is like, it is for those who made it to see to it
    if found is None or found.judge(job).standing is not Standing.CURRENT:
        await client.delete(JOBS, name, namespace, uid=meta["uid"])
    elif (namespace, name) in world.tampered:
        patch = {"spec": {"suspend": _is_suspended(world, meta)}}
        await client.patch(JOBS, name, patch, namespace=namespace)


def _is_suspended(world: World, meta: Obj) -> bool:
    """Tell whether the Job on the hub is, of which this mirror is made."""
    for job in truth.claimed(world):
        if truth.address(job) == f"{meta['namespace']}/{meta['name']}":
            return bool(job["spec"].get("suspend"))
    return False
