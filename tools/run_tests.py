"""Runs pytest with the arguments given: all tests in three parts at once, some tests just so.

Most tests wait for processes now and then, and no test uses two cores: two parts would leave them idle. What failed
in any part is in the one cache where pytest looks for it (`--last-failed`).
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO

PARTS = {
    "unit+api": ["tests/unit", "tests/api"],
    "system": ["tests/system", "--ignore=tests/system/alone"],
    "alone": ["tests/system/alone"],
}
NOTHING_RAN = 5
"""The exit code of pytest where no test was to be run: there may be some in the other parts."""

FAILED = "v/cache/lastfailed"


def main(arguments: Sequence[str]) -> int:
    """Run the tests; return the exit code of pytest."""
    pytest = [sys.executable, "-m", "pytest", *arguments]
    if (os.cpu_count() or 1) == 1 or _chooses(arguments):
        return subprocess.run(pytest, check=False).returncode
    cache = next(
        (each[10:] for each in arguments if each.startswith("cache_dir=")), ".pytest_cache"
    )
    caches = {name: Path(cache) / name for name in PARTS}
    commands = [
        [*pytest, "-o", f"cache_dir={caches[name]}", *part] for name, part in PARTS.items()
    ]
    codes = _run_at_once(commands)
    _join(caches.values(), Path(cache))
    return next((code for code in codes if code not in (0, NOTHING_RAN)), min(codes))


def _run_at_once(commands: Sequence[Sequence[str]]) -> list[int]:
    """Run commands; the first may be watched, what the others print comes after it."""
    first, *others = commands
    with ExitStack() as stack:
        printed: list[IO[bytes]] = [
            stack.enter_context(tempfile.TemporaryFile()) for _ in others
        ]
        beside = [
            subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT)
            for command, file in zip(others, printed, strict=True)
        ]
        codes = [subprocess.run(first, check=False).returncode]
        sys.stdout.flush()
        for process, file in zip(beside, printed, strict=True):
            codes.append(process.wait())
            file.seek(0)
            sys.stdout.buffer.write(file.read())
    return codes


def _chooses(arguments: Sequence[str]) -> bool:
    """Tell whether the arguments say which tests to run, by path or by what happened before."""
    return any(
        each.partition("::")[0] and Path(each.partition("::")[0]).exists() for each in arguments
    ) or not {"--last-failed", "--lf"}.isdisjoint(arguments)


def _join(parts: Iterable[Path], whole: Path) -> None:
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
