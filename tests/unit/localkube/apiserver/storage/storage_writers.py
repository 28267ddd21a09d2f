"""A program that writes until it is killed, and says what it does: see test_kills.

opening
open <revision>
trying <revision> <key>        a revision was given to a write
stored <revision> <key>        the write was acknowledged
deleted <revision> <key>       so was the delete
"""

import asyncio
import os
import random
import sys
from pathlib import Path

from jobferry.clock import SystemClock
from jobferry.localkube.apiserver.storage.state import Window
from jobferry.localkube.apiserver.storage.store import Storage, open_storage

WRITERS = 8


def say(*words: object) -> None:
    # One write, no buffer: what was said is known to the parent even if this is the last thing we do.
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


async def write_forever(storage: Storage, number: int, chance: random.Random) -> None:
    padding = b" " * chance.choice([0, 100, 5000])
    while True:
        key = f"/registry/batch/jobs/ns-{number}/{chance.randrange(4)}"

        def encode(revision: int, key: str = key) -> bytes:
            say("trying", revision, key)
            return b'{"revision":%d}' % revision + padding

        before = storage.accepted(key)
        if before is not None and chance.random() < 0.3:
            entry = await storage.delete(key, encode, expected=before.revision)
            say("deleted", entry.revision, key)
        else:
            expected = before.revision if before else 0
            entry = await storage.put(key, encode, expected=expected)
            say("stored", entry.revision, key)


async def main(path: str, seed: str, changes: str) -> None:
    say("opening")
    window = Window(changes=int(changes), size=1 << 40, age=1e9)
    async with open_storage(Path(path), clock=SystemClock(), window=window) as storage:
        say("open", storage.revision)
        async with asyncio.TaskGroup() as tasks:
            for number in range(WRITERS):
                chance = random.Random(f"{seed}-{number}")
                tasks.create_task(write_forever(storage, number, chance))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
