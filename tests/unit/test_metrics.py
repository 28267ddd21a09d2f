import math
import re
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobferry.metrics import SECONDS, Labels, Registry

# The grammar of text format 0.0.4, as its documentation gives it.
_ESCAPED = r'"((?:[^"\\\n]|\\[\\n"])*)"'
_LABEL = rf"([a-zA-Z_][a-zA-Z0-9_]*)={_ESCAPED}"
_FLOAT = r"[+-]?(?:Inf|NaN|\d+(?:\.\d+)?(?:e[+-]?\d+)?)"
_SAMPLE = re.compile(
    rf"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{{({_LABEL}(?:,{_LABEL})*)\}})? ({_FLOAT})"
)
_HELP = re.compile(r"# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) ((?:[^\\\n]|\\[\\n])*)")
_TYPE = re.compile(r"# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) (counter|gauge|histogram)")

Read = dict[tuple[str, frozenset[tuple[str, str]]], float]


def parse(text: bytes) -> Read:
    """Read the samples as Prometheus would: of each metric the help, the type, then the samples."""
    found: Read = {}
    lines = iter(text.decode().split("\n"))
    line = next(lines)
    while line:
        head, kind = _HELP.fullmatch(line), _TYPE.fullmatch(next(lines))
        assert head is not None
        assert kind is not None
        assert head[1] == kind[1]
        line = next(lines)
        while line and not line.startswith("#"):
            name, labels, value = sample(line)
            assert re.fullmatch(rf"{kind[1]}(_bucket|_sum|_count)?", name)
            assert (name, labels) not in found
            found[name, labels] = value
            line = next(lines)
    assert list(lines) == []
    return found


def sample(line: str) -> tuple[str, frozenset[tuple[str, str]], float]:
    match = _SAMPLE.fullmatch(line)
    assert match is not None, line
    pairs = re.findall(_LABEL, match[2] or "")
    assert len(dict(pairs)) == len(pairs)
    return match[1], frozenset((key, unescaped(text)) for key, text in pairs), float(match[7])


def unescaped(text: str) -> str:
    return re.sub(r"\\(.)", lambda found: {"n": "\n"}.get(found[1], found[1]), text)


def read(registry: Registry) -> dict[str, float]:
    """Return the samples by name and labels, as a person would write them."""
    return {
        name + "".join(f" {key}={value}" for key, value in sorted(labels)): number
        for (name, labels), number in parse(registry.render()).items()
    }


@pytest.fixture
def registry() -> Registry:
    return Registry()


def test_the_format_is_what_prometheus_documents(registry: Registry) -> None:
    registry.counter("requests_total", "Requests.", "method").add("GET", by=2)
    seconds = registry.histogram("took_seconds", "Time.", bounds=(0.5, 2.0))
    for took in (0.25, 0.5, 1.0, 3.0):
        seconds.observe(took)

    assert registry.render().decode() == (
        "# HELP requests_total Requests.\n"
        "# TYPE requests_total counter\n"
        'requests_total{method="GET"} 2\n'
        "# HELP took_seconds Time.\n"
        "# TYPE took_seconds histogram\n"
        'took_seconds_bucket{le="0.5"} 2\n'
        'took_seconds_bucket{le="2"} 3\n'
        'took_seconds_bucket{le="+Inf"} 4\n'
        "took_seconds_sum 4.75\n"
        "took_seconds_count 4\n"
    )


def test_what_has_no_labels_begins_at_zero(registry: Registry) -> None:
    registry.counter("c_total", "")
    registry.gauge("g", "")
    registry.tally("t_total", "")
    registry.histogram("h", "", bounds=(1.0,))

    found = read(registry)

    assert set(found.values()) == {0.0}
    assert list(found) == ["c_total", "g", "t_total", "h_bucket le=1", "h_bucket le=+Inf", "h_sum", "h_count"]  # fmt: skip


def test_what_has_labels_begins_at_zero_where_it_is_told_to(registry: Registry) -> None:
    placements = registry.counter("placements_total", "", "worker")
    assert read(registry) == {}

    placements.add("east", by=0)
    placements.add("west")
    placements.add("west")

    assert read(registry) == {
        "placements_total worker=east": 0,
        "placements_total worker=west": 2,
    }


