"""The screen of a demo, drawn on a terminal that is not there."""

import io

import pytest
from rich.console import Console

from jobferry.cli.scene import Scene
from jobferry.cli.screen import ASCII, PRETTY, Signs, screen
from tests.unit.cli.scenes import MOVE, after


def drawn(
    scene: Scene, *, signs: Signs = PRETTY, width: int = 80, height: int | None = None
) -> list[str]:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    with console.capture() as captured:
        console.print(screen(scene, 6.5, signs, width=width, height=height))
    return [line.rstrip() for line in captured.get().splitlines()]


def test_a_whole_screen() -> None:
    assert drawn(after(*MOVE[:-1])[0]) == [
        "Jobferry  a hub and 2 workers on this machine                              6.5 s",
        "",
        "CLUSTER      STATE                     RUNS",
        "hub          ● ready",
        "east         ● out of reach for 3.9 s",
        "west         ● ready                   darts",
        "",
        "JOB          RUNS ON    ATTEMPT  PROGRESS              STATE",
        "darts        west       2        ━━━━━━────────── 3/8  placed",
        "",
        "1.0 s  A hub and 2 workers are ready.",
        "1.0 s  1 of 1 new Jobs on the hub say managedBy: jobferry.io/dispatcher.",
        "1.2 s  darts is copied to east, as the first.",
        "2.5 s  kill -9 7: east is off, pods and all.",
        "2.6 s  The hub misses east: its work moves in 2 s (workerLostAfter here).",
        "4.6 s  darts moves to west as attempt 2; 3 of 8 runs are kept.",
    ]


def test_before_anything_is_ready() -> None:
    assert "west         ● starting" in drawn(after()[0])


def test_a_job_whose_worker_is_off_says_so() -> None:
    rows = drawn(after(*MOVE[:6])[0])

    assert "east         ● killed                  darts" in rows
    assert "darts        east       1        ━━━━━━────────── 3/8  its worker is off" in rows


def test_without_unicode_what_was_kept_and_what_was_done_differ() -> None:
    rows = drawn(after(*MOVE)[0], signs=ASCII)

    assert "darts        west       2        ======########## 8/8  Complete, 3 kept" in rows
    assert all(row.isascii() for row in rows)


@pytest.mark.parametrize("width", [60, 80, 200])
def test_it_fits_the_terminal(width: int) -> None:
    rows = drawn(after(*MOVE)[0], width=width)

    assert max(map(len, rows)) <= min(width, 100)
    assert [row.split()[0] for row in rows if row][:6] == [
        "Jobferry",
        "CLUSTER",
        "hub",
        "east",
        "west",
        "JOB",
    ]
    assert rows[8].startswith("darts")
    assert rows[9] == "", "a Job has one row"
    assert rows[0].endswith("6.5 s")


def test_on_a_low_terminal_the_latest_is_what_stays() -> None:
    rows = drawn(after(*MOVE)[0], height=14)

    assert len(rows) < 14
    assert rows[-1] == "6.0 s  darts is complete: 8 of 8."
    assert "1.0 s  A hub and 2 workers are ready." not in rows
