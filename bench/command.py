"""What every bench does alike: say how far it is, on which machine, and what came of it."""

import asyncio
import os
import platform
import sys
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any

import msgspec

from jobferry.clock import Seconds, SystemClock
from jobferry.errors import Error

new_event_loop: Callable[[], asyncio.AbstractEventLoop]
try:
    from uvloop import new_event_loop
except ImportError:  # it is not for every platform
    from asyncio import new_event_loop

WITHIN: Seconds = 900.0
"""How long anything that is waited for may take."""

LOOK_EVERY: Seconds = 0.1

Found = dict[str, Any]
"""Everything that a bench found out, ready for JSON."""


class Failed(Error):
    """Something that is measured did not get to the end."""


def say(progress: str) -> None:
    """Tell how far it is, apart from the results."""
    print(progress, file=sys.stderr, flush=True)


async def on_this_machine(measuring: Coroutine[Any, Any, Found]) -> Found:
    """Measure, and note when and where that was, and how busy the machine was."""
    about = {
        "date": SystemClock().now().isoformat(timespec="seconds"),
        "cpus": os.cpu_count(),
        "python": platform.python_version(),
        "load": os.getloadavg(),
    }
    found = await measuring
    return {**about, "load_after": os.getloadavg(), **found}


async def until(
    holds: Callable[[], Awaitable[bool]], what: str, *, every: Seconds = LOOK_EVERY
) -> None:
    """Look until something holds that nobody tells us about."""
    try:
        async with asyncio.timeout(WITHIN):
            while not await holds():  # noqa: ASYNC110 (it is for others to make it hold)
                await asyncio.sleep(every)
    except TimeoutError:
        raise Failed(f"{what}: not so after {WITHIN:g} s") from None


def machine(found: Found) -> str:
    """Show where it was measured."""
    before, after = found["load"][0], found["load_after"][0]
    where = f"kube-apiserver {found['kubernetes']} over TLS, Python {found['python']}"
    return f"{where}, {found['cpus']} CPUs, load {before:.1f} before and {after:.1f} after."


def run(
    measuring: Callable[[], Coroutine[Any, Any, Found]],
    show: Callable[[Found], str],
    json: Path | None,
) -> int:
    """Measure and print; fails only if something did not work, whatever the figures are."""
    try:
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            found = runner.run(on_this_machine(measuring()))
    except Error as error:
        say(" ".join(filter(None, [f"{error}.", error.hint])))
        return 1
    print(show(found))
    if json is not None:
        json.write_bytes(msgspec.json.format(msgspec.json.encode(found)))
    return 0
