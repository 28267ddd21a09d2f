"""What was started is written down first, and never twice."""

import asyncio
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from jobferry.localkube.runner import journal
from jobferry.localkube.runner.journal import Start

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def start(uid: str, number: int = 0) -> Start:
    return Start(uid, "main", number, NOW, "boot")


async def test_what_was_recorded_is_there_after_a_crash(tmp_path: Path) -> None:
    path = tmp_path / "starts"
    with journal.opened(path, lambda _: True) as book:
        async with asyncio.TaskGroup() as group:
            for number in range(20):
                group.create_task(book.record(start("a", number)))
    with path.open("ab") as file:
        file.write(b'{"uid":"cut off')

    with journal.opened(path, lambda _: True) as book:
        assert {each.number for each in book.starts} == set(range(20))
    with journal.opened(path, lambda each: each.number == 3) as book:
        assert book.starts == [start("a", 3)]


async def test_nothing_is_recorded_twice(tmp_path: Path) -> None:
    with journal.opened(tmp_path / "starts", lambda _: True) as book:
        await book.record(start("a"))

        with pytest.raises(ValueError, match="was started"):
            await book.record(start("a"))

    with (
        journal.opened(tmp_path / "starts", lambda _: True) as book,
        pytest.raises(ValueError, match="was started"),
    ):
        await book.record(start("a"))


@contextmanager
def no_file_longer_than(size: int) -> Iterator[None]:
    """Take a part of a line, and then nothing, as a full disk does."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


async def test_a_full_disk_spoils_no_line_and_is_tried_again(tmp_path: Path) -> None:
    path = tmp_path / "starts"
    with journal.opened(path, lambda _: True) as book:
        await book.record(start("a"))
        with (
            no_file_longer_than(path.stat().st_size + 10),
            pytest.raises(OSError, match="too large"),
        ):
            await book.record(start("b"))

        await book.record(start("c"))
        await book.record(start("b"))

    with journal.opened(path, lambda _: True) as book:
        assert book.starts == [start("a"), start("c"), start("b")]


async def test_a_line_that_cannot_be_read_hides_no_other(tmp_path: Path) -> None:
    path = tmp_path / "starts"
    with journal.opened(path, lambda _: True) as book:
        await book.record(start("a"))
    path.write_bytes(b'{"uid": 7}\n\xff\n' + path.read_bytes())

    with journal.opened(path, lambda _: True) as book:
        assert book.starts == [start("a")]
