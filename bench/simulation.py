"""How fast histories are played on one core, and what takes the time: `python -m bench.simulation`."""

import argparse
import cProfile
import gc
import logging
import pstats
import time
from pathlib import Path

from jobferry.testing.simulation import prepared
from jobferry.testing.simulation.drawing import draw
from jobferry.testing.simulation.playing import Outcome, play

HISTORIES = 20
WARM = 3
"""Histories that are played before: what is compiled at first use is not to be measured."""

PROFILED = 5
LARGEST = 3

PARTS = (
    ("the API servers", "localkube/apiserver"),
    ("controllers and simulated pods", "localkube/controllers"),
    ("controllers and simulated pods", "localkube/runner"),
    ("clients, informers, Leases", "jobferry/kube"),
    ("dispatchers", "jobferry/dispatch"),
    ("dispatchers", "jobferry/workers"),
    ("dispatchers", "jobferry/core"),
    ("dispatchers", "jobferry/kinds"),
    ("dispatchers", "jobferry/runtime"),
    ("objects, patches, selectors", "jobferry/objects"),
    ("the network and the rules of the simulation", "testing/simulation"),
    ("asyncio", "asyncio"),
)


def main() -> None:
    """Measure, and print what came out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--histories", type=int, default=HISTORIES)
    given = parser.parse_args()
    logging.disable(logging.CRITICAL)
    prepared.warm()
    for seed in range(WARM):
        play(draw(seed))
    gc.freeze()
    gc.set_threshold(50_000)
    began = time.process_time()
    outcomes = [play(draw(seed)) for seed in range(WARM, WARM + given.histories)]
    _report(outcomes, time.process_time() - began)
    _profile()


def _report(outcomes: list[Outcome], seconds: float) -> None:
    count = len(outcomes)
    lasted = sum(each.lasted for each in outcomes)
    requests = sum(each.requests for each in outcomes)
    print(f"{count} histories in {seconds:.1f} s of CPU: {count / seconds:.2f} histories/s")
    print(
        f"{lasted / seconds:.0f} virtual seconds per second, {requests / seconds:.0f} requests/s"
    )
    print(f"{sum(bool(each.problems) for each in outcomes)} failed")


def _profile() -> None:
    """Tell which parts take most of the time."""
    profile = cProfile.Profile(time.process_time)
    profile.enable()
    for seed in range(PROFILED):
        play(draw(seed))
    profile.disable()
    times: dict[str, float] = {}
    for (file, _, name), row in pstats.Stats(profile).stats.items():  # type: ignore[attr-defined]
        part = _part(file, name)
        times[part] = times.get(part, 0.0) + row[2]
    whole = sum(times.values())
    largest = sorted(times.items(), key=lambda each: -each[1])
    for part, seconds in largest[:LARGEST]:
        print(f"{seconds / whole:6.0%}  {part}")


def _part(file: str, name: str) -> str:
    for part, where in PARTS:
        if where in file:
            return part
    return name if file == "~" else Path(file).name


if __name__ == "__main__":
    main()
