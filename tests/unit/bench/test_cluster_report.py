"""What the bench of clusters says about figures."""

from bench import cluster_report as report


def rounds(ours: float, theirs: float) -> report.Rounds:
    return {
        report.OURS: [dict.fromkeys(report.MEASURES, ours)],
        report.SIMULATED: [dict.fromkeys(report.MEASURES, 2 * ours)],
        report.THEIRS: [dict.fromkeys(report.MEASURES, theirs)],
    }


def test_every_measure_is_shown_beside_that_of_the_peer() -> None:
    _, first, *rest = report.table(rounds(1.0, 4.0)).splitlines()

    assert first.split()[-5:] == ["1", "2", "4", "0.25x", "0.50x"]
    assert len(rest) == len(report.MEASURES) - 1


def test_it_is_to_be_faster_and_cheaper() -> None:
    fast, dear, *_ = report.verdicts(rounds(2.0, 1.0))
    *_, slow, cheap = report.verdicts(rounds(0.1, 1.0))

    assert fast == "localkube: Jobs per s, at least 1.3 of kubernetes: 2.00, holds"
    assert dear == "localkube: CPU per Job, at most 0.33 of kubernetes: 2.00, MISSED"
    assert slow == "simulated: Jobs per s, at least 2 of kubernetes: 0.20, MISSED"
    assert cheap == "simulated: CPU per Job, at most 0.33 of kubernetes: 0.20, holds"
