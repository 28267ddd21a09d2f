"""Histories in virtual time: some of each sort here; `.ci/run` and `make soak` play many more."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from jobferry.testing.simulation.drawing import draw
from jobferry.testing.simulation.events import History
from jobferry.testing.simulation.playing import Outcome, play
from jobferry.testing.simulation.reading import read
from tests import needs

pytestmark = pytest.mark.timeout(300)  # a history takes two seconds, but machines can be busy

SEEDS = range(1000, 1020)
TWICE = 30 if needs.SOAK else 3
"""How many histories are played in two processes, which must not differ."""

FOUND = sorted(Path(__file__).with_name("histories").glob("*.txt"))
"""Those that once broke a rule, shortened: a file more is a test more."""


def check(outcome: Outcome) -> None:
    """Fail with what happened, if anything broke."""
    told = "\n".join(line[:300] for line in outcome.lines)
    assert not outcome.problems, f"{told}\n{outcome.problems}\n{outcome.history}"


@pytest.mark.parametrize("seed", SEEDS)
def test_all_is_well_in_the_end_whatever_went_wrong(seed: int) -> None:
    check(play(draw(seed)))


@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.stem)
def test_what_broke_once_holds(path: Path) -> None:
    check(play(read(path.read_text())))


@pytest.mark.timeout(900)
def test_a_history_is_the_same_in_every_process() -> None:
    processes = [_hashing(seed) for seed in ("1", "2")]
    first, second = (process.communicate()[0] for process in processes)

    assert first.count("\n") == TWICE
    assert first == second


def _hashing(hash_seed: str) -> subprocess.Popen[str]:
    command = [
        sys.executable,
        "-m",
        "jobferry.testing.simulation",
        "--hashes",
        f"0-{TWICE - 1}",
    ]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
    )


def test_a_history_can_be_written_and_read() -> None:
    history = draw(5)

    assert History.parse(f"# found today\n\n{history}\n") == history
