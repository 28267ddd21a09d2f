"""Ends a fleet from outside: the process that runs it, and whatever outlived one that was killed."""

import asyncio
import fcntl
import os
import select
import signal
from contextlib import suppress

from jobferry.clock import Seconds, SystemClock
from jobferry.errors import Error
from jobferry.local.layout import Layout
from jobferry.local.processes import end_pods, kill_leftover

PATIENCE: Seconds = 30.0
"""How long a fleet may take to end by itself; its clusters get half of that."""


def end(layout: Layout, *, patience: Seconds = PATIENCE) -> bool:
    """End everything of a fleet; tell whether there was anything."""
    if not layout.folder.is_dir():
        return False
    layout.check()
    found = _end_owner(layout, patience)
    # The owner lets go of its lock when all has ended, or when it is killed; nobody else shall begin meanwhile.
    with layout.lock.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        return _end_leftovers(layout) or found


def _end_owner(layout: Layout, patience: Seconds) -> bool:
    owner = layout.owner()
    if not owner:
        return False
    with suppress(ProcessLookupError):
        os.kill(owner, signal.SIGCONT)  # a frozen one hears nothing else
        os.kill(owner, signal.SIGTERM)
        if not _ends_within(owner, patience):
            os.kill(owner, signal.SIGKILL)
    return True


def _ends_within(pid: int, patience: Seconds) -> bool:
    descriptor = os.pidfd_open(pid)
    try:
        return bool(select.select([descriptor], [], [], patience)[0])
    finally:
        os.close(descriptor)


def _end_leftovers(layout: Layout) -> bool:
    """End what outlived its owner; what goes wrong in one cluster keeps none of the others from being ended."""
    found = False
    errors: list[Exception] = []
    for name in layout.names():
        folder = layout.cluster(name)
        found |= kill_leftover(folder)
        try:
            found |= asyncio.run(end_pods(name, folder, SystemClock()))
        except (OSError, Error) as error:
            errors.append(error)
    if errors:
        raise errors[0]
    return found
