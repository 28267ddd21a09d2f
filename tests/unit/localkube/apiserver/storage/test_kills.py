"""A store that is killed (SIGKILL) all the time loses nothing that it acknowledged."""

import asyncio
import random
import sys
from asyncio.subprocess import PIPE
from pathlib import Path

import pytest

from jobferry.localkube.apiserver.storage.errors import Compacted
from jobferry.localkube.apiserver.storage.state import Window
from jobferry.localkube.apiserver.storage.store import Storage
from tests.unit.localkube.apiserver.storage.storage_steps import JOBS, storage_at

PROGRAM = Path(__file__).with_name("storage_writers.py")


class Witness:
    """Knows what the program said, and what a watcher saw that resumed after each crash."""

    def __init__(self) -> None:
        self.revision = 1
        self._tried: dict[int, str] = {}
        self._acknowledged: dict[int, tuple[str, bool]] = {}
        self._last_try = 1
        self._unseen: set[int] = set()
        self._copy: dict[str, int] = {}
        self._resumed_at = 1
        self.relisted = 0

    def hear(self, line: bytes) -> None:
        match line.decode().split():
            case ["open", revision]:
                assert int(revision) >= self.revision, "a revision went backwards"
                self.revision = int(revision)
            case ["trying", revision, key]:
                assert int(revision) > self._last_try, "a revision was given out twice"
                self._last_try = int(revision)
                self._tried[int(revision)] = key
            case ["stored" | "deleted" as what, revision, key]:
                assert self._tried[int(revision)] == key
                self._acknowledged[int(revision)] = key, what == "deleted"
                self._unseen.add(int(revision))
                self.revision = max(self.revision, int(revision))

    def examine(self, storage: Storage) -> None:
        """Compare with what is there after a crash."""
        assert storage.revision >= self.revision
        assert storage.revision >= self._last_try
        self.revision = self._last_try = storage.revision
        self._resume(storage)
        there = {entry.key: entry for entry in storage.range(JOBS).entries}
        assert {key: entry.revision for key, entry in there.items()} == self._copy
        for entry in there.values():
            assert entry.fresh() == {"revision": entry.revision}
        for key, (revision, deleted) in self._newest().items():
            found = self._copy.get(key)
            if found != (None if deleted else revision):
                # Another write came after it, and was killed before it could be acknowledged.
                later = [r for r, k in self._tried.items() if k == key and r > revision]
                assert later
                assert found is None or found in later

    def _newest(self) -> dict[str, tuple[int, bool]]:
        newest: dict[str, tuple[int, bool]] = {}
        for revision, (key, deleted) in sorted(self._acknowledged.items()):
            newest[key] = revision, deleted
        return newest

    def _resume(self, storage: Storage) -> None:
        """Go on watching where we left off; list anew if history does not go back so far."""
        try:
            watch = storage.watch(JOBS, after=self._resumed_at)
        except Compacted:
            self.relisted += 1
            self._copy = {entry.key: entry.revision for entry in storage.range(JOBS).entries}
            self._unseen.clear()
        else:
            last = self._resumed_at
            for change in watch.take():
                key, revision = change.entry.key, change.revision
                assert revision > last, "a change was seen twice"
                assert self._tried[revision] == key
                assert (change.previous.revision if change.previous else None) == (
                    self._copy.pop(key, None)
                ), "a change was missed"
                if not change.deleted:
                    self._copy[key] = revision
                self._unseen.discard(revision)
                last = revision
            assert not self._unseen, "an acknowledged write is missing"
        self._resumed_at = storage.revision


async def run_and_kill(path: Path, seed: str, changes: int, witness: Witness) -> None:
    """Let the program say a number of things, then kill it."""
    chance = random.Random(seed)
    lines = chance.choice([0, 1, 2, 10, 100, 1000, 1000, 3000])
    program = await asyncio.create_subprocess_exec(
        sys.executable, PROGRAM, path, seed, str(changes), stdout=PIPE
    )
    assert program.stdout is not None
    try:
        assert await program.stdout.readline() == b"opening\n"
        for _ in range(lines):
            witness.hear(await program.stdout.readline())
    finally:
        program.kill()
    while line := await program.stdout.readline():
        witness.hear(line)
    assert await program.wait() == -9, "it ended by itself"


@pytest.mark.parametrize("changes", [10_000_000, 700])
@pytest.mark.parametrize(
    "kills",
    [
        pytest.param(10, marks=pytest.mark.timeout(120)),
        pytest.param(200, marks=[pytest.mark.soak, pytest.mark.timeout(3600)]),
    ],
)
async def test_nothing_acknowledged_is_lost_though_the_process_is_killed_all_the_time(
    tmp_path: Path, kills: int, changes: int
) -> None:
    path = tmp_path / "objects.db"
    window = Window(changes=changes, size=1 << 40, age=1e9)
    chance = random.Random(kills)
    witness = Witness()
    for number in range(kills):
        await run_and_kill(path, f"{kills}-{number}", changes, witness)
        if chance.random() < 0.7:  # else the next one has to cope with what this one left
            async with storage_at(path, window=window) as storage:
                witness.examine(storage)
    async with storage_at(path, window=window) as storage:
        witness.examine(storage)
    assert (witness.relisted > 0) == (changes < 1000)
