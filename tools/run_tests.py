"""Runs pytest with the arguments given: all tests in two halves at once, some tests just so.

Most tests wait for processes now and then, and no test uses two cores. What failed in either half is in the one
cache where pytest looks for it (`--last-failed`).
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

HALVES = ("tests/unit tests/api", "tests/system")
NOTHING_RAN = 5
"""The exit code of pytest where no test was to be run: there may be some in the other half."""

FAILED = "v/cache/lastfailed"


def main(arguments: Sequence[str]) -> int:
    """Run the tests; return the exit code of pytest."""
    pytest = [sys.executable, "-m", "pytest", *arguments]
    if (os.cpu_count() or 1) == 1 or _chooses(arguments):
        return subprocess.run(pytest, check=False).returncode
    cache = next(
        (each[10:] for each in arguments if each.startswith("cache_dir=")), ".pytest_cache"
    )
    caches = [Path(cache) / each.replace(" ", "+").replace("/", "-") for each in HALVES]
    commands = [
        [*pytest, "-o", f"cache_dir={own}", *half.split()]
        for own, half in zip(caches, HALVES, strict=True)
    ]
    with tempfile.TemporaryFile() as later:
        beside = subprocess.Popen(commands[1], stdout=later, stderr=subprocess.STDOUT)
        codes = [subprocess.run(commands[0], check=False).returncode, beside.wait()]
        later.seek(0)
        sys.stdout.flush()
        sys.stdout.buffer.write(later.read())
    _join(caches, Path(cache))
    return next((code for code in codes if code not in (0, NOTHING_RAN)), min(codes))


def _chooses(arguments: Sequence[str]) -> bool:
    """Tell whether the arguments say which tests to run, by path or by what happened before."""
    return any(
        each.partition("::")[0] and Path(each.partition("::")[0]).exists() for each in arguments
    ) or not {"--last-failed", "--lf"}.isdisjoint(arguments)


def _join(parts: Sequence[Path], whole: Path) -> None:
    found: dict[str, bool] = {}
    for part in parts:
        if (part / FAILED).exists():
            found |= json.loads((part / FAILED).read_text())
    (whole / FAILED).unlink(missing_ok=True)
    if found:  # as pytest does: without a failure there is no file
        (whole / FAILED).parent.mkdir(parents=True, exist_ok=True)
        (whole / FAILED).write_text(json.dumps(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
