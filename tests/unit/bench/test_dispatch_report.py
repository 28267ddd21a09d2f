"""What the dispatcher bench says about figures; how they are measured is not tested here."""

from collections import Counter
from dataclasses import replace

import pytest

from bench import dispatch_report
from bench.audit import Asked, Requests
from bench.bursts import Burst
from bench.dispatch_report import Measure
from bench.processes import Usage

REQUESTS = Requests(
    Counter(
        {
            Asked("hub", "patch", "jobs/status"): 30,
            Asked("hub", "create", "events"): 10,
            Asked("hub", "watch", "jobs"): 1,
            Asked("hub", "patch", "leases"): 7,
            Asked("east", "create", "jobs"): 10,
        }
    ),
    Counter({200: 56, 409: 2, 422: 0}),
)
BURST = Burst(
    per_second=20.0,
    echoes=[0.01, 0.02, 0.03],
    mirrored=[0.01, 0.01, 0.01],
    requests=REQUESTS,
    cpu=0.04,
    usage=Usage(1.0, 40.0, 50.0),
)


def test_requests_are_counted_per_job_with_and_without_events() -> None:
    figures = dispatch_report.figures(BURST, 10)

    assert (figures["requests"], figures["requests_and_events"]) == (4, 5)
    assert figures["cpu"] == pytest.approx(4.0)
    assert figures["echo_p95"] == 30
    assert figures["conflicts"] == pytest.approx(2 / 58 * 100)


def test_what_is_asked_for_however_many_jobs_there_are_is_left_out() -> None:
    assert dispatch_report.asked(REQUESTS, 10) == {
        "east: create jobs": 1,
        "hub: create events": 1,
        "hub: patch jobs/status": 3,
    }


def test_a_burst_without_a_dispatcher_has_a_rate_only() -> None:
    assert dispatch_report.figures(replace(BURST, usage=None), 10) == {"per_second": 20.0}


def test_shares_are_of_the_limits_of_the_same_round() -> None:
    rates = {"jobferry": [9, 30], "ideal": [10, 20], "direct": [18, 60]}
    rounds = {name: [{"per_second": each} for each in some] for name, some in rates.items()}

    found = dispatch_report.with_shares(rounds)["jobferry"]

    assert [each["of_ideal"] for each in found] == [0.9, 1.5]
    assert [each["of_direct"] for each in found] == [0.5, 0.5]


@pytest.mark.parametrize(
    ("measure", "verdict"),
    [
        (Measure("a", "A"), ""),
        (Measure("a", "A", 5), "≤ 5 holds"),
        (Measure("a", "A", 4), "≤ 4 MISSED"),
        (Measure("a", "A", 5, is_floor=True), "≥ 5 holds"),
        (Measure("a", "A", 6, is_floor=True), "≥ 6 MISSED"),
    ],
)
def test_an_aim_is_a_ceiling_or_a_floor(measure: Measure, verdict: str) -> None:
    assert measure.judge(5) == verdict


def test_the_table_judges_the_median_of_ours_and_leaves_open_what_others_lack() -> None:
    rounds = {"jobferry": [{"a": 1.0}, {"a": 3.0}, {"a": 2.0}], "direct": [{"b": 1.0}]}

    table = dispatch_report.table("Title", [Measure("a", "A", 2)], rounds)

    assert [line.split() for line in table.splitlines()] == [
        ["Title", "jobferry", "direct", "aim"],
        ["A", "2", "(1-3)", "-", "≤", "2", "holds"],
    ]


def test_requests_that_only_some_send_are_shown_as_none_of_the_others() -> None:
    asked = {
        "jobferry": {"hub: get jobs": 1.0},
        "ideal": {"hub: patch jobs": 3.0},
        "direct": {},
    }

    lines = [line.split() for line in dispatch_report.requests_table(asked).splitlines()]

    assert lines[0][-2:] == ["jobferry", "ideal"]
    assert [line[-2:] for line in lines[1:]] == [["1", "0"], ["0", "3"]]
