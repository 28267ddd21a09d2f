"""Tests whose needs are not met are left out, and one line says so."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

SUITE = """
import asyncio
import pytest

def test_plain(): pass

@pytest.mark.kube
def test_real(): pass

@pytest.mark.kube("1.36.4")
def test_skewed(): pass

@pytest.mark.soak
def test_long(): pass

@pytest.mark.timeout(0.1)
async def test_overdue(): await asyncio.Event().wait()
"""

WITHOUT_KUBE = "2 that need Kubernetes 1.35.8 (`make kube` gets it)"
WITHOUT_SOAK = "1 that take long (`make soak` runs them)"


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    file = tmp_path / "test_suite.py"
    file.write_text(SUITE)
    return file


def run(file: Path, *options: str, **variables: str) -> tuple[int, str]:
    """Run a file of tests under our conftest, on a machine without control planes."""
    settings = {"PYTHONPATH": str(ROOT), "JOBFERRY_KUBE_CACHE": "/nonexistent", **variables}
    command = (
        f"-m pytest -q -p no:cacheprovider -p tests.conftest -c {ROOT}/pyproject.toml {file}"
    )
    result = subprocess.run(
        [sys.executable, *command.split(), *options],
        env={"PATH": os.environ["PATH"], **settings},
        cwd=file.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    return result.returncode, result.stdout + result.stderr


def test_one_line_says_how_many_were_left_out_and_how_to_get_them(suite: Path) -> None:
    code, said = run(suite, "-k", "not overdue")

    assert code == 0
    assert "1 passed, 4 deselected" in said
    [line] = [line for line in said.splitlines() if line.startswith("Tests left out")]
    assert WITHOUT_KUBE in line
    assert WITHOUT_SOAK in line


def test_long_tests_run_when_asked_for(suite: Path) -> None:
    code, said = run(suite, "-k", "not overdue", JOBFERRY_SOAK="1")

    assert code == 0
    assert "2 passed" in said
    assert WITHOUT_SOAK not in said


def test_where_control_planes_are_required_their_absence_is_an_error(suite: Path) -> None:
    code, said = run(suite, JOBFERRY_REQUIRE_KUBE="1")

    assert code == pytest.ExitCode.USAGE_ERROR
    assert "JOBFERRY_REQUIRE_KUBE is set" in said


def test_an_async_test_ends_at_its_limit(suite: Path) -> None:
    code, said = run(suite, "-k", "overdue")

    assert code == pytest.ExitCode.TESTS_FAILED
    assert "TimeoutError" in said
