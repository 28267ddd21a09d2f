"""What the dispatcher bench says: tables of figures beside the limits and the aims."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from bench import tables
from bench.audit import CONFLICT, ILLEGAL, Requests
from bench.bursts import Burst
from bench.command import Found, machine
from bench.dispatchers import DIRECT, IDEAL, JOBFERRY
from jobferry.clock import Seconds

Figures = dict[str, float]
"""What was measured of one contender, by the keys of measures."""

EVENTS = "events"
PER_JOB = ("jobs", "jobs/status", EVENTS)
"""What is asked for because of a Job; the rest is asked for however many there are."""


@dataclass(frozen=True, slots=True)
class Measure:
    """What is measured, and what it is to be."""

    key: str
    title: str
    aim: float | None = None
    is_floor: bool = False
    """Whether the aim is the least, not the most."""

    def judge(self, reached: float) -> str:
        """Show the aim, and whether it holds."""
        if self.aim is None:
            return ""
        holds = reached >= self.aim if self.is_floor else reached <= self.aim
        sign = "≥" if self.is_floor else "≤"
        return f"{sign} {self.aim:g} {'holds' if holds else 'MISSED'}"


LATENCY = (
    Measure("mirrored_p50", "create -> mirror, ms p50", 25),
    Measure("mirrored_p95", "create -> mirror, ms p95", 60),
    Measure("echo_p50", "worker Complete -> hub Complete, ms p50", 25),
    Measure("echo_p95", "worker Complete -> hub Complete, ms p95", 60),
)

BURST = (
    Measure("per_second", "Jobs per second"),
    Measure("of_ideal", "share of ideal", 0.9, is_floor=True),
    Measure("of_direct", "share of direct"),
    Measure("echo_p50", "worker Complete -> hub Complete, ms p50"),
    Measure("echo_p95", "worker Complete -> hub Complete, ms p95", 300),
    Measure("requests", "own requests per Job, Events apart", 6),
    Measure("requests_and_events", "own requests per Job", 7),
    Measure("conflicts", "answered with 409, of 100", 1),
    Measure("illegal", "answered with 422", 0),
    Measure("cpu", "CPU ms per Job", 5),
    Measure("end", "memory at the end, MB"),
    Measure("peak", "memory at most, MB", 100),
)


def latency(singles: Mapping[str, Sequence[Seconds]]) -> Figures:
    """Return what Jobs one at a time took."""
    return _percentiles("mirrored", singles["mirrored"]) | _percentiles(
        "echo", singles["echoes"]
    )


def figures(burst: Burst, jobs: int) -> Figures:
    """Return what is told of a burst; of one without a dispatcher, that is little."""
    found = {"per_second": burst.per_second}
    if burst.usage is None:
        return found
    of_jobs = asked(burst.requests, jobs)
    events = sum(each for sort, each in of_jobs.items() if sort.endswith(EVENTS))
    codes = burst.requests.codes
    return {
        **found,
        **_percentiles("echo", burst.echoes),
        "requests": sum(of_jobs.values()) - events,
        "requests_and_events": sum(of_jobs.values()),
        "conflicts": codes[CONFLICT] / codes.total() * 100,
        "illegal": codes[ILLEGAL],
        "cpu": burst.cpu / jobs * 1e3,
        "end": burst.usage.memory,
        "peak": burst.usage.peak,
    }


def asked(requests: Requests, jobs: int) -> Figures:
    """Return the requests per Job by cluster, verb and resource."""
    found: Figures = {}
    for (cluster, verb, what), number in sorted(requests.count.items()):
        if what in PER_JOB and verb not in ("list", "watch"):
            found[f"{cluster}: {verb} {what}"] = number / jobs
    return found


def shown(found: Found) -> str:
    """Show everything."""
    singles = {name: [latency(each)] for name, each in found["singles"].items()}
    count = len(found["singles"][JOBFERRY]["echoes"])
    parts = [machine(found), table(f"{count} Jobs, one at a time", LATENCY, singles)]
    for burst in found["bursts"]:
        rounds = with_shares(burst["rounds"])
        title = f"{burst['shape']} (median and range of {len(rounds[JOBFERRY])})"
        parts += [table(title, BURST, rounds), requests_table(burst["asked"])]
    return "\n\n".join(parts)


def with_shares(
    rounds: Mapping[str, Sequence[Mapping[str, float]]],
) -> dict[str, list[Figures]]:
    """Add what the contender under test reached of the limits, in each round by itself."""
    found = {name: [dict(each) for each in figures] for name, figures in rounds.items()}
    for limit in (IDEAL, DIRECT):
        for ours, theirs in zip(found[JOBFERRY], found[limit], strict=True):
            ours[f"of_{limit}"] = ours["per_second"] / theirs["per_second"]
    return found


def table(
    title: str, measures: Iterable[Measure], rounds: Mapping[str, Sequence[Figures]]
) -> str:
    """Show each measure of each contender, and whether ours reaches its aim."""
    lines = [[title, *rounds, "aim"]]
    for measure in measures:
        values = {
            name: [each[measure.key] for each in figures if measure.key in each]
            for name, figures in rounds.items()
        }
        cells = [tables.cell(each) if each else "-" for each in values.values()]
        lines.append([measure.title, *cells, measure.judge(median(values[JOBFERRY]))])
    return tables.aligned(lines)


def requests_table(asked: Mapping[str, Mapping[str, float]]) -> str:
    """Show the requests per Job of those who send any."""
    those = {name: each for name, each in asked.items() if each}
    sorts = sorted({sort for each in those.values() for sort in each})
    cells = ([tables.number(each.get(sort, 0)) for each in those.values()] for sort in sorts)
    lines = [[sort, *each] for sort, each in zip(sorts, cells, strict=True)]
    return tables.aligned([["requests per Job", *those], *lines])


def _percentiles(name: str, values: Sequence[Seconds]) -> Figures:
    return {
        f"{name}_p{share:.0f}": tables.percentile(values, share / 100) * 1e3
        for share in (50, 95)
    }
