"""Clusters as processes of their own, so that each can be killed and frozen like the real thing."""

import asyncio
import os
import select
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from jobferry.clock import Clock, Seconds, timeout
from jobferry.errors import Error
from jobferry.localkube.runner import leftovers
from jobferry.localkube.runner.settings import Settings

READY_WITHIN: Seconds = 30.0
"""A laptop that does much else starts a cluster in seconds; one that takes longer is in trouble."""

STOP_WITHIN: Seconds = 15.0
"""Pods get their grace period; whoever takes longer is killed."""

_DEAD_WITHIN: Seconds = 5.0
_LAST_LINES = 5


class StartFailed(Error):
    """A cluster did not come up."""


class Cluster:
    """One localkube process; `options` are for its command line."""

    def __init__(
        self, name: str, folder: Path, *, clock: Clock, options: Sequence[str] = ()
    ) -> None:
        self.name = name
        self.folder = folder
        self._options = options
        self._clock = clock
        self._process: asyncio.subprocess.Process | None = None
        self._is_stopping = False

    @property
    def pid(self) -> int:
        """Its process."""
        return self._running.pid

    async def start(self) -> None:
        """Start the process and wait until its API server, controllers and node are ready."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        kill_leftover(self.folder)  # its pods go on, and are found again
        self._is_stopping = False
        command = [sys.executable, "-m", "jobferry.localkube", "--name", self.name]
        command += ["--folder", str(self.folder), "--owned", *self._options]
        with self._log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.PIPE,  # that we hold it open says that we live
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                start_new_session=True,  # Ctrl-C is for us: we end it in order
            )
        self._pid_file.write_text(f"{self.pid}\n")
        try:
            async with timeout(self._clock, READY_WITHIN):
                line = await self._output.readline()
        except TimeoutError:
            line = b""
        if not line:
            raise self._failure()

    async def until_ended(self) -> int:
        """Wait for the end of the process; return its exit code, negative for a signal."""
        return await self._running.wait()

    async def watch(self, tell: Callable[[str], None]) -> None:
        """Tell if the process ends though nobody asked it to."""
        code = await self.until_ended()
        if not self._is_stopping:
            how = f"was ended by signal {-code}" if code < 0 else f"ended with code {code}"
            tell(f"{self.name} {how}. Its state is kept: end `jobferry up` and start it again.")

    async def kill(self) -> None:
        """Kill the process and end its pods, as if its machine were switched off."""
        self._is_stopping = True
        with suppress(ProcessLookupError):
            self._running.kill()
        await self._running.wait()
        await end_pods(self.name, self.folder, self._clock)

    async def stop(self) -> None:
        """End the process and its pods; kill it if it does not heed that."""
        if self._process is None:
            return
        self._is_stopping = True
        process = self._process
        with suppress(ProcessLookupError):
            process.send_signal(signal.SIGCONT)  # a frozen one hears nothing else
            process.terminate()
        try:
            async with timeout(self._clock, STOP_WITHIN):
                await process.wait()
        except TimeoutError:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
        if process.returncode:  # it could not end them itself
            await end_pods(self.name, self.folder, self._clock)
        self._pid_file.unlink(missing_ok=True)

    @property
    def _running(self) -> asyncio.subprocess.Process:
        assert self._process is not None  # noqa: S101 (narrows the type: it was started)
        return self._process

    @property
    def _output(self) -> asyncio.StreamReader:
        assert self._running.stdout is not None  # noqa: S101 (narrows the type: it is a pipe)
        return self._running.stdout

    @property
    def _log(self) -> Path:
        return self.folder / "log"

    @property
    def _pid_file(self) -> Path:
        return self.folder / "pid"

    def _failure(self) -> StartFailed:
        lines = self._log.read_text(errors="replace").splitlines()[-_LAST_LINES:]
        return StartFailed(
            f"{self.name} did not start: {' / '.join(lines) or 'it said nothing'}",
            hint=f"Its log is {self._log}.",
        )


def kill_leftover(folder: Path) -> bool:
    """Kill the process of a cluster whose fleet was killed, and wait for its end; tell whether there was one.

    The note of its number is not relied on: who came later and failed may have overwritten it.
    """
    (folder / "pid").unlink(missing_ok=True)
    found = [pid for pid in _pids() if _is_cluster(pid, folder)]
    for pid in found:
        with suppress(ProcessLookupError):
            descriptor = os.pidfd_open(pid)
            try:
                if _is_cluster(pid, folder):  # numbers are used again
                    signal.pidfd_send_signal(descriptor, signal.SIGKILL)
                    select.select([descriptor], [], [], _DEAD_WITHIN)
            finally:
                os.close(descriptor)
    return bool(found)


async def end_pods(name: str, folder: Path, clock: Clock) -> bool:
    """End the pods of a cluster whose process is gone; tell whether there were any."""
    pods = folder / "node"
    return pods.is_dir() and await leftovers.end(Settings(node=name, folder=pods), clock)


def _pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdecimal()]


def _is_cluster(pid: int, folder: Path) -> bool:
    """Tell whether a process is that of the cluster in a folder, and ours."""
    try:
        is_ours = os.stat(f"/proc/{pid}").st_uid == os.geteuid()
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return is_ours and b"jobferry.localkube" in words and os.fsencode(folder) in words
