"""The benches work; their figures are for `make bench`."""

import subprocess
import sys
from pathlib import Path

import pytest

from bench import apiserver_report, cluster_report, dispatch_report, report, scale_report

pytestmark = [pytest.mark.kube, pytest.mark.timeout(300)]

ROOT = Path(__file__).parents[2]


def printed(bench: str, *arguments: str) -> str:
    """Run a bench in its small form and return what it prints."""
    command = [sys.executable, "-m", bench, "--quick", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_client_bench_prints_a_table_of_what_it_measured() -> None:
    table = printed("bench.client", "--only", "jobferry")

    assert all(title in table for title in report.MEASURES.values()), table


def test_the_dispatcher_bench_prints_tables_of_what_it_measured() -> None:
    tables = printed("bench.dispatch")

    measures = (*dispatch_report.LATENCY, *dispatch_report.BURST)
    assert all(measure.title in tables for measure in measures), tables
    assert "hub: patch jobs/status" in tables


def test_the_scale_bench_prints_tables_of_what_it_measured() -> None:
    tables = printed("bench.scale")

    assert all(what in tables for what in scale_report.PER_JOB.values()), tables


def test_the_api_server_bench_prints_a_table_of_what_it_measured() -> None:
    table = printed("bench.apiserver")

    assert all(title in table for title in apiserver_report.MEASURES.values()), table


def test_the_cluster_bench_prints_a_table_of_what_it_measured() -> None:
    table = printed("bench.cluster")

    assert all(title in table for title in cluster_report.MEASURES.values())
