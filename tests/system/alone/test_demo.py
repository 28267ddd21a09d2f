"""`jobferry demo`, as somebody runs it: in a pipe, in a terminal, and interrupted at any moment."""

import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from jobferry.local import ending
from jobferry.local.layout import Layout

pytestmark = pytest.mark.timeout(120)

DEMO = [sys.executable, "-m", "jobferry", "demo"]


def environ(folder: Path, **more: str) -> dict[str, str]:
    """Return the environment of a demo that plays below a folder of ours."""
    return {**os.environ, "TMPDIR": str(folder), **more}


def running(folder: Path) -> list[str]:
    """List the command lines of what runs and names the folder: clusters and pods alike."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            place = os.readlink(process / "cwd")
            if str(folder) in f"{words} {place}":
                found.append(words)
    return found


def heed_signals() -> None:
    """Undo what is inherited: what a shell runs in the background ignores Ctrl-C, what nohup runs a hangup."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


@contextmanager
def demo(folder: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Run a demo in a pipe during the block; whatever becomes of it, nothing is left to later tests."""
    process = subprocess.Popen(
        [*DEMO, *arguments],
        env=environ(folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=heed_signals,  # noqa: PLW1509 (no locks in it)
    )
    try:
        yield process
    finally:
        process.terminate()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()
        for left in folder.iterdir():
            ending.end(Layout(left))


def until(process: subprocess.Popen[str], words: str) -> str:
    """Read what it says until it says that, and return all of it."""
    assert process.stdout is not None
    said = ""
    for line in process.stdout:
        said += line
        if words in line:
            return said
    pytest.fail(f"It never said {words!r}: {said}")


def test_without_a_terminal_it_tells_all_in_lines_and_leaves_nothing(tmp_path: Path) -> None:
    done = subprocess.run(
        DEMO, env=environ(tmp_path), capture_output=True, text=True, check=True
    )

    said = done.stdout
    assert said.isascii()
    assert "\033" not in said
    assert re.search(r"kill -9 \d+: worker-\d is off", said)
    moved = re.search(r"darts moves to (worker-\d) as attempt 2; (\d) of 8 runs are kept", said)
    assert moved is not None
    assert int(moved[2]) >= 3
    assert f"hub       darts       Complete on {moved[1]}: 8 succeeded, 0 failed\n" in said
    assert said.count("darts hit: pi is about 3.1") == 8 - int(moved[2]), (
        "the rest runs, no more"
    )
    assert re.search(r"\n  All of it took [0-9.]+ s, of which [0-9.]+ s to start", said)
    assert done.stderr == ""
    assert list(tmp_path.iterdir()) == []
    assert running(tmp_path) == []


@pytest.mark.kube
def test_on_real_control_planes_all_jobs_end_and_nobody_is_killed(tmp_path: Path) -> None:
    command = [*DEMO, "--real"]
    done = subprocess.run(
        command, env=environ(tmp_path), capture_output=True, text=True, check=True
    )

    assert "hub       darts       Complete on worker-" in done.stdout
    assert "kill -9" not in done.stdout
    assert "misses" not in done.stdout
    assert done.stderr == ""
    assert list(tmp_path.iterdir()) == []


def test_it_ends_though_nobody_reads_on(tmp_path: Path) -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen(DEMO, env=environ(tmp_path), stdout=pipe, stderr=pipe) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        while b"new Jobs on the hub" not in process.stdout.readline():
            pass
        process.stdout.close()
        assert process.stderr.read() == b""

    assert process.returncode == 1
    assert list(tmp_path.iterdir()) == []
    assert running(tmp_path) == []


@pytest.mark.parametrize(
    ("words", "number", "code"),
    [
        ("Starting a hub", signal.SIGINT, 130),
        ("kill -9", signal.SIGINT, 130),
        ("moves to", signal.SIGHUP, 1),
    ],
)
def test_nothing_is_left_of_it_whenever_it_is_ended(
    tmp_path: Path, words: str, number: signal.Signals, code: int
) -> None:
    with demo(tmp_path) as process:
        until(process, words)
        process.send_signal(number)
        process.send_signal(number)  # impatience changes nothing
        rest, _ = process.communicate()

        assert process.returncode == code
        assert "All pods and clusters have ended.\n" in rest
        assert "Traceback" not in rest
        assert list(tmp_path.iterdir()) == []
        assert running(tmp_path) == []


def test_it_can_be_kept_to_play_with(tmp_path: Path) -> None:
    with demo(tmp_path, "--keep") as process:
        said = until(process, "kubectl apply -f")
        found = re.search(r"export KUBECONFIG=(\S+)\n", said)

        assert found is not None
        assert Path(found[1]).is_file()
        assert re.search(r"Starting worker-\d again", said)
        assert len([each for each in running(tmp_path) if "jobferry.localkube" in each]) == 3

        process.send_signal(signal.SIGINT)
        assert process.wait() == 130
        assert list(tmp_path.iterdir()) == []
        assert running(tmp_path) == []


def in_terminal(folder: Path, *, rows: int, columns: int, **more: str) -> tuple[str, int]:
    """Run a demo in a terminal of that size; return all that it wrote there, and its exit code."""
    size = {"LINES": str(rows), "COLUMNS": str(columns)}
    pid, terminal = pty.fork()
    if pid == 0:
        environment = environ(folder, TERM="xterm", **size, **more)
        os.execve(sys.executable, DEMO, environment)  # noqa: S606 (a shell has no part in it)
    written = b""
    with suppress(OSError):  # that is how a terminal says that nobody is left
        while some := os.read(terminal, 65536):
            written += some
    os.close(terminal)
    _, status = os.waitpid(pid, 0)
    return written.decode(), os.waitstatus_to_exitcode(status)


def test_in_a_terminal_it_is_a_picture(tmp_path: Path) -> None:
    written, code = in_terminal(
        tmp_path, rows=24, columns=80, LANG="C", LC_ALL="C", NO_COLOR="1"
    )

    assert code == 0
    assert written.isascii()
    last = written[written.rindex("CLUSTER") :]
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", last).replace("\r\n", "\n")
    assert not re.findall(r"\x1b\[[0-9;]*3[0-9]", last), "colours were not wanted"
    assert max(map(len, plain.splitlines())) <= 80
    assert re.search(r"\ndarts +worker-\d +2 +=+#+ 8/8  Complete, \d kept", plain)
    assert "What you saw:" in plain
    assert written.rstrip().endswith("to start all clusters.")
    assert written.count("\x1b[?25l") == written.count("\x1b[?25h"), "the cursor must be back"
    assert list(tmp_path.iterdir()) == []
    assert running(tmp_path) == []
