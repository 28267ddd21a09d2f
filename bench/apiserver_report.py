"""How localkube and kube-apiserver compare, and whether the aims hold."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from bench import tables
from jobferry.testing import assets

Rounds = Mapping[str, Sequence[Mapping[str, float]]]

OURS, THEIRS = assets.LOCALKUBE, assets.CURRENT

MEASURES = {
    "ready_s": "start until ready: s",
    "idle_mb": "idle: MB",
    "full_mb": "with all Jobs: MB",
    "create_cpu_us": "create: CPU µs each",
    "create_per_s": "create: per s",
    "patch_cpu_us": "status patch: CPU µs each",
    "patch_per_s": "status patch: per s",
    "get_cpu_us": "get: CPU µs each",
    "get_per_s": "get: per s",
    "list_cpu_us": "list: CPU µs per Job",
    "list_per_s": "list: Jobs per s",
    "fan_out_cpu_us": "fan-out: CPU µs per delivery",
    "fan_out_p50_ms": "fan-out: ms after the answer, p50",
    "fan_out_p95_ms": "fan-out: ms after the answer, p95",
}


@dataclass(frozen=True, slots=True)
class Aim:
    """What one measure of ours is to be at most; as a share of theirs if `is_ratio`."""

    measure: str
    at_most: float
    is_ratio: bool = False


AIMS = (
    Aim("ready_s", 0.5),
    Aim("idle_mb", 60),
    Aim("create_cpu_us", 1 / 3, is_ratio=True),
    Aim("patch_cpu_us", 1 / 3, is_ratio=True),
    Aim("list_cpu_us", 1.0, is_ratio=True),
    Aim("fan_out_cpu_us", 1.0, is_ratio=True),
)


def table(rounds: Rounds) -> str:
    """Show every measure of both."""
    count = len(rounds[OURS])
    lines = [[f"median (range) of {count}", OURS, THEIRS, "ratio"]]
    for measure, title in MEASURES.items():
        ours, theirs = (_values(rounds, name, measure) for name in (OURS, THEIRS))
        # Watchers may hear of a write before its writer does: then there is no ratio.
        is_ratio = median(ours) > 0 and median(theirs) > 0
        ratio = f"{median(ours) / median(theirs):.2f}x" if is_ratio else ""
        lines.append([title, tables.cell(ours), tables.cell(theirs), ratio])
    return tables.aligned(lines)


def verdicts(rounds: Rounds) -> list[str]:
    """Judge the aims."""
    found = []
    for aim in AIMS:
        reached = median(_values(rounds, OURS, aim.measure))
        if aim.is_ratio:
            theirs = median(_values(rounds, THEIRS, aim.measure))
            if (
                theirs <= 0
            ):  # less than the clock of the CPU can tell: it was measured too shortly
                found.append(f"{MEASURES[aim.measure]}: too little was done to tell")
                continue
            reached /= theirs
        limit = f"{aim.at_most:.2g}" + (f" of {THEIRS}" if aim.is_ratio else "")
        holds = "holds" if reached <= aim.at_most else "MISSED"
        found.append(f"{MEASURES[aim.measure]}, at most {limit}: {reached:.2f}, {holds}")
    return found


def _values(rounds: Rounds, name: str, measure: str) -> list[float]:
    return [figures[measure] for figures in rounds[name]]
