"""Draws a history from a seed."""

from collections.abc import Mapping
from dataclasses import replace
from random import Random

from jobferry.testing.simulation.actions import Action, Dice
from jobferry.testing.simulation.events import Event, History
from jobferry.testing.simulation.faults import FAULTS
from jobferry.testing.simulation.plots import PLOTS
from jobferry.testing.simulation.prepared import TENANTS
from jobferry.testing.simulation.set_users import SETS
from jobferry.testing.simulation.users import USERS

JOBS = 12
TROUBLE = 60.0
"""Seconds within which all is drawn to happen."""


def draw(seed: int, weights: Mapping[str, float] | None = None, *, jobs: int = JOBS) -> History:
    """Draw a history; `weights` says of some events how often they are to happen, beside the others."""
    random = Random(f"history {seed}")  # noqa: S311 (has to come out the same each time)
    workers, dispatchers = random.choice((1, 2, 2, 3, 4)), random.choice((1, 1, 2, 3))
    dice = Dice(
        random,
        [f"w{number}" for number in range(1, workers + 1)],
        [f"d{number}" for number in range(1, dispatchers + 1)],
        [(random.choice(TENANTS), f"job-{number}") for number in range(jobs)],
    )
    events = [
        _event(USERS.actions["create"], dice, {"namespace": namespace, "name": name})
        for namespace, name in dice.jobs
    ]
    for table, most in ((FAULTS, 14), (USERS, 16), (PLOTS, 2)):
        actions = [*table.actions.values()]
        given = [(weights or {}).get(each.name, each.weight) for each in actions]
        count = random.randint(0, most)
        events += [_event(each, dice) for each in random.choices(actions, given, k=count)]
    events += _sets(dice, weights or {})
    return History(seed, workers, dispatchers, tuple(sorted(events, key=lambda each: each.at)))


def _sets(dice: Dice, weights: Mapping[str, float]) -> list[Event]:
    """Draw what happens to JobSets; most histories have none, since each is a Job or two more."""
    random = dice.random
    count = 2 if weights.keys() & SETS.actions.keys() else random.choice((0, 0, 0, 1, 2))
    if not count:
        return []
    names = [(random.choice(TENANTS), f"set-{number}") for number in range(count)]
    own = replace(dice, jobs=names)
    events = [
        _event(SETS.actions["create-set"], own, {"namespace": namespace, "name": name})
        for namespace, name in names
    ]
    actions = [*SETS.actions.values()]
    given = [weights.get(each.name, each.weight) for each in actions]
    drawn = random.choices(actions, given, k=random.randint(0, 3))
    return [*events, *(_event(each, own) for each in drawn)]


def _event(action: Action, dice: Dice, given: Mapping[str, str] | None = None) -> Event:
    # Each has numbers of its own: what is drawn for one more does not alter the others.
    own = Dice(Random(dice.random.random()), dice.workers, dice.dispatchers, dice.jobs)  # noqa: S311
    at = own.seconds(action.earliest, min(TROUBLE, action.latest))
    if given is not None:
        at = own.one(0.0, own.seconds(0, 2), own.seconds(0, TROUBLE * 0.7))
    return Event(at, action.name, {**action.draw(own), **(given or {})})
