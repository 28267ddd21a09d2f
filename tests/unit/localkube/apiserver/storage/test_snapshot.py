"""A store in memory can be forked: the copy has the same revisions, history and times."""

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobferry.localkube.apiserver.storage.errors import Compacted
from jobferry.localkube.apiserver.storage.journal import Contents
from jobferry.localkube.apiserver.storage.state import Window
from jobferry.localkube.apiserver.storage.store import Storage, open_storage
from jobferry.testing.clock import ManualClock
from tests.unit.localkube.apiserver.storage.held_journal import HeldJournal
from tests.unit.localkube.apiserver.storage.storage_reference import seen
from tests.unit.localkube.apiserver.storage.storage_steps import (
    JOBS,
    PODS,
    delete,
    put,
    shown,
    storage_at,
    storage_on,
    turn,
)

A = JOBS + "ns/a"
B = JOBS + "ns/b"
KEYS = (A, B, PODS + "ns/p")
SMALL = Window(changes=5, age=100)


async def test_a_fork_goes_on_where_the_other_was_and_leaves_it_alone() -> None:
    clock = ManualClock()
    async with storage_at(None, clock=clock) as storage:
        await put(storage, A)
        await put(storage, B)
        await delete(storage, B)
        taken = await storage.snapshot()

        async with open_storage(None, clock=clock, contents=taken) as fork:
            assert (await put(fork, A, 2)).revision == 5
            assert shown(fork.watch(JOBS, after=1).take()) == [
                (2, A, False),
                (3, B, False),
                (4, B, True),
                (5, A, False),
            ]

        assert storage.revision == 4
        assert (await put(storage, B, 0)).revision == 5


async def test_a_snapshot_waits_for_writes_under_way() -> None:
    journal = HeldJournal()
    async with storage_on(journal) as storage, asyncio.TaskGroup() as tasks:
        tasks.create_task(put(storage, A))
        await turn()
        snapshot = tasks.create_task(storage.snapshot())
        await turn()
        assert not snapshot.done()

        journal.commit()

        assert [each.entry.key for each in (await snapshot).records] == [A]


async def test_history_ages_in_a_fork_as_it_would_have() -> None:
    clock = ManualClock()
    async with storage_at(None, clock=clock, window=SMALL) as storage:
        await put(storage, A)
        clock.advance(60)
        await put(storage, A)
        taken = await storage.snapshot()

    async with open_storage(None, clock=clock, window=SMALL, contents=taken) as fork:
        assert len(fork.watch(JOBS, after=1).take()) == 2
        await clock.pass_time(50)
        with pytest.raises(Compacted):
            fork.watch(JOBS, after=1)
        assert len(fork.watch(JOBS, after=2).take()) == 1


async def test_what_is_on_disk_can_be_forked_in_memory(tmp_path: Path) -> None:
    async with storage_at(tmp_path / "state.db") as storage:
        await put(storage, A)
        taken = await storage.snapshot()
        async with open_storage(None, clock=ManualClock(), contents=taken) as fork:
            assert fork.get(A) == storage.get(A)


@given(
    st.lists(
        st.tuples(st.sampled_from(KEYS), st.booleans(), st.sampled_from([0, 30])), max_size=25
    )
)
def test_a_fork_cannot_be_told_from_the_other(steps: list[tuple[str, bool, int]]) -> None:
    asyncio.run(_compare(steps))


async def _compare(steps: list[tuple[str, bool, int]]) -> None:
    clock = ManualClock()
    async with storage_at(None, clock=clock, window=SMALL) as storage:
        for key, deleted, pause in steps:
            clock.advance(pause)
            write = delete if deleted and storage.get(key) else put
            await write(storage, key)
        taken = await storage.snapshot()
        async with open_storage(None, clock=clock, window=SMALL, contents=taken) as fork:
            assert _shown(fork) == _shown(storage)
            assert _values(await fork.snapshot()) == _values(taken)


def _shown(storage: Storage) -> object:
    floor, newest = storage.floor, storage.revision
    prefixes = (JOBS, PODS)
    return (
        floor,
        newest,
        storage.stats(),
        [storage.range(each, at=at) for each in prefixes for at in range(floor, newest + 1)],
        [
            list(map(seen, storage.watch(each, after=at).take()))
            for each in prefixes
            for at in range(floor, newest + 1)
        ],
    )


def _values(contents: Contents) -> object:
    return contents._replace(records=tuple(contents.records))
