from pathlib import Path

import pytest

from tools import skew
from tools.skew import Result


def test_every_hub_is_tried_with_every_worker() -> None:
    assert list(skew.PAIRS.values()) == [
        (hub, worker)
        for hub in ("1.32.5", "1.35.8", "1.36.4")
        for worker in ("1.29.15", "1.32.5", "1.35.8", "1.36.4")
    ]


def test_the_matrix_shows_how_each_pair_went() -> None:
    well, badly = Result(53, 0, 0, is_good=True), Result(50, 2, 1, is_good=False)

    shown = skew.matrix({"1.32.5/1.29.15": well, "1.36.4/1.35.8": badly})

    assert shown.splitlines() == [
        "hub \\ worker   1.29.15     1.32.5    1.35.8                           1.36.4",
        "1.32.5         53 passed   not run   not run                          not run",
        "1.35.8         not run     not run   not run                          not run",
        "1.36.4         not run     not run   50 passed, 2 failed, 1 skipped   not run",
    ]


def test_tests_are_counted_by_how_they_ended(tmp_path: Path) -> None:
    tests = tmp_path / "test_some.py"
    tests.write_text(
        "import pytest\n"
        "def test_a(): pass\n"
        "def test_b(): assert False\n"
        "def test_c(): pytest.skip('no')\n"
    )

    assert skew.run([str(tests)], {}) == Result(1, 1, 1, is_good=False)
    assert skew.run([str(tmp_path / "none.py")], {}) == Result(0, 0, 0, is_good=False)


def test_a_pair_that_we_do_not_promise_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert skew.main(["1.29.15/1.29.15"]) == 2

    assert "1.29.15/1.29.15 is none of 1.32.5/1.29.15," in capsys.readouterr().err
