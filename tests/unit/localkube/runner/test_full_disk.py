"""What cannot be written costs a pod its run at most, never its end."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from jobferry.clock import SystemClock
from jobferry.localkube.runner import processes
from jobferry.localkube.runner.orders import Order
from jobferry.localkube.runner.processes import Processes
from jobferry.localkube.runner.settings import Settings


def order(script: str = "exit 3") -> Order:
    path = {"PATH": "/usr/bin:/bin"}
    return Order(command=("/bin/sh", "-c", script), env=path, directory="/")


@pytest.fixture
async def made(tmp_path: Path) -> AsyncIterator[Processes]:
    async with processes.running(Settings(node="n", folder=tmp_path), SystemClock()) as made:
        yield made


async def exit_code(made: Processes, script: str = "exit 3") -> int:
    """Run a container to its end."""
    told = asyncio.Event()
    made.listen(lambda _: told.set())
    await made.start("a", "main", 0, order(script))
    await told.wait()
    end = made.attempts("a")["main"][0].end
    assert end is not None
    return end.exit_code


async def test_who_had_no_room_to_begin_is_started_later(made: Processes) -> None:
    made.folder("a").touch()
    with pytest.raises((FileExistsError, NotADirectoryError)):
        await made.start("a", "main", 0, order())
    made.folder("a").unlink()

    assert await exit_code(made) == 3


async def test_who_cannot_be_given_its_files_has_failed_though_that_cannot_be_noted(
    made: Processes,
) -> None:
    folder = made.folder("a") / "main.0"
    (folder / "record").mkdir(parents=True)
    (folder / "end").mkdir()

    assert await exit_code(made) == 128


async def test_an_end_is_seen_though_it_cannot_be_noted(made: Processes) -> None:
    folder = made.folder("a") / "main.0"
    script = (
        f"mkdir {folder}/end {folder}/log.times; echo why >{folder}/termination; echo; exit 4"
    )

    assert await exit_code(made, script) == 4


async def test_what_is_left_of_a_record_keeps_no_runner_from_starting(tmp_path: Path) -> None:
    settings = Settings(node="n", folder=tmp_path)
    async with processes.running(settings, SystemClock()) as made:
        await exit_code(made)
        record = made.folder("a") / "main.0" / "record"
    record.write_bytes(b"12 (sh\n\xff\n\n")

    async with processes.running(settings, SystemClock()) as made:
        assert made.attempts("a")["main"][0].end is not None
