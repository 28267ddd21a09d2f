"""What goes wrong, at every border."""

from contextlib import suppress

import orjson

from jobferry.clock import Seconds, sleep
from jobferry.errors import Error
from jobferry.kube.calls import PatchKind
from jobferry.kube.client import Client
from jobferry.kube.errors import Unreachable
from jobferry.kube.resources import JOBS, NAMESPACES
from jobferry.objects.resource import Resource
from jobferry.testing.simulation import prepared, truth
from jobferry.testing.simulation.actions import Args, Dice, Table
from jobferry.testing.simulation.meddling import Trap
from jobferry.testing.simulation.world import HELD, World

FAULTS = Table()

QUOTAS = Resource("", "v1", "resourcequotas", "ResourceQuota")


def _trap(dice: Dice) -> Args:
    phase, method = (
        dice.one("before", "after"),
        dice.one("write", "write", "GET", "watch", "POST"),
    )
    effects = ("lost", "lost", "hang", "delay", "500", "504")
    if phase == "before":
        effects = (*effects, "503", "429", *(("409",) if method == "write" else ()))
        effects = (*effects, *(("410",) if method == "watch" else ()))
    elif method == "watch":
        phase = "before"
    return {
        "effect": dice.one(*effects),
        "phase": phase,
        "cluster": dice.cluster(),
        "method": method,
        "what": dice.one("", "jobs", "jobs", "leases", "workers"),
        "count": dice.one(1, 1, 1, 2, 5),
        "seconds": dice.seconds(0.5, 8),
    }


@FAULTS.add("trap", 8, _trap)
async def _lay(world: World, **given: object) -> None:
    """Let something happen to the next requests of a sort."""
    world.meddling.lay(Trap(**given))  # type: ignore[arg-type]


def _fatal_trap(dice: Dice) -> Args:
    return {
        "effect": dice.one("kill", "kill", "pause"),
        "phase": dice.one("before", "after", "after"),
        "cluster": dice.cluster(),
        "method": dice.one("write", "POST", "PATCH", "DELETE", "GET"),
        "what": "jobs",
        "seconds": dice.seconds(2, 9),
    }


FAULTS.add("ambush", 4, _fatal_trap)(_lay)


@FAULTS.add("kill", 2, lambda d: {"who": d.dispatcher(), "seconds": d.seconds(0.1, 12)})
async def _kill(world: World, who: str, seconds: Seconds) -> None:
    """End a dispatcher; it comes back with nothing but what the clusters hold."""
    world.kill(who, seconds)


@FAULTS.add("pause", 2, lambda d: {"who": d.dispatcher(), "seconds": d.seconds(1, 12)})
async def _pause(world: World, who: str, seconds: Seconds) -> None:
    """Stop a dispatcher for a while: it wakes up and believes that no time has passed."""
    world.pause(who, seconds)


def _split(dice: Dice) -> Args:
    return {
        "who": dice.dispatcher(),
        "cluster": dice.cluster(),
        "how": dice.one("refuse", "hang"),
        "seconds": dice.one(dice.seconds(1, 9), dice.seconds(9, 40)),
    }


@FAULTS.add("part", 3, _split)
async def _part(world: World, who: str, cluster: str, how: str, seconds: Seconds) -> None:
    """Cut the network between a dispatcher and a cluster for a while."""
    _sever(world, who, cluster, how)
    await world.lasting(seconds)
    world.meddling.join(who, cluster)


def _sever(world: World, who: str, cluster: str, how: str) -> None:
    world.meddling.part(who, cluster, how)
    for stream in [*world.network.streams]:
        if (stream.exchange.who.name, stream.exchange.gate.name) == (who, cluster):
            stream.stall() if how == "hang" else stream.drop()


def _cut(dice: Dice) -> Args:
    return {"who": dice.dispatcher(), "but": dice.worker(), "seconds": dice.seconds(5, 45)}


@FAULTS.add("cut-off", 0.7, _cut)
async def _cut_off(world: World, who: str, but: str, seconds: Seconds) -> None:
    """Cut a dispatcher off from all workers but one for a while."""
    others = [worker for worker in world.workers if worker != but]
    for worker in others:
        _sever(world, who, worker, "hang")
    await world.lasting(seconds)
    for worker in others:
        world.meddling.join(who, worker)


