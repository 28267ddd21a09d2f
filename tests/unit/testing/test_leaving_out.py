"""Tests whose needs are not met are left out, and one line says so; those that do not say what they need fail."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from jobferry.testing import assets

ROOT = Path(__file__).parents[3]

SUITE = """
import asyncio
import pytest

def test_plain(): pass

@pytest.mark.kube
def test_real(): pass

@pytest.mark.kube("1.36.4")
def test_skewed(): pass

@pytest.mark.fleet
def test_wherever(): pass

@pytest.mark.soak
def test_long(): pass

@pytest.mark.timeout(0.1)
async def test_overdue(): await asyncio.Event().wait()

@pytest.mark.timeout(0.1)
async def test_stuck_overdue():
    while True:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            pass
"""

FORGETFUL = """
import shutil
import subprocess
import pytest
from jobferry.testing import assets

@pytest.fixture(scope="session")
def server():
    subprocess.run([str(assets.need("etcd"))], check=True)
    return object()

@pytest.fixture
def client(server): return object()

@pytest.mark.kube
def test_1_says_so(server, client): pass

def test_2_asks_for_kubectl():
    subprocess.run([str(assets.need("kubectl"))], check=False)

@pytest.mark.kube
def test_3_takes_the_kubectl_of_the_machine():
    subprocess.run(["kubectl"], check=True)

def test_4_uses_go_where_there_is_one():
    go = shutil.which("go")
    if go is None or subprocess.run([go, "version"], check=False).returncode:
        pytest.skip("needs Go")

def test_5_gets_what_others_have_started(client): pass

def test_6_asks_for_what_has_to_be_started(server): pass

@pytest.mark.go
def test_7_says_that_it_uses_go():
    subprocess.run(["go"], check=True)

def test_8_takes_the_definitions_of_others():
    assets.crds("jobset")
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
        f"-m pytest -q -p no:cacheprovider -p no:randomly -p tests.conftest "
        f"-c {ROOT}/pyproject.toml {file}"
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
    assert "2 passed, 5 deselected" in said
    [line] = [line for line in said.splitlines() if line.startswith("Tests left out")]
    assert WITHOUT_KUBE in line
    assert WITHOUT_SOAK in line


def test_long_tests_run_when_asked_for(suite: Path) -> None:
    code, said = run(suite, "-k", "not overdue", JOBFERRY_SOAK="1")

    assert code == 0
    assert "3 passed" in said
    assert WITHOUT_SOAK not in said


def test_where_control_planes_are_required_their_absence_is_an_error(suite: Path) -> None:
    code, said = run(suite, JOBFERRY_REQUIRE_KUBE="1")

    assert code == pytest.ExitCode.USAGE_ERROR
    assert "JOBFERRY_REQUIRE_KUBE is set" in said


def test_an_async_test_ends_at_its_limit(suite: Path) -> None:
    code, said = run(suite, "-k", "test_overdue")

    assert code == pytest.ExitCode.TESTS_FAILED
    assert "TimeoutError" in said


def test_a_test_that_cannot_be_ended_ends_the_run(suite: Path) -> None:
    code, said = run(suite, "-k", "stuck")

    assert code != 0
    assert "test_stuck_overdue cannot be ended" in said


@pytest.fixture
def forgetful(tmp_path: Path) -> Path:
    file = tmp_path / "test_forgetful.py"
    file.write_text(FORGETFUL)
    return file


@pytest.fixture
def everything(tmp_path: Path) -> dict[str, str]:
    """A machine that has all that a test can need; nothing of it does anything."""
    programs = [
        tmp_path / "kube" / version / each
        for version in assets.PROGRAMS
        for each in assets.PROGRAMS[version]
    ]
    definition = tmp_path / "kube" / "crds" / "jobset" / "one.json"
    for file in (*programs, tmp_path / "bin" / "go", tmp_path / "bin" / "kubectl", definition):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("#!/bin/sh\n")
        file.chmod(0o700)
    definition.write_text('{"spec": {}}')
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    return {"JOBFERRY_KUBE_CACHE": str(tmp_path / "kube"), "PATH": path}


RUNS = "but has no marker for it"
SHARES = "the test uses `server`, which runs real programs, but is not marked `kube`"


def failures(said: str) -> dict[str, str]:
    """Return why each test failed, by the number in its name."""
    return dict(re.findall(r"^(?:FAILED|ERROR) \S+::test_(\d)\S* - (.*)$", said, re.MULTILINE))


def test_what_uses_more_than_it_says_fails_where_everything_is_there(
    forgetful: Path, everything: dict[str, str]
) -> None:
    code, said = run(forgetful, COLUMNS="300", **everything)

    failed = failures(said)
    assert code == pytest.ExitCode.TESTS_FAILED
    assert sorted(failed) == ["2", "3", "4", "5", "6", "8"]
    assert f"the test runs kubectl, {RUNS}" in failed["2"]
    assert f"the test runs kubectl, {RUNS}" in failed["3"]
    assert f"the test runs go, {RUNS}" in failed["4"]
    assert SHARES in failed["5"]
    assert SHARES in failed["6"]
    assert "the CRDs of jobset are not in" in failed["8"]


def test_it_fails_where_nothing_is_there_too(forgetful: Path) -> None:
    code, said = run(forgetful, COLUMNS="300", PATH="/bin:/usr/bin")

    failed = failures(said)
    assert code == pytest.ExitCode.TESTS_FAILED
    assert sorted(failed) == ["2", "4", "5", "6", "8"]
    assert f"the test runs etcd, {RUNS}" in failed["5"]
    assert "1 that need Go" in said
