import asyncio
import os
import signal

import pytest

from jobferry.errors import BadInput
from jobferry.runtime.termination import until_told


def terminate() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


async def test_what_is_told_to_end_cleans_up_and_that_is_no_failure() -> None:
    ended = []

    async def run() -> None:
        try:
            terminate()
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            ended.append("in order")

    await until_told(run())

    assert ended == ["in order"]


async def test_what_is_told_twice_does_not_finish_its_clean_up() -> None:
    async def run() -> None:
        try:
            terminate()
            await asyncio.Event().wait()
        finally:
            terminate()
            await asyncio.Event().wait()

    await until_told(run())


async def test_what_fails_or_is_cancelled_by_others_still_says_so() -> None:
    async def fail() -> None:
        raise BadInput("no")

    with pytest.raises(BadInput):
        await until_told(fail())

    waiting = asyncio.create_task(until_told(asyncio.Event().wait()))  # type: ignore[arg-type]
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting


async def test_the_signal_has_its_usual_meaning_afterwards() -> None:
    async def nothing() -> None:
        pass

    await until_told(nothing())

    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
