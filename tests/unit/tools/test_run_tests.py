"""`make test`: three parts at once, and one memory of what failed."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[3] / "tools" / "run_tests.py"
FAILED = ".pytest_cache/some/v/cache/lastfailed"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with a test in each part, of which the second fails."""
    for part in ("unit", "api", "system/alone"):
        (tmp_path / "tests" / part).mkdir(parents=True)
    (tmp_path / "tests/unit/test_a.py").write_text("def test_a(): pass\n")
    (tmp_path / "tests/system/test_b.py").write_text("def test_b(): assert False\n")
    (tmp_path / "tests/system/alone/test_c.py").write_text("def test_c(): pass\n")
    return tmp_path


def run(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        str(SCRIPT),
        "-q",
        "-o",
        "cache_dir=.pytest_cache/some",
        *arguments,
    ]
    return subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)


def test_all_parts_are_told_of_and_what_failed_is_kept(project: Path) -> None:
    done = run(project)

    assert done.returncode == 1
    assert re.findall(r"1 (\w+) in ", done.stdout) == ["passed", "failed", "passed"]
    assert json.loads((project / FAILED).read_text()) == {
        "tests/system/test_b.py::test_b": True
    }
    again = run(project, "--last-failed")
    assert again.stdout.count("1 failed") == 1
    assert "passed" not in again.stdout


def test_a_part_without_tests_is_no_failure(project: Path) -> None:
    (project / "tests/system/test_b.py").unlink()

    assert run(project).returncode == 0
    assert not (project / FAILED).exists()
    assert run(project, "-k", "nothing").returncode == 5


def test_who_names_a_test_gets_that_one(project: Path) -> None:
    done = run(project, "tests/unit/test_a.py::test_a")

    assert (done.returncode, done.stdout.count("passed")) == (0, 1)
