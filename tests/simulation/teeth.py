"""Plants each bug, plays histories until one of them finds it, and writes a table of that.

python -m tests.simulation.teeth                    all bugs, on all cores; ends with the table
python -m tests.simulation.teeth lost-at-once ...   some of them
python -m tests.simulation.teeth --write            all of them, and the table into docs/simulation.md
"""

import argparse
import logging
import os
import re
import sys
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import NamedTuple

from jobferry.testing.simulation import prepared
from jobferry.testing.simulation.drawing import JOBS, draw
from jobferry.testing.simulation.playing import Outcome, play
from tests.simulation.planted import BUGS, Bug

MOST = 300
"""Histories within which each bug has to be found."""

PAGE = Path(__file__).parents[2] / "docs" / "simulation.md"
BEGIN, END = "<!-- teeth -->\n", "<!-- end of teeth -->\n"


class Bite(NamedTuple):
    """How a bug was found."""

    name: str
    histories: int
    """How many were played; 0: it was not found."""

    seconds: float
    """Of CPU time."""

    seed: int = -1
    rule: str = ""
    """The name of the rule that was broken first."""

    what: str = ""

    @property
    def bug(self) -> Bug:
        """Which one it is."""
        return BUGS[self.name]


def bite(bug: Bug, most: int = MOST) -> Bite:
    """Play histories with a bug until one fails that does not fail without it."""
    began = time.process_time()
    for seed in range(most):
        outcome = play_with(bug, seed)
        if outcome.problems and not play(outcome.history).problems:
            spent = time.process_time() - began
            return Bite(bug.name, seed + 1, spent, seed, *outcome.problems[0])
    return Bite(bug.name, 0, time.process_time() - began)


def play_with(bug: Bug, seed: int) -> Outcome:
    """Play one history with a bug."""
    prepared.warm()  # what all begin with, before anything is wrong
    with bug.plant():
        return play(draw(seed, bug.weights, jobs=bug.jobs))


def _bite(name: str, most: int) -> Bite:
    logging.disable(logging.CRITICAL)
    return bite(BUGS[name], most)


def bite_all(names: Iterable[str], most: int, jobs: int) -> Iterator[Bite]:
    """Look for several bugs at once."""
    with ProcessPoolExecutor(jobs) as pool:
        for found in as_completed([pool.submit(_bite, name, most) for name in names]):
            yield found.result()


def table(bites: Iterable[Bite]) -> str:
    """Return what was found as a table for people."""
    lines = ["| bug | found after | by | event weights |", "|---|---|---|---|"]
    for found in bites:
        after = str(found.histories) if found.histories else "never"
        raised = ", ".join(f"{name} {weight:g}" for name, weight in found.bug.weights.items())
        raised += f"; {found.bug.jobs} Jobs" if found.bug.jobs != JOBS else ""
        lines.append(
            f"| **{found.bug.name}**: {found.bug.what} | {after} | `{found.rule}` | {raised} |"
        )
    return "\n".join(lines) + "\n"


def main() -> int:
    """Look for bugs."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.teeth")
    parser.add_argument("bugs", nargs="*", default=[*BUGS])
    parser.add_argument("--most", type=int, default=MOST)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--write", action="store_true", help=f"the table into {PAGE.name}")
    given = parser.parse_args()
    bites = []
    for found in bite_all(given.bugs, given.most, given.jobs):
        bites.append(found)
        said = (
            f"seed {found.seed}: {found.rule}: {found.what[:110]}"
            if found.histories
            else "NOT FOUND"
        )
        line = f"{found.name}: {found.histories} in {found.seconds:.0f} s; {said}"
        print(line, flush=True)  # noqa: T201
    if given.write:
        write(table(sorted(bites, key=lambda each: [*BUGS].index(each.name))))
    missed = [each.name for each in bites if not each.histories]
    spent = sum(each.seconds for each in bites)
    print(f"{len(bites)} bugs, {len(missed)} not found, {spent:.0f} s of CPU time")  # noqa: T201
    return 1 if missed else 0


def write(table: str) -> None:
    """Put the table into the page about the simulation."""
    page = PAGE.read_text()
    pattern = re.compile(f"(?<={BEGIN}).*?(?={END})", re.DOTALL)
    PAGE.write_text(pattern.sub(lambda _: f"\n{table}\n", page))


if __name__ == "__main__":
    sys.exit(main())
