"""The store against a plain model: writes are accepted, committed, lost and looked at in any order."""

import asyncio
import itertools
from typing import Any, NamedTuple

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from jobferry.localkube.apiserver.storage.errors import (
    CommitFailed,
    Compacted,
    Conflict,
    Future,
)
from jobferry.localkube.apiserver.storage.state import Window
from jobferry.localkube.apiserver.storage.store import Storage
from jobferry.localkube.apiserver.storage.watch import Watch
from jobferry.testing.clock import ManualClock
from tests.needs import SOAK
from tests.unit.localkube.apiserver.storage.held_journal import HeldJournal
from tests.unit.localkube.apiserver.storage.storage_reference import Reference, Seen, seen
from tests.unit.localkube.apiserver.storage.storage_steps import JOBS, PODS, turn

pytestmark = pytest.mark.timeout(120)

KEYS = [JOBS + name for name in ("a/1", "a/2", "a-b/1", "b/1")] + [PODS + "a/1"]
PREFIXES = [JOBS, JOBS + "a/", JOBS + "a-b/", JOBS + "none/", PODS]
WINDOW = Window(changes=12, age=100)


class Watched(NamedTuple):
    """A watch, and what it has yet to show."""

    watch: Watch
    wanted: list[Seen]


class Sent(NamedTuple):
    """A write under way."""

    task: asyncio.Task[Any]
    revision: int
    key: str
    deleted: bool


