"""The store on SQLite against a plain model: faults of the disk, restarts and crashes in any order."""

import asyncio
import shutil
import tempfile
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from jobferry.localkube.apiserver.storage import writer
from jobferry.localkube.apiserver.storage.entry import Entry
from jobferry.localkube.apiserver.storage.errors import CommitFailed, Compacted
from jobferry.localkube.apiserver.storage.state import Window
from jobferry.localkube.apiserver.storage.store import Storage, open_storage
from jobferry.testing.clock import ManualClock
from tests.needs import SOAK
from tests.unit.localkube.apiserver.storage.faulty_disk import FaultyDisk
from tests.unit.localkube.apiserver.storage.storage_reference import Reference, seen
from tests.unit.localkube.apiserver.storage.storage_steps import JOBS, PODS

pytestmark = pytest.mark.timeout(120)

KEYS = [JOBS + name for name in ("a/1", "a/2", "b/1")] + [PODS + "a/1"]
WINDOW = Window(changes=15)


class Restarts(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.clock = ManualClock()
        self.folder = Path(tempfile.mkdtemp(prefix="restarts-"))
        self.disk = FaultyDisk()
        self.reference = Reference()
        self.given_out: set[int] = set()
        self.doubtful: dict[int, tuple[str, bytes, bool]] = {}
        """Writes that failed: where the disk is to blame, a crash may bring the newest ones back."""

        self.files = 0
        self.revision = self.watched = 1
        self._piece, writer.PIECE = writer.PIECE, 4  # so that something is removed at all
        self.open(self.folder / "0.db")

    def teardown(self) -> None:
        self.disk.is_full = self.disk.is_failing = False
        self.close()
        self.runner.close()
        self.disk.unregister()
        shutil.rmtree(self.folder)
        writer.PIECE = self._piece

    def open(self, path: Path) -> None:
        self.path = path
        self.opening: AbstractAsyncContextManager[Storage] = open_storage(
            path, clock=self.clock, window=WINDOW, vfs=self.disk.name
        )
        self.storage = self.runner.run(_enter(self.opening))
        assert self.storage.revision >= self.revision, "it went backwards"
        assert self.storage.revision >= max(self.given_out, default=1)
        self.check_history()

    def close(self) -> None:
        self.revision = self.storage.revision
        self.runner.run(_leave(self.opening))

    def check_history(self) -> None:
        """Resume a watch: everything acknowledged is there once, and what failed at most came back."""
        try:
            for prefix in (JOBS, PODS):
                self.storage.watch(prefix, after=self.watched)
        except Compacted:
            self.watched = self.storage.floor
        newer = self.storage._state.revision
        missed = []
        for prefix in (JOBS, PODS):
            with self.storage.watch(prefix, after=self.watched) as watch:
                missed += [seen(each) for each in watch.take()]
        missed.sort()
        back = [each for each in missed if each.revision > self.reference.revision]
        for each in back:
            assert self.doubtful[each.revision] == (each.key, each.value, each.deleted)
            self.reference.add(each.revision, each.key, each.value, deleted=each.deleted)
        assert missed == self.reference.since("", self.watched)
        self.watched = newer
        self.doubtful.clear()

    @rule(
        writes=st.lists(st.tuples(st.sampled_from(KEYS), st.booleans()), min_size=1, max_size=6)
    )
    def write(self, writes: list[tuple[str, bool]]) -> None:
        results = self.runner.run(self._write(writes))
        for entry, deleted in sorted(results, key=lambda result: result[0].revision):
            self.reference.add(entry.revision, entry.key, entry.value, deleted=deleted)

    async def _write(self, writes: list[tuple[str, bool]]) -> list[tuple[Entry, bool]]:
        return [
            result
            for result in await asyncio.gather(*(self._one(*each) for each in writes))
            if result is not None
        ]

    async def _one(self, key: str, deleted: bool) -> tuple[Entry, bool] | None:
        before = self.storage.accepted(key)
        deleted = deleted and before is not None
        write = self.storage.delete if deleted else self.storage.put
        expected = before.revision if before else 0
        try:
            return await write(key, self._encode(key, deleted), expected=expected), deleted
        except CommitFailed:
            assert self.disk.is_full or self.disk.is_failing or self.storage._reserving
            return None

    def _encode(self, key: str, deleted: bool) -> Callable[[int], bytes]:
        def encode(revision: int) -> bytes:
            assert revision not in self.given_out
            self.given_out.add(revision)
            value = b"%d" % revision
            self.doubtful[revision] = key, value, deleted
            return value

        return encode

    @rule()
    def fill_the_disk(self) -> None:
        self.disk.is_full = True

    @rule()
    def break_the_disk(self) -> None:
        self.disk.is_failing = True

    @rule()
    def mend_the_disk(self) -> None:
        self.disk.is_full = self.disk.is_failing = False

    @rule(mended=st.booleans())
    def restart(self, mended: bool) -> None:
        if mended:
            self.mend_the_disk()
        self.close()
        self.mend_the_disk()
        self.open(self.path)

    @rule(mended=st.booleans())
    def crash(self, mended: bool) -> None:
        if mended:
            self.mend_the_disk()
        self.files += 1
        copy = self.folder / f"{self.files}.db"
        for end in ("", "-wal"):
            if (file := Path(f"{self.path}{end}")).exists():
                shutil.copy(file, f"{copy}{end}")
        self.close()
        self.mend_the_disk()
        self.open(copy)

    @rule(back=st.integers(0, 20))
    def look_back(self, back: int) -> None:
        at = self.storage.revision - back
        try:
            self.reference.check_range(self.storage, JOBS, "", 0, at)
        except Compacted:
            assert at < self.storage.floor

    @rule()
    def compact(self) -> None:
        self.storage.compact(through=self.storage.revision - 5)

    @invariant()
    def what_is_visible_is_what_was_acknowledged(self) -> None:
        self.reference.check_newest(self.storage, KEYS)


async def _enter(opening: AbstractAsyncContextManager[Storage]) -> Storage:
    return await opening.__aenter__()


async def _leave(opening: AbstractAsyncContextManager[Storage]) -> None:
    await opening.__aexit__(None, None, None)


Restarts.TestCase.settings = settings(max_examples=400 if SOAK else 15, stateful_step_count=25)
test_the_store_is_like_its_model_whatever_happens_to_it = Restarts.TestCase
