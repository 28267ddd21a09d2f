"""Contests: the same is asked of several, in turn, for several rounds."""

from argparse import ArgumentParser
from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path

from bench import command
from bench.command import Found, say
from jobferry.testing import assets

Figures = dict[str, float]

Rounds = dict[str, list[Figures]]
"""What was found out about each contender, in each round."""


def parser(name: str) -> ArgumentParser:
    """Return what reads the options that every contest has."""
    parser = ArgumentParser(prog=f"bench.{name}")
    add = parser.add_argument
    add("--quick", action="store_true", help="small sizes, one round: does it work at all")
    add("--rounds", type=int, metavar="N", help="how often each contender is measured")
    add("--json", type=Path, metavar="FILE", help="write every figure there")
    return parser


async def hold(
    names: Iterable[str], rounds: int, measure: Callable[[str], Awaitable[Figures]]
) -> Found:
    """Measure all in every round, in turn forwards and backwards."""
    order = list(names)
    found: Rounds = {name: [] for name in order}
    for number in range(rounds):
        for name in order if number % 2 == 0 else reversed(order):
            say(f"Round {number + 1} of {rounds}: {name}.")
            found[name].append(await measure(name))
    return {"kubernetes": assets.CURRENT, "rounds": found}


def shown(found: Found, what: str, table: str, verdicts: Sequence[str]) -> str:
    """Show what came of a contest: where it was held, about what, and how it went."""
    return "\n".join([command.machine(found), what, "", table, "", *verdicts])
