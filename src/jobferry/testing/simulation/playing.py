"""Plays a history to its end, and tells what broke."""

from contextlib import AsyncExitStack
from dataclasses import dataclass, field

from jobferry.clock import Seconds, sleep
from jobferry.errors import Error
from jobferry.objects import Obj
from jobferry.runtime import supervise
from jobferry.testing.simulation import (
    ends,
    loop,
    prepared,
    promises,
    silence,
    steps,
    truth,
)
from jobferry.testing.simulation.calming import calm_down
from jobferry.testing.simulation.clocks import SimulatedClock
from jobferry.testing.simulation.events import Event, History
from jobferry.testing.simulation.faults import FAULTS
from jobferry.testing.simulation.guesses import Guesses
from jobferry.testing.simulation.plots import PLOTS
from jobferry.testing.simulation.problems import Problem
from jobferry.testing.simulation.set_users import SETS
from jobferry.testing.simulation.timeline import logged
from jobferry.testing.simulation.users import USERS
from jobferry.testing.simulation.world import World

READY: Seconds = 1.0
"""How long the fleet has before anything happens."""

TROUBLE: Seconds = 70.0
"""When everything that goes wrong is over."""

SETTLE: Seconds = 170.0
"""Within which all must be well after that: a watch on a dead connection is given up after 75 s."""

LOOK: Seconds = 2.0

ACTIONS = {**FAULTS.actions, **USERS.actions, **PLOTS.actions, **SETS.actions}


@dataclass(slots=True)
class Outcome:
    """What came of a history."""

    history: History
    problems: list[Problem] = field(default_factory=list)
    """What broke; empty: all is well."""

    digest: str = ""
    """The same for the same history."""

    lasted: Seconds = 0.0
    """In virtual time."""

    requests: int = 0
    jobs: list[Obj] = field(default_factory=list)
    """The delegated Jobs on the hub as they were in the end."""

    lines: list[str] = field(default_factory=list)
    """What happened, for people."""


def play(history: History, *, with_log: bool = False) -> Outcome:
    """Play a history, in a time of its own."""
    has_sets = any(event.name in SETS.actions for event in history.events)
    prepared.contents("hub", with_job_sets=has_sets)
    outcome = Outcome(history)
    try:
        loop.run(_play(history, outcome, has_sets=has_sets, with_log=with_log))
    except (loop.Spinning, loop.Stuck) as error:
        outcome.problems.append(Problem(type(error).__name__, str(error)))
    return outcome


async def _play(history: History, outcome: Outcome, *, has_sets: bool, with_log: bool) -> None:
    clock = SimulatedClock()
    async with AsyncExitStack() as stack:
        tasks = await stack.enter_async_context(supervise.tasks("simulation", clock=clock))
        world = World(
            history.seed,
            workers=history.workers,
            dispatchers=history.dispatchers,
            tasks=tasks,
            has_job_sets=has_sets,
        )

        def complain(problem: Problem) -> None:
            world.journal.say(f"BROKEN {problem}")
            outcome.problems.append(problem)

        steps.watch(world, complain)
        steps.watch(world, complain, (*promises.RULES, Guesses))
        outcome.lines = world.journal.lines
        if with_log:
            stack.enter_context(logged(world.journal))
        try:
            await world.start()
            await sleep(clock, READY)
            await _happen(world, history, tasks)
            await calm_down(world)
            await _settle(world, outcome)
        finally:
            outcome.digest = world.journal.digest
            outcome.lasted = world.journal.now()
            outcome.requests = world.journal.requests
            outcome.jobs = truth.claimed(world)
            await world.stop()


async def _happen(world: World, history: History, tasks: supervise.Supervisor) -> None:
    """Let everything happen at its time."""
    began = world.clock.monotonic()
    for event in sorted(history.events, key=lambda each: each.at):
        await sleep(world.clock, began + event.at - world.clock.monotonic())
        tasks.start(str(event), _one(world, event))
    await sleep(world.clock, began + TROUBLE - world.clock.monotonic())


def _one(world: World, event: Event) -> supervise.Run:
    async def run() -> None:
        world.journal.say(f"* {event.name} {dict(event.args)}")
        try:
            await ACTIONS[event.name].run(world, **event.args)
        except Error as error:
            world.journal.say(f"  {event.name}: {error}")

    return run


async def _settle(world: World, outcome: Outcome) -> None:
    """Wait until all is well, and then see that it is quiet, and still well."""
    await _until_well(world, outcome)
    if not outcome.problems:
        outcome.problems += await silence.listen(world)
        await _until_well(world, outcome)


async def _until_well(world: World, outcome: Outcome) -> None:
    until = world.clock.monotonic() + SETTLE
    while found := ends.problems(world):
        if world.clock.monotonic() > until or outcome.problems:
            outcome.problems += found
            return
        await sleep(world.clock, LOOK)
