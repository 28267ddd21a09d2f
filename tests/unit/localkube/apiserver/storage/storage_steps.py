"""Short words for what the tests of the store do all the time."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from jobferry.clock import Clock, SystemClock
from jobferry.localkube.apiserver.storage.entry import Change, Entry
from jobferry.localkube.apiserver.storage.journal import Journal
from jobferry.localkube.apiserver.storage.state import Window
from jobferry.localkube.apiserver.storage.store import BUFFER, WINDOW, Storage, open_storage
from tests.unit.localkube.apiserver.storage.faulty_disk import FaultyDisk

CLOCK = SystemClock()
JOBS = "/registry/batch/jobs/"
PODS = "/registry/core/pods/"


def value(revision: int) -> bytes:
    return b'{"revision":%d}' % revision


async def put(storage: Storage, key: str, expected: int | None = None) -> Entry:
    return await storage.put(key, value, expected=expected)


async def delete(storage: Storage, key: str, expected: int | None = None) -> Entry:
    return await storage.delete(key, value, expected=expected)


def keys(entries: Sequence[Entry]) -> list[str]:
    return [entry.key for entry in entries]


def shown(changes: Sequence[Change]) -> list[tuple[int, str, bool]]:
    return [(each.revision, each.entry.key, each.deleted) for each in changes]


async def turn() -> None:
    """Let the loop go round: tasks start, and what they write gets in line."""
    for _ in range(3):
        await asyncio.sleep(0)


@asynccontextmanager
async def storage_on(
    journal: Journal, *, clock: Clock = CLOCK, window: Window = WINDOW, buffer: int = BUFFER
) -> AsyncIterator[Storage]:
    storage = Storage(journal, clock=clock, window=window, buffer=buffer)
    await storage.start()
    yield storage
    await storage.close()


@asynccontextmanager
async def storage_at(
    path: Path | None,
    *,
    disk: FaultyDisk | None = None,
    clock: Clock = CLOCK,
    window: Window = WINDOW,
) -> AsyncIterator[Storage]:
    vfs = disk.name if disk else ""
    async with open_storage(path, clock=clock, window=window, vfs=vfs) as storage:
        yield storage
