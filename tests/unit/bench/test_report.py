"""What the bench says about figures; how they are measured is not tested here."""

from bench import report

FIGURES = {
    "list_cpu_us": 40.0,
    "watch_cpu_us": 80.0,
    "replay_cpu_us": 60.0,
    "list_kept_kb": 5.0,
    "watch_kept_kb": 6.0,
    "patch_cpu_ms": 0.3,
}


def times(factor: float) -> dict[str, float]:
    return {measure: value * factor for measure, value in FIGURES.items()}


def test_one_bad_round_does_not_move_the_median() -> None:
    middle = report.medians({"jobferry": [FIGURES, times(50), FIGURES]})

    assert middle == {"jobferry": FIGURES}


def test_aims_are_judged_by_the_share_of_the_peers_medians() -> None:
    verdicts = report.verdicts({"jobferry": [FIGURES], "lightkube": [times(3)]})

    assert {verdict.aim.measure: verdict.holds for verdict in verdicts} == {
        "list_cpu_us": False,
        "watch_cpu_us": False,
        "replay_cpu_us": False,
        "list_kept_kb": True,
        "watch_kept_kb": True,
        "patch_cpu_ms": True,
    }
    assert str(verdicts[0]) == "list: CPU µs per Job, at most 0.25 of lightkube: 0.33, MISSED"
    assert str(verdicts[-1]) == "patch: CPU ms each, at most 0.4: 0.30, holds"


def test_an_aim_that_is_just_reached_holds() -> None:
    verdicts = report.verdicts({"jobferry": [FIGURES], "lightkube": [times(4)]})

    assert all(verdict.holds for verdict in verdicts)


def test_without_the_peer_only_absolute_aims_are_judged() -> None:
    verdicts = report.verdicts({"jobferry": [times(2)]})

    assert [(verdict.aim.measure, verdict.holds) for verdict in verdicts] == [
        ("patch_cpu_ms", False)
    ]


def test_peers_alone_are_not_judged() -> None:
    assert report.verdicts({"lightkube": [FIGURES]}) == []


def test_the_table_shows_medians_ranges_and_shares() -> None:
    table = report.table({"jobferry": [FIGURES, times(3)], "lightkube": [times(4), times(4)]})

    head, first, *rest = table.splitlines()
    assert head.split() == ["median", "(range)", "of", "2", "rounds", "jobferry", "lightkube"]
    assert first.split("Job", 1)[1].split() == ["80", "(40-120)", "0.50x", "160", "1.00x"]
    assert len(rest) == len(report.MEASURES) - 1


def test_a_table_without_the_peer_has_no_shares() -> None:
    assert "x" not in report.table({"jobferry": [FIGURES]})
