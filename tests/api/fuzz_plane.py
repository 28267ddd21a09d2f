"""A server in its own process under attack: how it is reached, and what it holds while nobody asks."""

import asyncio
import ssl
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import Random
from urllib.parse import urlsplit

from jobferry.clock import Seconds, SystemClock, sleep
from jobferry.testing.control_plane import ControlPlane
from tests.api import fuzz_wire
from tests.api.crash_writers import Way
from tests.api.fuzz_wire import Place

ATTACKERS = 8
CALM: Seconds = 20.0


@dataclass(frozen=True, slots=True)
class Held:
    """What a process holds."""

    files: int
    memory: int


def place_of(plane: ControlPlane) -> Place:
    """Return where a control plane is, for somebody who may do everything."""
    context = ssl.create_default_context(cafile=str(plane.folder / "ca.crt"))
    context.load_cert_chain(plane.folder / "admin.crt", plane.folder / "admin.key")
    parts = urlsplit(plane.url)
    assert parts.hostname is not None
    assert parts.port is not None
    return Place(parts.hostname, parts.port, context)


def held(plane: ControlPlane) -> Held:
    """Return what the server holds now."""
    process = Path("/proc") / str(plane.pid())
    pages = int((process / "statm").read_text().split()[1])
    return Held(len(list((process / "fd").iterdir())), pages * 4096)


async def at_rest(plane: ControlPlane, files: int = 0) -> Held:
    """Return what it holds when all who left are gone: at most so many files, if it gets there."""
    clock = SystemClock()
    end = clock.monotonic() + CALM
    found = held(plane)
    while clock.monotonic() < end and (not files or found.files > files):
        await sleep(clock, 0.1)
        now = held(plane)
        if not files and now.files == found.files:
            files = now.files
        found = now
    return found


async def storm(rng: Random, place: Place, way: Way, attacks: int) -> None:
    """Let each attacker try so many times; whoever asks decently meanwhile is served."""
    working = ATTACKERS

    async def attacker(seed: float) -> None:
        nonlocal working
        own = Random(seed)
        for script in islice(fuzz_wire.scripts(own), attacks):
            heard = await fuzz_wire.attack(own, place, script)
            assert not heard or heard.startswith(b"HTTP/1.1 "), (script[:300], heard[:300])
            assert b"see the log of the server" not in heard, script[:3000]
        working -= 1

    async with asyncio.TaskGroup() as tasks:
        for _ in range(ATTACKERS):
            tasks.create_task(attacker(rng.random()))
        while working:
            answer = await way.ask("GET", "/api/v1/namespaces/default")
            assert answer.code == 200
            await sleep(SystemClock(), 0.05)
