"""What the dispatcher costs, and how fast it is, on a hub and two workers (`make bench`).

Jobs one at a time, then many at once, each beside two limits in the same run: *ideal*, a loop that does the
fewest writes any dispatcher needs and thinks nothing, and *direct*, the same Jobs created straight on the
workers. One observer watches all three clusters; every dispatcher has a process of its own.
"""

import sys
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from bench import bursts, command, contest, dispatch_report, dispatchers, jobs
from bench.bursts import Shape
from bench.command import Found, say
from bench.dispatchers import CONTENDERS, DIRECT
from bench.fleet import HUB, Fleet, fleet, kubelets
from bench.observer import Observer, observer
from jobferry.clock import Seconds
from jobferry.kube.items import Key


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How much is measured."""

    singles: int = 20
    """Jobs one at a time, in each round."""

    rounds: int = 5
    bursts: dict[Shape, int] = field(default_factory=dict)
    """How many rounds there are of each."""


FULL = Sizes(
    bursts={Shape(200, 0): 5, Shape(200, 3): 5, Shape(1_000, 0): 1, Shape(1_000, 3): 1}
)
QUICK = Sizes(singles=3, rounds=1, bursts={Shape(10, 0): 1})


class Bench:
    """Lets the contenders take turns on one fleet."""

    def __init__(self, fleet: Fleet, observer: Observer, sizes: Sizes) -> None:
        self._fleet = fleet
        self._observer = observer
        self._sizes = sizes

    async def run(self) -> Found:
        """Measure everything."""
        return {
            "singles": await self._singles(),
            "bursts": [
                {"shape": str(shape), "jobs": shape.jobs, **await self._bursts(shape, rounds)}
                for shape, rounds in self._sizes.bursts.items()
            ],
        }

    async def _singles(self) -> dict[str, dict[str, list[Seconds]]]:
        """Measure how long it takes with Jobs one at a time, of each of them."""
        those = [name for name in CONTENDERS if name != DIRECT]
        found: dict[str, dict[str, list[Seconds]]] = {
            name: {"mirrored": [], "echoes": []} for name in those
        }
        for number in range(self._sizes.rounds):
            for name in _in_turn(those, number):
                say(f"One at a time, round {number + 1} of {self._sizes.rounds}: {name}.")
                keys = await self._one_by_one(name)
                found[name]["mirrored"] += bursts.mirrored(keys, self._observer)
                found[name]["echoes"] += bursts.echoes(keys, self._observer)
        return found

    async def _one_by_one(self, contender: str) -> list[Key]:
        namespace = await bursts.new_namespace(self._fleet)
        keys = [Key(namespace, name) for name in jobs.names(self._sizes.singles + 1)]
        async with dispatchers.running(contender, self._fleet):
            for number, key in enumerate(keys, 1):
                await bursts.create([key.name], contender, 0, namespace, self._fleet)
                await self._observer.ended([HUB], namespace, number)
            await bursts.clear(namespace, contender, self._fleet, self._observer)
        return keys[1:]  # for the first, connections were opened

    async def _bursts(self, shape: Shape, rounds: int) -> Found:
        found: dict[str, list[dict[str, float]]] = {name: [] for name in CONTENDERS}
        asked: dict[str, dict[str, float]] = {}
        for number in range(rounds):
            for name in _in_turn(CONTENDERS, number):
                say(f"{shape}, round {number + 1} of {rounds}: {name}.")
                burst = await bursts.burst(name, shape, self._fleet, self._observer)
                found[name].append(dispatch_report.figures(burst, shape.jobs))
                asked[name] = dispatch_report.asked(burst.requests, shape.jobs)
        return {"rounds": found, "asked": asked}


def _in_turn(names: Sequence[str], number: int) -> list[str]:
    """Let another begin in each round."""
    first = number % len(names)
    return [*names[first:], *names[:first]]


async def measure(sizes: Sizes) -> Found:
    """Start the clusters, let the contenders take turns, and return everything there is to know."""
    async with fleet() as clusters, kubelets(clusters), observer(clusters.clients) as seen:
        found = await Bench(clusters, seen, sizes).run()
        return {"kubernetes": clusters.planes[HUB].version, **found}


def _arguments(argv: Sequence[str] | None) -> Namespace:
    parser = contest.parser("dispatch")
    return parser.parse_args(argv)


def _sizes(arguments: Namespace) -> Sizes:
    sizes = QUICK if arguments.quick else FULL
    if rounds := arguments.rounds:
        return replace(sizes, rounds=rounds, bursts=dict.fromkeys(sizes.bursts, rounds))
    return sizes


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print; fails only if something did not work, whatever the figures are."""
    arguments = _arguments(argv)
    return command.run(
        lambda: measure(_sizes(arguments)), dispatch_report.shown, arguments.json
    )


if __name__ == "__main__":
    sys.exit(main())
