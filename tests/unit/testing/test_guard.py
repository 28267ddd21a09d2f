"""Whatever happens to a test process, nothing that it started stays."""

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from jobferry.testing.guard import Guard

IDLE = [sys.executable, "-ISc", "import signal; signal.pause()"]

# A test process: makes a guard for the folder it is given, starts the given program, says its pid, and lives on.
OWNER = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
import pathlib, subprocess, sys, time
from jobferry.testing.guard import Guard
guard = Guard(pathlib.Path(sys.argv[1]))
child = subprocess.Popen(sys.argv[2:], process_group=guard.group)
print(child.pid, flush=True)
time.sleep(100)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "file").write_text("x")
    return folder


def wait_for_end(pid: int) -> None:
    """Wait until a process that is not our child has ended."""
    handle = os.pidfd_open(pid)
    try:
        assert select.select([handle], [], [], 10)[0], f"process {pid} still runs"
    finally:
        os.close(handle)


def start_owner(folder: Path) -> tuple[subprocess.Popen[str], int]:
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(folder), *IDLE],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # SIGINT makes it print a traceback
        text=True,
    )
    assert owner.stdout is not None
    with owner.stdout as output:
        return owner, int(output.readline())


def guard_of(pid: int) -> int:
    """Return the guard of a program: the parent of the process that gave the group its number."""
    anchor = os.getpgid(pid)
    status = Path(f"/proc/{anchor}/status").read_text()
    return int(status.split("PPid:")[1].split()[0])


def test_closing_a_guard_ends_the_group_and_removes_the_folder(folder: Path) -> None:
    guard = Guard(folder)
    child = subprocess.Popen(IDLE, process_group=guard.group)

    guard.close()

    assert child.wait() == -signal.SIGKILL
    guard.wait()
    assert not folder.exists()


def test_a_frozen_program_is_ended_too(folder: Path) -> None:
    guard = Guard(folder)
    child = subprocess.Popen(IDLE, process_group=guard.group)
    child.send_signal(signal.SIGSTOP)

    guard.close()

    assert child.wait() == -signal.SIGKILL
    guard.wait()


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_nothing_stays_when_the_process_that_made_the_guard_dies(
    folder: Path, how: signal.Signals
) -> None:
    owner, child = start_owner(folder)
    guard = guard_of(child)

    owner.send_signal(how)
    owner.wait()

    wait_for_end(guard)
    assert not folder.exists()
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
def test_a_signal_to_the_whole_group_of_the_test_process_does_not_stop_the_guard(
    folder: Path,
) -> None:
    owner, child = start_owner(folder)
    guard = guard_of(child)
    assert os.getpgid(guard) not in {os.getpgid(owner.pid), os.getpgid(child)}

    os.kill(guard, signal.SIGINT)  # what a terminal sends on Ctrl-C
    os.kill(guard, signal.SIGTERM)
    owner.kill()
    owner.wait()

    wait_for_end(guard)
    assert not folder.exists()
