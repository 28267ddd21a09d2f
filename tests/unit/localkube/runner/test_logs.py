"""Logs as files: which part is read, with which times, and how long they get."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from jobferry.localkube.runner import logs
from jobferry.localkube.runner.logs import Log, Window

START = datetime(2026, 1, 1, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


@pytest.fixture
def log(tmp_path: Path) -> Log:
    """A log of three lines, written one, two and three seconds after the start."""
    made = Log(tmp_path / "log")
    for second, line in enumerate(["one\n", "two\n", "three\n"], 1):
        write(made, line)
        made.note(at(second))
    return made


def write(log: Log, text: str) -> None:
    with log.path.open("a") as file:
        file.write(text)


async def read(log: Log, window: Window, now: float = 10) -> str:
    return b"".join([part async for part in log.read(window, at(now))]).decode()


@pytest.mark.parametrize(
    ("window", "text"),
    [
        (Window(), "one\ntwo\nthree\n"),
        (Window(tail=2), "two\nthree\n"),
        (Window(tail=0), ""),
        (Window(tail=9), "one\ntwo\nthree\n"),
        (Window(limit=5), "one\nt"),
        (Window(since=at(2)), "two\nthree\n"),
        (Window(since=at(2.5)), "three\n"),
        (Window(since=at(9)), ""),
        (Window(since=at(2), tail=1), "three\n"),
        (Window(tail=1, timestamps=True), "2026-01-01T00:00:03.000000000Z three\n"),
    ],
)
async def test_which_part_is_read(log: Log, window: Window, text: str) -> None:
    assert await read(log, window) == text


async def test_a_line_that_is_not_ended_is_read_as_it_is(log: Log) -> None:
    write(log, "rest")

    assert await read(log, Window(tail=1)) == "rest"
    stamped = await read(log, Window(tail=1, timestamps=True))
    assert stamped == "2026-01-01T00:00:10.000000000Z rest"


async def test_times_outlive_the_runner(log: Log) -> None:
    again = Log(log.path)

    text = await read(again, Window(timestamps=True))

    assert [line[17:19] for line in text.splitlines()] == ["01", "02", "03"]


async def test_a_long_log_loses_its_beginning_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "LONGEST", 100_000)
    monkeypatch.setattr(logs, "SPARE", 50_000)
    log = Log(tmp_path / "log")
    for number in range(40):
        write(log, "".join(f"{number:04}-{line:04}\n" for line in range(1000)))
        log.note(at(number))

    lines = (await read(log, Window())).splitlines()
    again = (await read(Log(log.path), Window())).splitlines()

    assert lines[-1] == "0039-0999"
    assert lines == sorted(lines)
    assert all(len(line) == 9 for line in lines)
    assert 10_000 <= len(lines) <= 16_000
    assert again == lines
    assert log.path.stat().st_blocks * 512 < 200_000


def test_the_end_of_a_log(log: Log) -> None:
    assert log.tail(2048, 2) == "two\nthree\n"
    assert log.tail(4, 9) == "ree\n"
