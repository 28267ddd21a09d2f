"""Ends a program in order when the system asks it to (SIGTERM), as Kubernetes does before it kills."""

import asyncio
import signal
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any


async def until_told(run: Coroutine[Any, Any, None]) -> None:
    """Run to the end, or until SIGTERM: then cancel, and wait for the clean-up; asked again, it hurries."""
    loop, main = asyncio.get_running_loop(), asyncio.current_task()
    was_told = False

    def stop() -> None:
        nonlocal was_told
        was_told = True
        if main is not None:
            main.cancel()

    with suppress(NotImplementedError):  # not every platform has signals
        loop.add_signal_handler(signal.SIGTERM, stop)
    try:
        await run
    except asyncio.CancelledError:
        if not was_told:
            raise
    finally:
        with suppress(NotImplementedError):
            loop.remove_signal_handler(signal.SIGTERM)
