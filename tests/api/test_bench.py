"""The bench of the client works; its figures are for `make bench`."""

import subprocess
import sys
from pathlib import Path

import pytest

from bench import report

pytestmark = [pytest.mark.kube, pytest.mark.timeout(120)]

ROOT = Path(__file__).parents[2]


def test_the_client_bench_prints_a_table_of_what_it_measured() -> None:
    command = [sys.executable, "-m", "bench.client", "--quick", "--only", "jobferry"]

    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert all(title in done.stdout for title in report.MEASURES.values()), done.stdout
