"""Misfortunes in which several things come together: each strikes at the very moment at which one of our guards is needed."""

import asyncio
from contextlib import suppress
from datetime import timedelta

from jobferry.clock import Seconds, timeout
from jobferry.kube.resources import JOBS
from jobferry.kube.wire import Answer, Request
from jobferry.testing.simulation import prepared, steps, truth
from jobferry.testing.simulation.actions import Args, Dice, Table
from jobferry.testing.simulation.meddling import Trap
from jobferry.testing.simulation.network import Exchange, WireStream
from jobferry.testing.simulation.users import USERS
from jobferry.testing.simulation.world import World

PLOTS = Table()

PATIENCE: Seconds = 30.0
"""How long the right moment is waited for."""


def _which(dice: Dice) -> Args:
    return {"number": dice.random.randrange(100), "seconds": dice.seconds(2, 12)}


def _late(world: World, worker: str) -> list[WireStream]:
    """Let all dispatchers hear late of what happens to mirrors on a worker; return their watches."""
    met = [
        stream
        for who in world.replicas
        for stream in world.network.streams
        if stream.is_of(who, worker, "/jobs")
    ]
    for stream in met:
        stream.stall()
    return met


async def _drain(world: World, worker: str, how: str) -> None:
    await USERS.run(world, "drain", {"name": worker, "spec": {"drain": how}})


def _unheard_of(dice: Dice) -> Args:
    return {
        "worker": dice.worker(),
        "is_drained": dice.one(True, False),
        "seconds": dice.seconds(2, 12),
    }


@PLOTS.add("unheard", 1, _unheard_of, latest=20.0)
async def _unheard(world: World, worker: str, is_drained: bool, seconds: Seconds) -> None:
    """Let nobody hear that a worker has made the next mirror, neither by the answer nor by a watch, for a while.

    At that moment the worker may be drained, too.
    """
    made = asyncio.Event()
    met: list[WireStream] = []

    def strike(exchange: Exchange, request: Request, answer: Answer) -> None:
        who = exchange.who.name
        is_near = exchange.gate.name == worker and who in world.replicas
        if made.is_set() or not is_near or steps.made_mirror(exchange, request, answer) is None:
            return
        made.set()
        met.extend(_late(world, worker))
        lost = Trap(effect="lost", phase="after", who=who, cluster=worker, method="POST")
        world.meddling.lay(lost)

    world.network.observers.append(strike)
    with suppress(TimeoutError):
        async with timeout(world.clock, PATIENCE):
            await made.wait()
    world.network.observers.remove(strike)
    if not made.is_set():
        return
    if is_drained:
        await _drain(world, worker, "MoveAway")
    await world.lasting(seconds)
    for stream in met:
        stream.go_on()
    if is_drained:
        await _drain(world, worker, "None")


@PLOTS.add("swap", 1, _which)
async def _swap(world: World, number: int, seconds: Seconds) -> None:
    """Put a Job of one's own in the place of a mirror and delete its Job, while dispatchers hear late of the former."""
    mirrors = [each for each in truth.mirrors(world) if each.obj["kind"] == JOBS.kind]
    if not mirrors:
        return
    mirror = mirrors[number % len(mirrors)]
    met = _late(world, mirror.on)
    try:
        namespace, name = mirror.marks.namespace, mirror.marks.name
        given = {"on": mirror.on, "namespace": namespace, "name": name, "is_gone": True}
        await USERS.run(world, "usurp", given)
        await world.lasting(seconds)
    finally:
        for stream in met:
            stream.go_on()


@PLOTS.add("forget", 1, _which)
async def _forget(world: World, number: int, seconds: Seconds) -> None:
    """Lose the record of a Job that runs on a worker which takes no new work just then."""
    running = [
        each
        for each in truth.mirrors(world)
        if each.obj["kind"] == JOBS.kind and not truth.finish(each.obj)
    ]
    if not running:
        return
    mirror = running[number % len(running)]
    await _drain(world, mirror.on, "NoNewWork")
    await world.lasting(1.0)
    given = {"namespace": mirror.marks.namespace, "name": mirror.marks.name}
    await USERS.run(world, "lose-record", given)
    await world.lasting(seconds)
    await _drain(world, mirror.on, "None")


def _stunned(dice: Dice) -> Args:
    return {"method": dice.one("GET", "PATCH"), "seconds": dice.seconds(5, 12)}


@PLOTS.add("stun", 1, _stunned, latest=30.0)
async def _stun(world: World, method: str, seconds: Seconds) -> None:
    """Stop a dispatcher for longer than it may lead just when the hub has answered it, and it is about to go on."""
    world.meddling.lay(
        Trap(
            effect="pause",
            phase="heard",
            cluster="hub",
            method=method,
            what="/jobs/",
            seconds=seconds,
        )
    )


@PLOTS.add(
    "wrong-clock",
    1,
    lambda d: {"worker": d.worker(), "by": d.one(-3600, -30, 30, 3600)},
    latest=0.0,
)
async def _wrong_clock(world: World, worker: str, by: Seconds) -> None:
    """Let the clock of a worker be wrong from the beginning: whoever meets it can know."""
    for who in world.replicas:
        world.kill(who, 0.2)
    world.clusters[worker].clock.by = timedelta(seconds=by)


def _last(dice: Dice) -> Args:
    return {
        "namespace": dice.one(*prepared.TENANTS),
        "name": f"last-{dice.random.randrange(1000)}",
        "runs": dice.one(0, 1, 4),
        "effect": dice.one("500", "504"),
    }


@PLOTS.add("last-word", 1, _last, earliest=45.0)
async def _last_word(world: World, namespace: str, name: str, runs: int, effect: str) -> None:
    """Let the write fail by which a late Job ends: nothing happens to that Job any more."""
    path = f"/{namespace}/jobs/{name}/status"
    end = '"type":"Complete"'
    world.meddling.lay(Trap(effect=effect, cluster="hub", method="PATCH", what=path, says=end))
    shape = {"runs": runs, "completions": 1, "parallelism": 1, "backoffLimit": 0}
    await USERS.run(world, "create", {"namespace": namespace, "name": name, "shape": shape})


@PLOTS.add("interregnum", 1, _which)
async def _interregnum(world: World, number: int, seconds: Seconds) -> None:
    """Delete a Job, of which nothing runs if there is such, while nobody leads."""
    leader = truth.leader(world)
    mirrors = [each for each in truth.mirrors(world) if each.obj["kind"] == JOBS.kind]
    quiet = [each for each in mirrors if truth.finish(each.obj)] or mirrors
    if leader not in world.replicas or not quiet:
        return
    world.kill(leader, 5.0 + seconds)
    await world.lasting(0.5)
    marks = quiet[number % len(quiet)].marks
    given = {"namespace": marks.namespace, "name": marks.hub_name, "how": "Background"}
    await USERS.run(world, "delete", given)
