"""A folder that nobody else can write to, and files in it that nobody else can read.

Whoever could put a key there beforehand would know all that the server keeps, and could be anybody to it.
"""

import fcntl
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from jobferry.errors import BadInput

ROOT = 0
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_OTHERS_ANY = stat.S_IRWXG | stat.S_IRWXO
_ELSEWHERE = "Give a folder of your own, in which nobody else can write."


@contextmanager
def claimed(folder: Path) -> Iterator[None]:
    """Have a folder for ourselves within the block, made if it is not there; raise `BadInput` if it cannot be had."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        check_folder(folder)
        lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise BadInput(f"{folder}: cannot be used: {error.strerror}") from error
    try:
        _lock(lock, folder)
        yield
    finally:
        os.close(lock)


def check_folder(folder: Path, me: int | None = None) -> None:
    """Raise `BadInput` if somebody else than we (or root) could have put something into a folder."""
    _check_owner(folder, folder.lstat(), me)  # of a link to it, if it is one
    check(folder, me)


def check(path: Path, me: int | None = None) -> None:
    """Raise `BadInput` if somebody else than we (or root) could have written what is there."""
    found = path.stat()
    _check_owner(path, found, me)
    _check_mode(path, found)


def check_files(files: Iterable[Path], *, secret: bool) -> None:
    """Raise `BadInput` if a file is somebody else's, can be written by others, or is elsewhere; take secrets back."""
    for file in files:
        try:
            found = file.lstat()
        except FileNotFoundError:
            continue
        if not stat.S_ISREG(found.st_mode):
            what = "a symbolic link" if stat.S_ISLNK(found.st_mode) else "not a file"
            raise BadInput(f"{file}: is {what}", hint="Put a file there, or remove it.")
        check(file)
        if secret and found.st_mode & _OTHERS_ANY:
            file.chmod(0o600)


def write(path: Path, content: bytes) -> None:
    """Write a file that only we can read: all of it, or none if we are killed. What a link points to stays as it is."""
    draft = path.with_name(f"{path.name}.new")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    try:
        draft.unlink(missing_ok=True)
        with os.fdopen(os.open(draft, flags, 0o600), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as error:
        raise BadInput(f"{path}: cannot be written: {error.strerror}") from error


def _lock(descriptor: int, folder: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise BadInput(
            f"{folder}: is in use by another server",
            hint="End that one, or give another folder.",
        ) from error
    except OSError as error:
        raise BadInput(f"{folder}: cannot be locked: {error.strerror}") from error


def _check_owner(path: Path, found: os.stat_result, me: int | None) -> None:
    if found.st_uid not in (ROOT, os.geteuid() if me is None else me):
        raise BadInput(f"{path}: belongs to another user (uid {found.st_uid})", hint=_ELSEWHERE)


def _check_mode(path: Path, found: os.stat_result) -> None:
    if found.st_mode & _OTHERS_WRITE:
        mode = stat.S_IMODE(found.st_mode)
        raise BadInput(
            f"{path}: others can write to it (its mode is {mode:04o})",
            hint=f"If you trust what is there, run: chmod go-w {path}. If not: {_ELSEWHERE}",
        )
