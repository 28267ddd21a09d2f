"""The folders of a runner: that of a run of a container, with what its wrapper has written, and the whole."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from jobferry.errors import BadInput
from jobferry.localkube.runner import ends, wrapper
from jobferry.localkube.runner.containers import End
from jobferry.localkube.runner.ends import Process

RECORD = "record"
"""The file that the wrapper writes."""


class _Said(msgspec.Struct):
    """How a run ended, where there is more to say than its exit code."""

    exit_code: int
    at: datetime
    reason: str
    message: str


def of_run(pod: Path, name: str, number: int) -> Path:
    """Return the folder of a run of a container."""
    return pod / f"{name}.{number}"


def prepare(folder: Path) -> None:
    """Make the folder of a run; also what was never started has a log, an empty one."""
    folder.mkdir(parents=True, exist_ok=True)
    touch(folder / "log")


def touch(path: Path, mode: int = 0o600) -> None:
    """Make an empty file, unless there is one."""
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT, mode))


@contextmanager
def opened(folder: Path, *, wants_input: bool) -> Iterator[wrapper.Files]:
    """Open what a wrapper is given; closed again once it is started."""
    made = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    with ExitStack() as stack:

        def open_one(path: str, flags: int) -> int:
            descriptor = wrapper.out_of_the_way(os.open(path, flags, 0o600))
            stack.callback(os.close, descriptor)
            return descriptor

        stdin = "/dev/null"
        if wants_input:
            stdin = str(folder / "stdin")
            os.mkfifo(stdin, 0o600)
        yield wrapper.Files(
            # Who holds a pipe for both ways need not wait for the other side, and never sees its end.
            stdin=open_one(stdin, os.O_RDWR if wants_input else os.O_RDONLY),
            output=open_one(str(folder / "log"), made),
            record=open_one(str(folder / RECORD), made),
        )


def may_have_begun(folder: Path) -> bool:
    """Tell whether a run may have begun, or has ended without: what a wrapper writes to is made before it starts."""
    return (folder / RECORD).exists() or (folder / "end").exists()


def places(folder: Path) -> tuple[Process | None, Process | None]:
    """Read which processes the wrapper and the main process of its container are."""
    found = []
    for line in _whole_lines(folder / RECORD):
        with suppress(
            ValueError, IndexError
        ):  # the exit code, or what a full disk left of a line
            found.append(ends.process_of(line))
    return (found[0] if found else None), (found[1] if len(found) > 1 else None)


def end(folder: Path) -> End | None:
    """Read how a run ended; None if nobody has written that down."""
    with suppress(OSError, msgspec.DecodeError):
        said = msgspec.json.decode((folder / "end").read_bytes(), type=_Said)
        return End(
            exit_code=said.exit_code, at=said.at, reason=said.reason, message=said.message
        )
    path = folder / RECORD
    lines = _whole_lines(path)
    if not lines or not lines[-1].isdecimal():
        return None
    at = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    return End(exit_code=int(lines[-1]) & 255, at=at)


def write_end(folder: Path, end: End) -> None:
    """Write down how a run ended."""
    said = _Said(end.exit_code, end.at, end.reason, end.message)
    (folder / "end").write_bytes(msgspec.json.encode(said))


def _whole_lines(path: Path) -> list[str]:
    """Return the lines of a file that are ended: others are still being written."""
    try:
        return path.read_text(errors="replace").split("\n")[:-1]
    except OSError:
        return []


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Have a folder alone: two runners would start the same pods."""
    descriptor = os.open(folder / "lock", os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise BadInput(
            f"{folder}: another runner is at work here", hint="Stop it, or use another folder."
        ) from None
    try:
        yield
    finally:
        os.close(descriptor)
