"""Plays many histories, on all cores."""

import gc
import logging
import os
import signal
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
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
    with _deaf_to_ctrl_c():
        pool = get_context("spawn").Pool(
            processes or os.cpu_count(), initializer=_prepare, maxtasksperchild=LIVES
        )
    with pool:
        yield from pool.imap(partial(play_seed, weights=weights), seeds)


def play_seed(seed: int, weights: Mapping[str, float] | None = None) -> Outcome:
    """Play the history of a seed; of what happened only as much is kept as is looked at."""
    outcome = play(draw(seed, weights))
    return outcome if outcome.problems else replace(outcome, lines=[])


@contextmanager
def _deaf_to_ctrl_c() -> Iterator[None]:
    """Let processes that begin in the block not hear Ctrl-C: who started them ends them, and they need not complain."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _prepare() -> None:
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # not all begin in that block: some are successors
    logging.disable(logging.CRITICAL)
    prepared.warm()
    gc.freeze()
    gc.set_threshold(50_000)
