"""Runs something with private mounts: in a thread that leaves the mounts of all others as they are.

The kernel lets a single thread have its own view of the file system (`unshare`), which its children inherit, and
lets it go back (`setns`). So no program has to be started only to mount something. Only who may administer the
machine can do that.
"""

import ctypes
import os
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

from jobferry.localkube.runner.mounts import Bind, Make, Plan

T = TypeVar("T")

_NEW_MOUNTS, _OWN_ROOT = 0x00020000, 0x00000200
_READ_ONLY, _REMOUNT, _BIND, _RECURSIVE, _PRIVATE = 1, 32, 4096, 16384, 1 << 18

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mount.argtypes = (*[ctypes.c_char_p] * 3, ctypes.c_ulong, ctypes.c_char_p)


def can_mount() -> bool:
    """Tell whether this process may have private mounts."""
    try:
        return _in_a_thread(lambda: apart(lambda: True, lambda: None))
    except (OSError, AttributeError):
        return False


def apart(run: Callable[[], T], prepare: Callable[[], None]) -> T:
    """Return what `run` returns, with mounts of its own that `prepare` has made.

    Only for threads other than the main one, which keeps what they come back to.
    """
    with _opened("/proc/self/root") as root, _opened("/proc/self/ns/mnt") as namespace:
        _check(_libc.unshare(_NEW_MOUNTS), "unshare")
        try:
            _mount(None, "/", None, _RECURSIVE | _PRIVATE)
            prepare()
            return run()
        finally:
            _enter(namespace, root)


def joined(pid: int, run: Callable[[], T]) -> T:
    """Return what `run` returns, with the mounts and the root that a process has."""
    view = f"/proc/{pid}/ns/mnt"
    if os.readlink(view) == os.readlink("/proc/self/ns/mnt"):
        return run()

    def work() -> T:
        with _opened(f"/proc/{pid}/root") as root, _opened(view) as namespace:
            _check(_libc.unshare(_OWN_ROOT), "unshare")
            _enter(namespace, root)
            return run()

    return _in_a_thread(work)


@contextmanager
def _opened(path: str) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _enter(namespace: int, root: int) -> None:
    _check(_libc.setns(namespace, _NEW_MOUNTS), "setns")
    os.fchdir(root)
    os.chroot(".")


def _in_a_thread(work: Callable[[], T]) -> T:
    """Do something in a thread of its own, which ends with it."""
    results: list[T] = []
    errors: list[Exception] = []

    def guarded() -> None:
        try:
            results.append(work())
        except Exception as error:  # noqa: BLE001 (raised in the caller's thread)
            errors.append(error)

    thread = threading.Thread(target=guarded, name="mounts")
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]


def build(plan: Plan, stage: str) -> None:
    """Mount what is planned; a root of its own is built at `stage`, an empty directory."""
    if plan.has_own_root:
        _mount("tmpfs", stage, "tmpfs", 0, "mode=755")
    root = stage if plan.has_own_root else ""
    for step in plan.steps:
        if isinstance(step, Make):
            _make(root + step.path, step)
        else:
            _bind(step, root + step.target)
    if plan.has_own_root:
        os.chroot(root)
        os.chdir("/")


def _make(path: str, step: Make) -> None:
    if step.link:
        os.symlink(step.link, path)
    elif step.is_directory:
        try:
            os.mkdir(path)
        except FileExistsError:
            pass
        except FileNotFoundError:
            os.makedirs(path)
    else:
        with suppress(FileExistsError):
            os.mknod(path, stat.S_IFREG | 0o644)


def _bind(step: Bind, target: str) -> None:
    _mount(step.source, target, None, _BIND | _RECURSIVE)
    if step.read_only:
        _mount(None, target, None, _REMOUNT | _BIND | _READ_ONLY)


def _mount(
    source: str | None, target: str, kind: str | None, flags: int, options: str | None = None
) -> None:
    from_, at = source and os.fsencode(source), os.fsencode(target)
    result = _libc.mount(from_, at, kind and kind.encode(), flags, options and options.encode())
    if result != 0:
        _check(result, f"mount {source} at {target}")


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
