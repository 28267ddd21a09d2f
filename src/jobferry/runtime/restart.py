"""Starts again what failed, for tasks whose owner says so."""

from random import Random

from jobferry import log
from jobferry.clock import Clock, sleep
from jobferry.errors import BadInput
from jobferry.runtime.backoff import Backoff
from jobferry.runtime.supervise import Run

_log = log.get(__name__)


async def keep_running(run: Run, *, clock: Clock, backoff: Backoff, random: Random) -> None:
    """Run a function until it returns: start it again after each failure, unless that is final."""
    failures = 0
    while True:
        started = clock.monotonic()
        try:
            return await run()
        except BadInput:
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, another start may help
            # Who has run well for longer than the longest wait begins anew.
            lasted = clock.monotonic() - started > backoff.cap
            failures = 1 if lasted else failures + 1
            delay = backoff.delay(failures, random.random())
            _log.failure("Task failed; starting it again", error, again_in=round(delay, 3))
            await sleep(clock, delay)
