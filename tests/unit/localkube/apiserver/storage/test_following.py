import pytest

from jobferry.localkube.apiserver.storage.entry import Change
from jobferry.localkube.apiserver.storage.following import follow
from tests.unit.localkube.apiserver.storage.storage_steps import (
    JOBS,
    PODS,
    delete,
    put,
    shown,
    storage_at,
)

A = JOBS + "ns/a"
B = JOBS + "ns/b"


async def test_one_hears_of_what_is_there_and_then_of_every_change() -> None:
    async with storage_at(None) as storage:
        await put(storage, A)
        taken: list[Change] = []
        with follow(storage, JOBS, taken.append):
            assert shown(taken) == [(2, A, False)]
            await put(storage, B)
            await put(storage, PODS + "ns/p")
            await delete(storage, A)

        await put(storage, A)
        assert shown(taken) == [(2, A, False), (3, B, False), (5, A, True)]


async def test_one_can_begin_after_a_revision() -> None:
    async with storage_at(None) as storage:
        await put(storage, A)
        taken: list[Change] = []
        with follow(storage, JOBS, taken.append, after=storage.revision):
            await put(storage, B)

        assert shown(taken) == [(3, B, False)]


async def test_a_change_counts_before_its_writer_goes_on() -> None:
    async with storage_at(None) as storage:
        taken: list[Change] = []
        follow(storage, JOBS, taken.append)

        await put(storage, A)

        assert shown(taken) == [(2, A, False)]


async def test_a_change_that_cannot_be_taken_in_is_left_out(
    caplog: pytest.LogCaptureFixture,
) -> None:
    taken: list[str] = []

    def take(change: Change) -> None:
        if change.entry.key == A:
            raise ZeroDivisionError
        taken.append(change.entry.key)

    async with storage_at(None) as storage:
        await put(storage, A)
        with follow(storage, JOBS, take):
            await put(storage, A)
            await put(storage, B)

    assert taken == [B]
    assert caplog.messages == ["A change could not be taken in"] * 2