class Interleavings(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.clock = ManualClock()
        self.journal = HeldJournal()
        self.storage = Storage(self.journal, clock=self.clock, window=WINDOW, buffer=100)
        self.runner.run(self.storage.start())
        self.reference = Reference()
        self.last = 1
        self.line: list[Sent] = []
        self.watches: list[Watched] = []

    def teardown(self) -> None:
        self.lose()
        for each, wanted in self.watches:
            assert list(map(seen, each.take())) == wanted
        self.runner.run(self.storage.close())
        self.runner.close()

    def newest(self, key: str) -> int:
        for sent in reversed(self.line):
            if sent.key == key:
                return 0 if sent.deleted else sent.revision
        now = self.reference.state(self.last).get(key)
        return now.revision if now else 0

    @rule(
        writes=st.lists(st.tuples(st.sampled_from(KEYS), st.booleans()), min_size=1, max_size=4)
    )
    def write(self, writes: list[tuple[str, bool]]) -> None:
        self.runner.run(self._write(writes))

    async def _write(self, writes: list[tuple[str, bool]]) -> None:
        for key, deleted in writes:
            expected = self.newest(key)
            assert (e.revision if (e := self.storage.accepted(key)) else 0) == expected
            write = self.storage.delete if deleted and expected else self.storage.put
            self.last += 1
            task = asyncio.ensure_future(write(key, _digits, expected=expected))
            await asyncio.sleep(0)
            self.line.append(Sent(task, self.last, key, deleted and expected > 0))
            if len(self.line) > 1 and self.line[-2].task.done():
                raise AssertionError("a write was acknowledged before it was committed")
        await turn()

    @rule(key=st.sampled_from(KEYS), off=st.sampled_from([-1, 1]))
    def write_on_the_wrong_state(self, key: str, off: int) -> None:
        expected = self.newest(key) + off

        async def attempt() -> None:
            try:
                await self.storage.put(key, lambda _: b"", expected=expected)
            except Conflict as conflict:
                found = conflict.accepted.revision if conflict.accepted else 0
                assert found == self.newest(key)
            else:
                raise AssertionError("it was accepted")

        self.runner.run(attempt())

    @precondition(lambda self: self.journal.batches)
    @rule()
    def commit(self) -> None:
        count = len(self.journal.batches[0])
        self.journal.commit()
        done, self.line = self.line[:count], self.line[count:]
        for sent in done:
            entry = self.runner.run(_result(sent.task))
            assert (entry.revision, entry.key) == (sent.revision, sent.key)
            value = _digits(sent.revision)
            self.reference.add(sent.revision, sent.key, value, deleted=sent.deleted)
            for each, wanted in self.watches:
                if sent.key.startswith(each.prefix):
                    wanted.append(self.reference.history[-1])

    @precondition(lambda self: self.line)
    @rule()
    def lose(self) -> None:
        self.journal.fail()
        for sent in self.line:
            try:
                self.runner.run(_result(sent.task))
            except CommitFailed:
                continue
            raise AssertionError("it was acknowledged, though it was lost")
        self.line.clear()

    @rule(
        prefix=st.sampled_from(PREFIXES),
        start=st.sampled_from(["", *KEYS]),
        limit=st.integers(0, 3),
        back=st.none() | st.integers(-1, 15),
    )
    def look(self, prefix: str, start: str, limit: int, back: int | None) -> None:
        at = None if back is None else self.storage.revision - back
        try:
            self.reference.check_range(self.storage, prefix, start, limit, at)
        except Future:
            assert back == -1
        except Compacted:
            assert at is not None
            assert at < self.storage.floor

    @rule(prefix=st.sampled_from(PREFIXES), back=st.integers(0, 15))
    def watch(self, prefix: str, back: int) -> None:
        after = self.storage.revision - back
        try:
            begun = self.storage.watch(prefix, after=after)
        except Compacted:
            assert after < self.storage.floor
        else:
            assert after >= self.storage.floor
            self.watches.append(Watched(begun, self.reference.since(prefix, after)))

    @precondition(lambda self: self.watches)
    @rule(data=st.data())
    def take(self, data: st.DataObject) -> None:
        chosen, wanted = data.draw(st.sampled_from(self.watches))
        assert list(map(seen, chosen.take())) == wanted
        wanted.clear()

    @rule(back=st.integers(0, 5))
    def compact(self, back: int) -> None:
        self.storage.compact(through=self.storage.revision - back)

    @rule(seconds=st.integers(1, 60))
    def pass_time(self, seconds: int) -> None:
        self.runner.run(self.clock.pass_time(seconds))

    @invariant()
    def what_is_visible_is_what_is_durable(self) -> None:
        assert self.storage.revision == self.reference.revision
        self.reference.check_newest(self.storage, KEYS)

    @invariant()
    def whoever_writes_builds_on_all_that_is_accepted(self) -> None:
        newest = {key: revision for key in KEYS if (revision := self.newest(key))}
        for prefix in PREFIXES:
            found = [(each.key, each.revision) for each in self.storage.accepted_below(prefix)]
            assert found == sorted(
                each for each in newest.items() if each[0].startswith(prefix)
            )
        assert self.storage.is_settled == (not self.line)

    @invariant()
    def the_window_is_kept(self) -> None:
        within = [e for e in self.reference.history if e.revision > self.storage.floor]
        assert len(within) <= WINDOW.changes
        state = self.storage._state
        assert state.changes == len(within)
        assert state.size == sum(len(each.value) for each in within)
        assert sum(len(shelf.history) for shelf in state._shelves.values()) == len(within)

    @invariant()
    def what_is_removed_from_the_log_is_never_needed_again(self) -> None:
        """Rebuild all that can be looked at from what is left of the log."""
        removed = {each.revision for each in self.journal.stale}
        left = Reference()
        left.history = [e for e in self.reference.history if e.revision not in removed]
        for at in {self.storage.floor, self.storage.revision}:
            assert left.state(at) == self.reference.state(at)
        floor = self.storage.floor
        assert left.since("", floor) == self.reference.since("", floor)

    @invariant()
    def a_part_of_what_is_removed_never_brings_anything_back(self) -> None:
        for count in range(len(self.journal.stale) + 1):
            removed = {each.revision for each in itertools.islice(self.journal.stale, count)}
            left = Reference()
            left.history = [e for e in self.reference.history if e.revision not in removed]
            now = self.storage.revision
            assert left.state(now) == self.reference.state(now)


def _digits(revision: int) -> bytes:
    return b"%d" % revision


async def _result(task: asyncio.Task[Any]) -> Any:
    return await task


Interleavings.TestCase.settings = settings(
    max_examples=600 if SOAK else 20, stateful_step_count=40
)
test_the_store_is_like_its_model_whatever_the_order = Interleavings.TestCase
