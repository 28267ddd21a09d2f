"""Dispatchers as they run in production: `jobferry run`, in processes that can be killed at any moment."""

import subprocess
import sys
from pathlib import Path
from typing import Self

from jobferry.testing.guard import Guard

TERMS = ("--lease-duration=1", "--lease-deadline=0.8", "--lease-retry=0.25")
"""Who is killed cannot give up the Lease: this is how soon the next one takes it."""


class Replicas:
    """Copies of one dispatcher; what they log stays in `folder`."""

    def __init__(self, kubeconfig: str, folder: Path, *options: str) -> None:
        self._kubeconfig = kubeconfig
        self._folder = folder
        self._options = options
        self._guarded = folder / "guarded"
        self._alive: list[subprocess.Popen[bytes]] = []
        self._started = 0

    def __enter__(self) -> Self:
        self._guarded.mkdir(mode=0o700)
        self._guard = Guard(self._guarded)
        (self._guarded / "hub").write_text(self._kubeconfig)
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._alive:
            process.kill()
            process.wait()
        self._guard.close()
        self._guard.wait()

    def scale(self, number: int) -> None:
        """Start as many as are missing."""
        while len(self._alive) < number:
            self._start()

    def kill(self, number: int = 1) -> None:
        """End the oldest at once (SIGKILL), of which one leads if any does."""
        for _ in range(number):
            process = self._alive.pop(0)
            process.kill()
            assert process.wait() < 0, f"one ended by itself; see the logs in {self._folder}"

    def _start(self) -> None:
        self._started += 1
        run = [sys.executable, "-m", "jobferry", "run", f"--kubeconfig={self._guarded / 'hub'}"]
        with (self._folder / f"replica-{self._started}.log").open("xb") as log:
            process = subprocess.Popen(
                [*run, *TERMS, *self._options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                process_group=self._guard.group,
            )
        self._alive.append(process)
