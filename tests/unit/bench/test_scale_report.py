"""What the scale bench says about figures; how they are measured is not tested here."""

import pytest

from bench import scale_report


def size(jobs: int, cpu: float, workers: int = 2) -> dict[str, float]:
    costs = dict.fromkeys(scale_report.PER_JOB, cpu)
    return {"jobs": jobs, "workers": workers, "idle": 0.01, "memory": 40, "peak": 50, **costs}


def test_costs_are_shown_for_each_job() -> None:
    table = scale_report.table("Jobs", [size(100, 0.4), size(1000, 5.0)], "jobs")

    head, first, *rest = (line.split() for line in table.splitlines())
    assert head == ["Jobs", "100", "1000"]
    assert first[-2:] == ["4", "5"]
    assert rest[-1] == ["memory", "at", "most,", "MB", "50", "50"]


@pytest.mark.parametrize(
    ("cpu", "verdict"),
    [(50.0, "linear at most"), (64.0, "linear at most"), (70.0, "MORE THAN LINEAR")],
)
def test_ten_times_the_jobs_may_cost_little_more_than_ten_times_as_much(
    cpu: float, verdict: str
) -> None:
    lines = scale_report.growth([size(100, 9.0), size(1000, 5.0), size(10_000, cpu)], "jobs")

    assert all(line.endswith(verdict) for line in lines.splitlines())
    assert f"{cpu / 5:.1f} times the CPU for 10 times the jobs" in lines


def test_growth_with_workers_is_judged_by_their_number() -> None:
    lines = scale_report.growth([size(1000, 5.0, 20), size(1000, 25.0, 100)], "workers")

    assert lines.splitlines()[0].endswith(
        "5.0 times the CPU for 5 times the workers, linear at most"
    )


@pytest.mark.parametrize("sizes", [[size(1000, 5.0)], [size(10, 5.0), size(100, 90.0)]])
def test_few_jobs_or_a_single_size_are_not_judged(sizes: list[dict[str, float]]) -> None:
    assert scale_report.growth(sizes, "jobs") == "Too few Jobs to judge by."
