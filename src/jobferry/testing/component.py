"""One program of a control plane, as a process that can be started, killed, frozen and thawed."""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from random import SystemRandom

from jobferry.clock import Seconds
from jobferry.errors import Transient

PORTS = range(20000, 32768)
"""Below what Linux and macOS give to outgoing connections: a port stays free while its server restarts."""

POLL: Seconds = 0.02
TAIL = 30


class StartFailed(Transient):
    """A program of a control plane did not come up; the end of its log is in the notes."""

    hint = "Look at the end of the program's log below; on a busy machine, try again."


class PortTaken(StartFailed):
    """Somebody else took the port between choosing it and listening on it."""


class Component:
    """One program. Whoever starts it reaps it; the guard's group makes sure it never outlives us."""

    def __init__(self, name: str, log: Path, group: int) -> None:
        self.name = name
        self.log = log
        self._group = group
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._running().pid

    @property
    def is_running(self) -> bool:
        """Whether it was started and has not ended."""
        return self._process is not None and self._process.poll() is None

    def start(self, command: Sequence[str]) -> None:
        """Start it; what it prints goes to the end of its log."""
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.log.parent,
                process_group=self._group,
            )

    def wait_until(self, ready: Callable[[], bool], within: Seconds) -> None:
        """Wait until `ready`; raises `StartFailed` if the program ends or takes too long."""
        deadline = time.monotonic() + within
        while not ready():
            code = self._running().poll()
            if code is not None:
                raise self._failure(f"{self.name} ended with code {code} while starting")
            if time.monotonic() > deadline:
                raise self._failure(f"{self.name} was not ready within {within:g} s")
            time.sleep(POLL)

    def kill(self) -> None:
        """End it at once and for good (SIGKILL), frozen or not."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def freeze(self) -> None:
        """Stop it where it is: connections stay open, nothing is answered (SIGSTOP)."""
        os.kill(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on (SIGCONT)."""
        os.kill(self.pid, signal.SIGCONT)

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise StartFailed(f"{self.name} was never started")
        return self._process

    def _failure(self, message: str) -> StartFailed:
        printed = self.log.read_text(errors="replace")
        kind = PortTaken if "address already in use" in printed.lower() else StartFailed
        error = kind(message)
        error.add_note("\n".join(printed.splitlines()[-TAIL:]))
        return error


def free_port(address: str) -> int:
    """Return a port on which nobody listens at the moment."""
    for port in SystemRandom().sample(PORTS, k=len(PORTS)):
        if is_free(address, port):
            return port
    raise StartFailed(f"no port of {address} between {PORTS.start} and {PORTS.stop} is free")


def is_free(address: str, port: int) -> bool:
    """Tell whether nobody listens on a port at the moment."""
    with socket.socket() as probe:
        # As the servers do it, so that closed connections of an earlier one do not matter.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
        except OSError:
            return False
        return True
