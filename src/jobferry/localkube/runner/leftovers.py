"""Ends pods that no runner looks after any more: its cluster is being ended, or was killed."""

import asyncio
from collections.abc import Iterator

from jobferry.clock import Clock, Seconds, timeout
from jobferry.localkube.runner import processes
from jobferry.localkube.runner.processes import Processes
from jobferry.localkube.runner.settings import Settings

GRACE: Seconds = 2.0
"""How long they have to end by themselves; the person who waits for it has pressed Ctrl-C."""

KILLED_WITHIN: Seconds = 5.0


async def end(settings: Settings, clock: Clock) -> bool:
    """End all that runs of the pods of a runner; tell whether there was anything.

    What is known of them stays: the next runner must not start them again.
    """
    async with processes.running(settings, clock) as left:
        found = list(_running(left))
        for uid, name in found:
            left.stop(uid, name)
        if not await _ended(left, clock, GRACE):
            for uid, name in _running(left):
                left.kill(uid, name)
            await _ended(left, clock, KILLED_WITHIN)
    return bool(found)


def _running(left: Processes) -> Iterator[tuple[str, str]]:
    for uid in left.uids():
        for name, attempts in left.attempts(uid).items():
            if attempts[-1].end is None:
                yield uid, name


async def _ended(left: Processes, clock: Clock, within: Seconds) -> bool:
    """Wait until nothing runs any more; tell whether that came true."""
    changed = asyncio.Event()
    left.listen(lambda _: changed.set())
    try:
        async with timeout(clock, within):
            while any(_running(left)):
                changed.clear()
                await changed.wait()
    except TimeoutError:
        return False
    return True
