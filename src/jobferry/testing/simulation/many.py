"""Plays many histories, on all cores."""

import gc
import logging
import os
from collections.abc import Iterable, Iterator, Mapping
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
    # Not an executor: with `max_tasks_per_child` it waits for ever once all its processes have ended (gh-115634).
    with get_context("spawn").Pool(
        processes or os.cpu_count(), initializer=_prepare, maxtasksperchild=LIVES
    ) as pool:
        yield from pool.imap(partial(play_seed, weights=weights), seeds)


def play_seed(seed: int, weights: Mapping[str, float] | None = None) -> Outcome:
    """Play the history of a seed; of what happened only as much is kept as is looked at."""
    outcome = play(draw(seed, weights))
    return outcome if outcome.problems else replace(outcome, lines=[])


def _prepare() -> None:
    logging.disable(logging.CRITICAL)
    prepared.warm()
    gc.freeze()
    gc.set_threshold(50_000)