def _window(dice: Dice) -> Args:
    long = dice.seconds(9, 45)
    return {"cluster": dice.cluster(), "seconds": dice.one(dice.seconds(1, 9), long)}


@FAULTS.add("freeze", 3, _window)
async def _freeze(world: World, cluster: str, seconds: Seconds) -> None:
    """Stop an API server as with SIGSTOP: connections stay, nothing is answered."""
    gate = world.clusters[cluster].gate
    gate.freeze()
    await world.lasting(seconds)
    gate.thaw()


@FAULTS.add("restart", 2, _window)
async def _restart(world: World, cluster: str, seconds: Seconds) -> None:
    """Stop an API server, and start it again from what it held."""
    async with world.changing(cluster) as one:
        await one.go_down()
        await world.lasting(seconds)
        await one.come_up()


@FAULTS.add("restore", 0.6, lambda d: {"cluster": d.cluster(), "seconds": d.seconds(2, 25)})
async def _restore(world: World, cluster: str, seconds: Seconds) -> None:
    """Put a cluster back to what it is now, after a while."""
    held = await world.clusters[cluster].snapshot()
    await world.lasting(seconds)
    async with world.changing(cluster) as one:
        world.note_restored(cluster)
        await one.restore(held)


@FAULTS.add("replace", 0.5, lambda d: {"worker": d.worker(), "seconds": d.seconds(0.5, 9)})
async def _replace(world: World, worker: str, seconds: Seconds) -> None:
    """Put another, empty cluster behind a worker's name."""
    async with world.changing(worker) as one:
        world.note_restored(worker)
        await one.go_down()
        await world.lasting(seconds)
        await one.restore(world.fresh(f"{worker} anew at {world.journal.now()}"))


def _skewed(dice: Dice) -> Args:
    who = dice.one("hub", *dice.workers, *dice.dispatchers)
    return {"who": who, "by": dice.one(-3600, -30, -3, 3, 30, 3600, 86400)}


@FAULTS.add("skew", 1.5, _skewed)
async def _skew(world: World, who: str, by: Seconds) -> None:
    """Set a clock wrong."""
    world.skew(who, by)


def _watch(dice: Dice) -> Args:
    return {
        "who": dice.dispatcher(),
        "cluster": dice.cluster(),
        "what": dice.one("", "jobs", "jobs", "workers", "queues", "leases"),
        "how": dice.one("end", "drop", "stall", "stall", "strand", "expire", "lapse"),
        "seconds": dice.one(dice.seconds(0.1, 4), dice.seconds(4, 30)),
    }


@FAULTS.add("watch", 4, _watch)
async def _trouble_watches(
    world: World, who: str, cluster: str, what: str, how: str, seconds: Seconds
) -> None:
    """Let watches end, break, be told that they are too old, or deliver late or never."""
    met = [each for each in world.network.streams if each.is_of(who, cluster, what)]
    for stream in met:
        if how == "end":
            stream.end_with(b"")
        elif how == "drop":
            stream.drop()
        elif how == "expire":
            stream.end_with(_EXPIRED)
        else:
            stream.stall()
    if how in ("stall", "lapse"):
        await world.lasting(seconds)
        for stream in met:
            # What was to be told meanwhile comes late, or never: it is too old by now.
            stream.end_with(_EXPIRED) if how == "lapse" else None
            stream.go_on()


_EXPIRED = (
    orjson.dumps(
        {
            "type": "ERROR",
            "object": {
                "kind": "Status",
                "apiVersion": "v1",
                "status": "Failure",
                "reason": "Expired",
                "message": "too old resource version",
                "code": 410,
            },
        }
    )
    + b"\n"
)


def _coup_of(dice: Dice) -> Args:
    return {
        "cluster": dice.one("", "", "hub"),
        "before": dice.seconds(0.5, 12),
        "after": dice.seconds(2, 12),
    }


