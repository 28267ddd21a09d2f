"""All that can happen in a history: each sort of event has a name, a function that does it, and one that draws it."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from random import Random
from typing import TYPE_CHECKING, Any, TypeVar

from jobferry.clock import Seconds

if TYPE_CHECKING:
    from jobferry.testing.simulation.world import World

T = TypeVar("T")

Args = Mapping[str, Any]
Run = Callable[..., Awaitable[None]]
"""Gets the world, and what was drawn by name."""


@dataclass(frozen=True, slots=True)
class Dice:
    """Draws what an event is about."""

    random: Random
    workers: Sequence[str]
    dispatchers: Sequence[str]
    jobs: Sequence[tuple[str, str]]
    """Namespaces and names."""

    def one(self, *choices: T) -> T:
        """Draw one of some."""
        return self.random.choice(choices)

    def seconds(self, least: float, most: float) -> float:
        """Draw a duration."""
        return round(self.random.uniform(least, most), 2)

    def worker(self) -> str:
        """Draw a worker."""
        return self.random.choice(self.workers)

    def dispatcher(self) -> str:
        """Draw a dispatcher."""
        return self.random.choice(self.dispatchers)

    def cluster(self) -> str:
        """Draw a cluster: the hub as often as all workers together."""
        return "hub" if self.random.random() < 0.5 else self.worker()

    def job(self) -> dict[str, str]:
        """Draw a Job."""
        namespace, name = self.random.choice(self.jobs)
        return {"namespace": namespace, "name": name}


@dataclass(frozen=True, slots=True)
class Action:
    """One sort of event."""

    name: str
    run: Run
    draw: Callable[[Dice], Args]
    weight: float
    """How often it happens, compared with the others of its table."""

    earliest: Seconds = 0.0
    latest: Seconds = inf
    """Between these it happens."""


class Table:
    """Sorts of events, by name."""

    def __init__(self) -> None:
        self.actions: dict[str, Action] = {}

    def add(
        self,
        name: str,
        weight: float,
        draw: Callable[[Dice], Args],
        *,
        earliest: Seconds = 0.0,
        latest: Seconds = inf,
    ) -> Callable[[Run], Run]:
        """Enter a function under a name."""

        def enter(run: Run) -> Run:
            self.actions[name] = Action(name, run, draw, weight, earliest, latest)
            return run

        return enter

    async def run(self, world: "World", name: str, args: Args) -> None:
        """Let something happen."""
        await self.actions[name].run(world, **args)
