"""Counts and measures what a program does, for Prometheus to read (text format 0.0.4).

    registry = Registry()
    placements = registry.counter("jobferry_placements_total", "Placements written.", "worker")
    placements.add("east")
    registry.render()

What others count anyway is not counted twice: a gauge or a tally reads it when somebody asks.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from math import inf, isnan
from typing import NamedTuple, Protocol, TypeVar

from jobferry.clock import Seconds

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

SECONDS: tuple[Seconds, ...] = (
    *(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5),
    *(1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0),
)
"""The upper bounds of buckets for what takes milliseconds when all is well, and minutes when not."""

Labels = tuple[str, ...]
"""The values of a metric's labels, in the order of their names."""

_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_LABEL = re.compile(r"(?!__|le$)[a-zA-Z_][a-zA-Z0-9_]*")


@dataclass(frozen=True, slots=True)
class Title:
    """What a metric is called, and what it tells."""

    kind: str
    name: str
    help: str
    labels: Labels

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name) or not all(map(_LABEL.fullmatch, self.labels)):
            raise ValueError(f"{self.name}: Prometheus does not take this name, or its labels")

    def check(self, labels: Labels) -> None:
        """Refuse values that are too few or too many."""
        if len(labels) != len(self.labels):
            raise ValueError(f"{self.name}: has the labels {self.labels}, not {labels}")


class Sample(NamedTuple):
    """One number of a metric."""

    suffix: str
    labels: Labels
    value: float
    bound: str = ""
    """Of a bucket: the most that is counted in it."""


class Metric(Protocol):
    """What a registry renders."""

    @property
    def title(self) -> Title:
        """What it is called."""
        ...

    def samples(self) -> Iterator[Sample]:
        """Return its numbers as they are now."""
        ...


class Counter:
    """Only ever grows; without labels it begins at 0, and with them where `add` is first called."""

    def __init__(self, title: Title) -> None:
        self.title = title
        self._values: dict[Labels, float] = {} if title.labels else {(): 0.0}

    def add(self, *labels: str, by: float = 1.0) -> None:
        """Count one more, or several; none at all makes it begin at 0."""
        self.title.check(labels)
        if by < 0:
            raise ValueError(f"{self.title.name}: a counter never goes down")
        self._values[labels] = self._values.get(labels, 0.0) + by

    def samples(self) -> Iterator[Sample]:
        """Return the counts as they are now."""
        return (Sample("", labels, value) for labels, value in self._values.items())


class Histogram:
    """Says how many of the values observed were at most so large, for a few sizes."""

    def __init__(self, title: Title, bounds: tuple[float, ...]) -> None:
        if list(bounds) != sorted(set(bounds)):
            raise ValueError(f"{title.name}: the bounds do not rise")
        self.title = title
        self._bounds = bounds
        self._names = (*map(_number, bounds), "+Inf")
        self._series: dict[Labels, _Series] = {}
        if not title.labels:
            self._series[()] = _Series(len(self._names))

    def observe(self, value: float, *labels: str) -> None:
        """Take in one value."""
        series = self._series.get(labels)
        if series is None:
            self.title.check(labels)
            series = self._series[labels] = _Series(len(self._names))
        series.counts[bisect_left(self._bounds, value)] += 1
        series.sum += value

    def samples(self) -> Iterator[Sample]:
        """Return each bucket, which counts what is in the smaller ones too, the sum and the count."""
        for labels, series in self._series.items():
            for name, count in zip(self._names, accumulate(series.counts), strict=True):
                yield Sample("_bucket", labels, count, name)
            yield Sample("_sum", labels, series.sum)
            yield Sample("_count", labels, sum(series.counts))


class _Series:
    """The values observed under the same labels."""

    def __init__(self, buckets: int) -> None:
        self.counts = [0] * buckets
        self.sum = 0.0


class Reading:
    """Numbers that are kept elsewhere, and read whenever somebody asks; before that, all are 0."""

    def __init__(self, title: Title) -> None:
        self.title = title
        self._read: Callable[[], Mapping[Labels, float]] = lambda: (
            {} if title.labels else {(): 0.0}
        )

    def read_from(self, read: Callable[[], Mapping[Labels, float]]) -> None:
        """Say where they are kept."""
        self._read = read

    def samples(self) -> Iterator[Sample]:
        """Read the numbers."""
        for labels, value in self._read().items():
            self.title.check(labels)
            yield Sample("", labels, value)


M = TypeVar("M", bound=Metric)


class Registry:
    """The metrics of a program."""

    def __init__(self) -> None:
        self._metrics: dict[str, Metric] = {}

    def counter(self, name: str, help: str, *labels: str) -> Counter:
        """Declare a counter."""
        return self._added(Counter(Title("counter", name, help, labels)))

    def tally(self, name: str, help: str, *labels: str) -> Reading:
        """Declare what is counted elsewhere."""
        return self._added(Reading(Title("counter", name, help, labels)))

    def gauge(self, name: str, help: str, *labels: str) -> Reading:
        """Declare what goes up and down."""
        return self._added(Reading(Title("gauge", name, help, labels)))

    def histogram(
        self, name: str, help: str, *labels: str, bounds: tuple[float, ...] = SECONDS
    ) -> Histogram:
        """Declare what has a size, by default a duration."""
        return self._added(Histogram(Title("histogram", name, help, labels), bounds))

    def render(self) -> bytes:
        """Write all of them as Prometheus reads them."""
        lines = (line for metric in self._metrics.values() for line in _lines(metric))
        return "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")

    def _added(self, metric: M) -> M:
        name = metric.title.name
        if name in self._metrics:
            raise ValueError(f"{name}: is there already")
        self._metrics[name] = metric
        return metric


def _lines(metric: Metric) -> Iterator[str]:
    title = metric.title
    yield f"# HELP {title.name} {_escaped(title.help)}"
    yield f"# TYPE {title.name} {title.kind}"
    for sample in metric.samples():
        pairs = [*zip(title.labels, sample.labels, strict=True)]
        if sample.bound:
            pairs.append(("le", sample.bound))
        text = ",".join(f'{name}="{_quoted(value)}"' for name, value in pairs)
        labels = f"{{{text}}}" if text else ""
        yield f"{title.name}{sample.suffix}{labels} {_number(sample.value)}"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n")


def _quoted(text: str) -> str:
    return _escaped(text).replace('"', r"\"")


def _number(value: float) -> str:
    if isnan(value):
        return "NaN"
    if value in (inf, -inf):
        return "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if value == int(value) else repr(float(value))
