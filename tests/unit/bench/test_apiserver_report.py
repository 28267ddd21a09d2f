"""What the bench of API servers says about figures."""

from bench import apiserver_report as report


def rounds(ours: float, theirs: float) -> report.Rounds:
    return {
        report.OURS: [dict.fromkeys(report.MEASURES, ours)],
        report.THEIRS: [dict.fromkeys(report.MEASURES, theirs)],
    }


def test_every_measure_is_shown_beside_that_of_the_peer() -> None:
    _, first, *rest = report.table(rounds(1.0, 4.0)).splitlines()

    assert first.split()[-3:] == ["1", "4", "0.25x"]
    assert len(rest) == len(report.MEASURES) - 1


def test_what_comes_early_has_no_ratio() -> None:
    assert report.table(rounds(-1.0, 2.0)).splitlines()[1].split()[-2:] == ["-1", "2"]


def test_aims_are_limits_or_shares_of_the_peer() -> None:
    told = report.verdicts(rounds(0.5, 1.0))

    assert told[0] == "start until ready: s, at most 0.5: 0.50, holds"
    assert told[2] == "create: CPU µs each, at most 0.33 of 1.35.8: 0.50, MISSED"
    assert told[4] == "list: CPU µs per Job, at most 1 of 1.35.8: 0.50, holds"


def test_nothing_is_a_share_of_nothing() -> None:
    told = report.verdicts(rounds(0.5, 0.0))

    assert told[2] == "create: CPU µs each: too little was done to tell"
