"""How localkube and a real control plane compare at running Jobs, and whether the aims hold."""

from collections.abc import Mapping, Sequence
from statistics import median

from bench import tables

Rounds = Mapping[str, Sequence[Mapping[str, float]]]

OURS, SIMULATED, THEIRS = "localkube", "simulated", "kubernetes"

MEASURES = {
    "jobs_per_s": "Jobs per s",
    "cpu_ms": "CPU ms per Job",
    "idle_mb": "idle: MB",
    "full_mb": "with all Jobs: MB",
}

AIMS = ((OURS, 1.3, 1 / 3), (SIMULATED, 2.0, 1 / 3))
"""How many times the peer's Jobs per second, and what share of its CPU per Job."""


def table(rounds: Rounds) -> str:
    """Show every measure of all."""
    names = (OURS, SIMULATED, THEIRS)
    lines = [[f"median (range) of {len(rounds[OURS])}", *names, "ratio", "ratio"]]
    for measure, title in MEASURES.items():
        cells = [tables.cell(_values(rounds, name, measure)) for name in names]
        ratios = [f"{_ratio(rounds, name, measure):.2f}x" for name in (OURS, SIMULATED)]
        lines.append([title, *cells, *ratios])
    return tables.aligned(lines)


def verdicts(rounds: Rounds) -> list[str]:
    """Judge the aims."""
    found = []
    for name, faster, cheaper in AIMS:
        speed, cost = (_ratio(rounds, name, measure) for measure in ("jobs_per_s", "cpu_ms"))
        found += [
            f"{name}: Jobs per s, at least {faster:.2g} of {THEIRS}: {speed:.2f}, {_word(speed >= faster)}",
            f"{name}: CPU per Job, at most {cheaper:.2g} of {THEIRS}: {cost:.2f}, {_word(cost <= cheaper)}",
        ]
    return found


def _ratio(rounds: Rounds, name: str, measure: str) -> float:
    return median(_values(rounds, name, measure)) / median(_values(rounds, THEIRS, measure))


def _word(holds: bool) -> str:
    return "holds" if holds else "MISSED"


def _values(rounds: Rounds, name: str, measure: str) -> list[float]:
    return [figures[measure] for figures in rounds[name]]
