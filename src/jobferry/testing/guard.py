"""Cleans up after a test process, however that ends: normally, by Ctrl-C, by kill -9.

`Guard` is our end; the guard itself is this file run as a program of its own, by its path and with the
standard library alone, so that it starts in some 20 ms. It makes a process group that our programs join
as they start: there is no moment in which one of them runs unknown to the guard. We hold the write end
of a pipe that we never write to; when it closes, with us or on purpose, the guard kills the group and
removes the folder.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

PATIENCE = 5.0
"""Seconds to wait until killed processes are gone."""


class Guard:
    """Our end: as long as it lives, what joined `group` and what lies in `folder` may live too."""

    def __init__(self, folder: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            process_group=0,  # out of reach of the terminal's Ctrl-C
        )
        assert self._process.stdout is not None  # noqa: S101 - narrows the type
        with self._process.stdout as report:
            self.group = int(report.readline())

    def close(self) -> None:
        """Let the guard kill the group; the caller reaps its children, then calls `wait`."""
        assert self._process.stdin is not None  # noqa: S101 - narrows the type
        self._process.stdin.close()

    def wait(self) -> None:
        """Wait until the folder is gone."""
        self._process.wait()


def main(folder: str) -> None:
    """Make a group, say its number, and wait for the end of input; then leave nothing behind."""
    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(signum, signal.SIG_IGN)
    anchor = os.fork()
    if anchor == 0:
        _hold_group()
    os.setpgid(anchor, anchor)
    os.write(sys.stdout.fileno(), b"%d\n" % anchor)
    os.close(sys.stdout.fileno())
    while os.read(sys.stdin.fileno(), 1):
        pass
    os.killpg(anchor, signal.SIGKILL)
    os.waitpid(anchor, 0)
    _wait_until_gone(anchor)
    shutil.rmtree(folder, ignore_errors=True)


def _hold_group() -> None:
    """Keep the group's number taken, so that it never comes to mean other processes."""
    os.close(sys.stdout.fileno())
    while True:
        signal.pause()


def _wait_until_gone(group: int) -> None:
    deadline = time.monotonic() + PATIENCE
    # macOS says "not permitted" of a group in which all are dead but not yet reaped.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        while time.monotonic() < deadline:
            os.killpg(group, 0)
            time.sleep(0.005)


if __name__ == "__main__":
    main(sys.argv[1])
