"""What CI does around the tests: a machine like a newcomer's, and a second try."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

# Stands in for `make test`: says what it was asked, and fails as often as the file `failures` has lines.
MAKE = """#!/bin/sh
echo "$@"
mkdir -p .pytest_cache/some/v/cache
read -r failure <failures || exit 0
tail -n +2 failures >left && mv left failures
echo "{$failure}" >.pytest_cache/some/v/cache/lastfailed
exit 1
"""

FAILURE = '"tests/test_a.py::test_one[a b]": true, "tests/test_b.py::test_two": true\n'


class Repository:
    """A folder with what CI runs, and a `make` that fails as it is told."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.copytree(ROOT / ".ci", folder / ".ci")
        (folder / ".venv").symlink_to(sys.prefix)
        (folder / "bin").mkdir()
        (folder / "bin" / "make").write_text(MAKE)
        (folder / "bin" / "make").chmod(0o700)

    def run(self, failures: str) -> subprocess.CompletedProcess[str]:
        """Run some tests as CI does."""
        (self.folder / "failures").write_text(failures)
        environ = {
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
            "SECOND_TRIES": str(self.folder / "second-tries"),
        }
        command = [str(self.folder / ".ci" / "tests"), "some", "-m 'kube or go' tests/api"]
        return subprocess.run(command, env=environ, capture_output=True, text=True, check=False)

    def second_tries(self) -> str:
        """Return the names that are told at the end of CI."""
        file = self.folder / "second-tries"
        return file.read_text() if file.exists() else ""


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


def test_what_passes_is_run_once(repository: Repository) -> None:
    done = repository.run("")

    assert (done.returncode, done.stdout.count("ARGS=")) == (0, 1)
    assert "-m 'kube or go' tests/api" in done.stdout
    assert repository.second_tries() == ""


def test_what_needed_its_second_try_is_named(repository: Repository) -> None:
    done = repository.run(FAILURE)

    assert (done.returncode, done.stdout.count("ARGS=")) == (0, 2)
    assert "--last-failed" in done.stdout
    assert repository.second_tries() == (
        "tests/test_a.py::test_one[a b]\ntests/test_b.py::test_two\n"
    )


def test_what_fails_twice_is_broken(repository: Repository) -> None:
    done = repository.run(FAILURE * 2)

    assert (done.returncode, repository.second_tries()) == (1, "")


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="clones the repository")
def test_a_fresh_machine_has_a_clone_and_python_and_nothing_of_ours(tmp_path: Path) -> None:
    environ = {
        **os.environ,
        "JOBFERRY_SOAK": "1",
        "XDG_CACHE_HOME": "/somewhere",
        "PIP_FIND_LINKS": "/two words",
        "TIMES": str(tmp_path / "times"),
    }
    commands = [
        "env; ls -A ~; command -v go kubectl kind",
        "python3 -c 'print(6 * 7)'",
        "exit 3",
    ]

    done = subprocess.run(
        [
            str(ROOT / ".ci" / "fresh"),
            f"{commands[0]}; test -e README.md",
            *commands[1:],
            "echo no",
        ],
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 3, done.stderr
    variables = {line.partition("=")[0] for line in done.stdout.splitlines() if "=" in line}
    assert not variables & {"JOBFERRY_SOAK", "JOBFERRY_KUBE_CACHE", "XDG_CACHE_HOME", "GOPATH"}
    assert "PIP_FIND_LINKS=/two words\n" in done.stdout
    assert "\n42\n" in done.stdout
    assert not any(line.endswith(("/go", "/kubectl")) for line in done.stdout.splitlines())
    assert "\nno\n" not in done.stdout
    assert len((tmp_path / "times").read_text().splitlines()) == 3