def test_a_gauge_is_read_when_somebody_asks(registry: Registry) -> None:
    lengths: dict[Labels, float] = {("waiting",): 3.0}
    registry.gauge("length", "", "state").read_from(lambda: lengths)
    assert read(registry) == {"length state=waiting": 3}

    lengths[("waiting",)], lengths[("delayed",)] = 1.5, -2

    assert read(registry) == {"length state=waiting": 1.5, "length state=delayed": -2}


def test_histograms_keep_series_apart(registry: Registry) -> None:
    took = registry.histogram("took", "", "cluster", bounds=(1.0,))

    took.observe(0.5, "hub")
    took.observe(7, "east")

    assert read(registry) == {
        "took_bucket cluster=hub le=1": 1,
        "took_bucket cluster=hub le=+Inf": 1,
        "took_sum cluster=hub": 0.5,
        "took_count cluster=hub": 1,
        "took_bucket cluster=east le=1": 0,
        "took_bucket cluster=east le=+Inf": 1,
        "took_sum cluster=east": 7,
        "took_count cluster=east": 1,
    }


@given(st.lists(st.floats(0, 1000)))
def test_each_bucket_counts_what_is_at_most_its_bound(values: list[float]) -> None:
    registry = Registry()
    histogram = registry.histogram("h", "")

    for value in values:
        histogram.observe(value)

    found = parse(registry.render())
    for bound in (*SECONDS, math.inf):
        name = "+Inf" if bound == math.inf else f"{bound:g}"
        expected = sum(value <= bound for value in values)
        assert found["h_bucket", frozenset({("le", name)})] == expected
    assert found["h_count", frozenset()] == len(values)
    assert found["h_sum", frozenset()] == pytest.approx(sum(values))


@given(st.text(), st.text(), st.text(), st.floats())
def test_whatever_labels_help_and_values_hold_is_read_back(
    help: str, first: str, second: str, value: float
) -> None:
    registry = Registry()
    registry.gauge("g", help, "a", "b").read_from(lambda: {(first, second): value})

    ((name, labels), number), *rest = parse(registry.render()).items()

    assert not rest
    assert (name, labels) == ("g", frozenset({("a", first), ("b", second)}))
    assert number == value or (math.isnan(number) and math.isnan(value))


def test_half_a_character_spoils_nothing_else(registry: Registry) -> None:
    registry.counter("c_total", "", "worker").add("\ud800")

    assert read(registry) == {"c_total worker=?": 1}


@pytest.mark.parametrize("name", ["", "1st", "a-b", "a b", "é", "a\n"])
def test_a_name_that_prometheus_does_not_take_is_refused(registry: Registry, name: str) -> None:
    with pytest.raises(ValueError, match="Prometheus does not take"):
        registry.counter(name, "")


@pytest.mark.parametrize("label", ["", "1st", "a-b", "a:b", "__name__", "le"])
def test_a_label_that_prometheus_does_not_take_is_refused(
    registry: Registry, label: str
) -> None:
    with pytest.raises(ValueError, match="Prometheus does not take"):
        registry.counter("a", "", label)


def test_a_name_can_be_declared_once(registry: Registry) -> None:
    registry.counter("a", "")

    with pytest.raises(ValueError, match="a: is there already"):
        registry.gauge("a", "")


@pytest.mark.parametrize("bounds", [(1.0, 1.0), (2.0, 1.0)])
def test_bounds_must_rise(registry: Registry, bounds: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="h: the bounds do not rise"):
        registry.histogram("h", "", bounds=bounds)


def wrong_labels(registry: Registry) -> Iterator[tuple[str, ...]]:
    counter = registry.counter("c", "", "worker")
    histogram = registry.histogram("h", "", "worker")
    for labels in ((), ("a", "b")):
        with pytest.raises(ValueError, match="has the labels"):
            counter.add(*labels)
        with pytest.raises(ValueError, match="has the labels"):
            histogram.observe(1.0, *labels)
        yield labels


def test_labels_that_do_not_fit_are_refused_where_they_are_given(registry: Registry) -> None:
    assert list(wrong_labels(registry)) == [(), ("a", "b")]
    assert read(registry) == {}


def test_a_counter_never_goes_down(registry: Registry) -> None:
    counter = registry.counter("c", "")

    with pytest.raises(ValueError, match="never goes down"):
        counter.add(by=-1)

    assert read(registry) == {"c": 0}