@FAULTS.add("coup", 1, _coup_of)
async def _coup(world: World, cluster: str, before: Seconds, after: Seconds) -> None:
    """Let watches of Jobs be late for all dispatchers but the one that leads, and then kill that one."""
    leader = truth.leader(world)
    met = [
        stream
        for who in world.replicas
        if who != leader
        for name in ((cluster,) if cluster else world.clusters)
        for stream in world.network.streams
        if stream.is_of(who, name, "jobs")
    ]
    for stream in met:
        stream.stall()
    await world.lasting(before)
    if leader in world.replicas and not world.calm.is_set():
        world.kill(leader, after)
    await world.lasting(after)
    for stream in met:
        stream.go_on()


def _revoked(dice: Dice) -> Args:
    long = dice.seconds(8, 45)
    return {"worker": dice.worker(), "seconds": dice.one(dice.seconds(1, 8), long)}


@FAULTS.add("revoke", 1.5, _revoked)
async def _revoke(world: World, worker: str, seconds: Seconds) -> None:
    """Make the credentials for a worker worthless, and give new ones later."""
    await world.renew(worker, is_good=False)
    await world.lasting(seconds)
    await world.renew(worker)


def _hooked(dice: Dice) -> Args:
    return {
        "worker": dice.worker(),
        "how": dice.one("refuse", "broken", "default", "strip"),
        "seconds": dice.seconds(2, 40),
    }


@FAULTS.add("webhook", 2, _hooked)
async def _webhook(world: World, worker: str, how: str, seconds: Seconds) -> None:
    """Let a webhook on a worker refuse Jobs, fail, add to them, or strip our marks."""
    world.webhooks[worker].add(how)
    await world.lasting(seconds)
    world.webhooks[worker].discard(how)


def _there(dice: Dice) -> Args:
    return {
        "worker": dice.worker(),
        "namespace": dice.one(*prepared.TENANTS),
        "seconds": dice.seconds(2, 40),
    }


@FAULTS.add("quota", 1, _there)
async def _quota(world: World, worker: str, namespace: str, seconds: Seconds) -> None:
    """Let a quota on a worker leave no room for Jobs."""
    name = f"quota-{round(world.journal.now() * 1000)}"
    quota = {
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"hard": {"count/jobs.batch": "0"}},
    }
    async with world.client(worker) as client:
        await client.create(QUOTAS, quota)
        await world.lasting(seconds)
        await world.insist(lambda: client.delete(QUOTAS, name, namespace))


@FAULTS.add("vanish", 0.7, _there)
async def _vanish(world: World, worker: str, namespace: str, seconds: Seconds) -> None:
    """Delete a namespace on a worker, with all that is in it, and make it again later."""
    # Pods that are deleted count as failed, on any cluster.
    for mirror in truth.mirrors(world):
        if (mirror.on, mirror.marks.namespace) == (worker, namespace):
            world.tampered.add((namespace, mirror.marks.name))
    async with world.client(worker) as client:
        # One of which no answer came may yet be done, once a frozen server gets to it.
        with suppress(Unreachable):
            await client.delete(NAMESPACES, namespace)
        await world.lasting(seconds)
        await _make_again(world, client, namespace)


async def _make_again(world: World, client: Client, namespace: str) -> None:
    """Create a namespace, once the one that was deleted is gone: something in it may be held for a while."""
    while True:
        try:
            await client.create(NAMESPACES, {"metadata": {"name": namespace}})
        except Error:
            with suppress(Error):
                found = await client.get(NAMESPACES, namespace)
                if not found["metadata"].get("deletionTimestamp"):
                    return  # somebody else has made it
            await sleep(world.clock, 1.0)
        else:
            return


@FAULTS.add(
    "hold", 1.5, lambda d: {"worker": d.worker(), **d.job(), "seconds": d.seconds(2, 50)}
)
async def _hold(world: World, worker: str, namespace: str, name: str, seconds: Seconds) -> None:
    """Put a finalizer on a mirror, for a while."""
    async with world.client(worker) as client:
        patch = {"metadata": {"finalizers": [HELD]}}
        await client.patch(JOBS, name, patch, namespace=namespace, kind=PatchKind.STRATEGIC)
        await world.lasting(seconds)
        await world.let_go(client, namespace, name)
