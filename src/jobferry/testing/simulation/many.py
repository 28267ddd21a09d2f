"""Plays many histories, on all cores."""

import gc
import logging
import os
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from multiprocessing import get_context

from jobferry.testing.simulation import prepared
from jobferry.testing.simulation.drawing import draw
from jobferry.testing.simulation.playing import Outcome, play

LIVES = 50
"""Histories that one process plays: memory that is lost somewhere is found again."""


def play_many(
    seeds: Iterable[int],
    *,
    weights: Mapping[str, float] | None = None,
    processes: int | None = None,
) -> Iterator[Outcome]:
    """Play the histories of these seeds; what comes of each comes in the order of the seeds."""
    with ProcessPoolExecutor(
        processes or os.cpu_count(),
        mp_context=get_context("spawn"),
        initializer=_prepare,
        max_tasks_per_child=LIVES,
    ) as pool:
        yield from pool.map(partial(play_seed, weights=weights), seeds)


def play_seed(seed: int, weights: Mapping[str, float] | None = None) -> Outcome:
    """Play the history of a seed; of what happened only as much is kept as is looked at."""
    outcome = play(draw(seed, weights))
    return outcome if outcome.problems else replace(outcome, lines=[])


def _prepare() -> None:
    logging.disable(logging.CRITICAL)
    prepared.contents("hub")
    gc.freeze()
    gc.set_threshold(50_000)
