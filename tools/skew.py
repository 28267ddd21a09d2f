"""`make skew`: the system tests with every pair of hub and worker versions that we promise.

make skew                           all of them
make skew ARGS=1.32.5/1.29.15       this hub with this worker
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from jobferry.dispatch.hub_checks import OLDEST_HUB
from jobferry.testing import assets

ROOT = Path(__file__).parent.parent

SCENARIOS = (
    "tests/system/test_journey.py",
    "tests/system/test_edits.py",
    "tests/system/test_deletes.py",
    "tests/system/test_drain.py",
    "tests/system/test_lost_workers.py",
)
"""What depends on the versions of clusters, and not on us alone."""

STATUSES = "tests/api/test_legal.py"
"""What statuses a hub takes; by itself it tries every version."""


@dataclass(frozen=True)
class Result:
    """How many tests ended how, and whether pytest is content."""

    passed: int
    failed: int
    skipped: int
    is_good: bool

    def __str__(self) -> str:
        counts = {"passed": self.passed, "failed": self.failed, "skipped": self.skipped}
        said = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
        return said or "none passed"


def numbers(version: str) -> tuple[int, ...]:
    """Return a version as numbers."""
    return tuple(map(int, version.split(".")))


WORKERS = sorted((assets.CURRENT, assets.OLDEST, *assets.SKEW), key=numbers)
HUBS = [version for version in WORKERS if numbers(version) >= OLDEST_HUB]
PAIRS = {f"{hub}/{worker}": (hub, worker) for hub in HUBS for worker in WORKERS}


def run(tests: Iterable[str], environ: Mapping[str, str]) -> Result:
    """Run tests, which show how they go, and count how they ended."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-q", f"--junitxml={report}", *tests]
        code = subprocess.run(command, cwd=ROOT, env=environ, check=False).returncode
        return _result(report, code) if report.exists() else Result(0, 0, 0, is_good=False)


def _result(report: Path, code: int) -> Result:
    suite = ElementTree.parse(report).getroot()[0]  # noqa: S314 (pytest wrote it just now)
    tests, skipped = int(suite.attrib["tests"]), int(suite.attrib["skipped"])
    failed = int(suite.attrib["failures"]) + int(suite.attrib["errors"])
    return Result(tests - failed - skipped, failed, skipped, is_good=code == 0)


def matrix(results: Mapping[str, Result]) -> str:
    """Show how each pair went: hubs in rows, workers in columns."""
    rows = [["hub \\ worker", *WORKERS]]
    for hub in HUBS:
        cells = (results.get(f"{hub}/{worker}", "not run") for worker in WORKERS)
        rows.append([hub, *map(str, cells)])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("   ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def main(arguments: list[str]) -> int:
    """Run all pairs, or those that are asked for, and print how each went."""
    if unknown := [name for name in arguments if name not in PAIRS]:
        print(f"{unknown[0]} is none of {', '.join(PAIRS)}", file=sys.stderr)
        return 2
    results = {}
    for name in arguments or PAIRS:
        hub, worker = PAIRS[name]
        print(f"\nHub {hub}, worker {worker}", flush=True)
        versions = {"JOBFERRY_HUB_VERSION": hub, "JOBFERRY_WORKER_VERSION": worker}
        results[name] = run(SCENARIOS, {**os.environ, **versions})
    print("\nStatuses on every hub", flush=True)
    statuses = run([STATUSES], os.environ)
    print(f"\n{matrix(results)}\nStatuses on every hub: {statuses}")
    return 0 if statuses.is_good and all(each.is_good for each in results.values()) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
