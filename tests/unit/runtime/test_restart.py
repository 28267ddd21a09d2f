import asyncio
import logging
from random import Random

import pytest

from jobferry.clock import sleep
from jobferry.errors import BadInput, Transient
from jobferry.runtime import restart
from jobferry.runtime.backoff import Backoff
from jobferry.testing.clock import ManualClock, settle

RANDOM = Random(0)


class Flaky:
    """Runs for a while, then fails, some times over."""

    def __init__(self, clock: ManualClock, errors: list[Exception], runs_for: float) -> None:
        self.clock = clock
        self.errors = errors
        self.runs_for = runs_for
        self.starts: list[float] = []

    async def run(self) -> None:
        self.starts.append(self.clock.monotonic() - 1000)
        await sleep(self.clock, self.runs_for)
        if self.errors:
            raise self.errors.pop(0)


async def kept(flaky: Flaky) -> asyncio.Task[None]:
    backoff = Backoff(first=1, factor=2, cap=10, jitter=0)
    keep = restart.keep_running(flaky.run, clock=flaky.clock, backoff=backoff, random=RANDOM)
    task = asyncio.create_task(keep)
    await settle()
    return task


async def test_who_is_kept_running_starts_again_after_ever_longer_waits(
    caplog: pytest.LogCaptureFixture,
) -> None:
    flaky = Flaky(ManualClock(), [Transient("x"), KeyError(), Transient("x")], runs_for=0)

    task = await kept(flaky)
    await flaky.clock.pass_time(100)

    assert task.done()
    assert flaky.starts == [0, 1, 3, 7]
    assert [record.levelno for record in caplog.records] == [
        logging.WARNING,
        logging.ERROR,
        logging.WARNING,
    ]


async def test_who_has_run_long_enough_waits_as_after_a_first_failure() -> None:
    flaky = Flaky(ManualClock(), [Transient("x")] * 3, runs_for=20)

    await kept(flaky)
    await flaky.clock.pass_time(100)

    assert flaky.starts == [0, 21, 42, 63]


async def test_bad_input_is_final_even_for_who_is_kept_running() -> None:
    flaky = Flaky(ManualClock(), [BadInput("wrong")], runs_for=0)

    task = await kept(flaky)

    assert isinstance(task.exception(), BadInput)
    assert flaky.starts == [0]
