"""What the measurements say: medians, how they compare with a peer, whether the aims hold."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from bench import tables

Rounds = Mapping[str, Sequence[Mapping[str, float]]]
"""What was measured of each contender in each round."""

SUBJECT = "jobferry"
PEER = "lightkube"
"""Whom ratios and aims refer to."""

MEASURES = {
    "list_cpu_us": "list: CPU µs per Job",
    "watch_cpu_us": "watch: CPU µs per update that comes alone",
    "replay_cpu_us": "watch: CPU µs per update of many",
    "list_kept_kb": "kept after the list: KB per Job",
    "watch_kept_kb": "kept after the watch: KB per Job",
    "patch_cpu_ms": "patch: CPU ms each",
}


@dataclass(frozen=True, slots=True)
class Aim:
    """What one measure of ours is to be at most."""

    measure: str
    at_most: float
    is_ratio: bool
    """Whether it is a share of the peer's."""

    def __str__(self) -> str:
        limit = f"{self.at_most:g}" + (f" of {PEER}" if self.is_ratio else "")
        return f"{MEASURES[self.measure]}, at most {limit}"


AIMS = (
    Aim("list_cpu_us", 0.25, is_ratio=True),
    Aim("watch_cpu_us", 0.25, is_ratio=True),
    Aim("replay_cpu_us", 0.25, is_ratio=True),
    Aim("list_kept_kb", 0.5, is_ratio=True),
    Aim("watch_kept_kb", 0.5, is_ratio=True),
    Aim("patch_cpu_ms", 0.4, is_ratio=False),
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether an aim holds, and by how much."""

    aim: Aim
    reached: float

    @property
    def holds(self) -> bool:
        """Whether it was reached."""
        return self.reached <= self.aim.at_most

    def __str__(self) -> str:
        return f"{self.aim}: {self.reached:.2f}, {'holds' if self.holds else 'MISSED'}"


def medians(rounds: Rounds) -> dict[str, dict[str, float]]:
    """Return the median of each measure of each contender."""
    return {
        contender: {measure: median(_values(figures, measure)) for measure in MEASURES}
        for contender, figures in rounds.items()
    }


def verdicts(rounds: Rounds) -> list[Verdict]:
    """Judge the aims; those that refer to a peer which did not run are left out."""
    middle = medians(rounds)
    if SUBJECT not in middle:
        return []
    found = []
    for aim in AIMS:
        reached = middle[SUBJECT][aim.measure]
        if not aim.is_ratio:
            found.append(Verdict(aim, reached))
        elif PEER in middle:
            found.append(Verdict(aim, reached / middle[PEER][aim.measure]))
    return found


def table(rounds: Rounds) -> str:
    """Show the median of each measure, the lowest and the highest, and the share of the peer's."""
    middle = medians(rounds)
    count = max(map(len, rounds.values()))
    lines = [[f"median (range) of {count} rounds", *rounds]]
    for measure, title in MEASURES.items():
        cells = [tables.cell(_values(figures, measure)) for figures in rounds.values()]
        if PEER in middle:
            shares = (figures[measure] / middle[PEER][measure] for figures in middle.values())
            cells = [
                f"{cell}  {share:5.2f}x" for cell, share in zip(cells, shares, strict=True)
            ]
        lines.append([title, *cells])
    return tables.aligned(lines)


def _values(figures: Sequence[Mapping[str, float]], measure: str) -> list[float]:
    return [figure[measure] for figure in figures]
