import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from jobferry.clock import Seconds
from jobferry.testing.clock import settle
from jobferry.workers.vigil import EVERY, Vigil


class Watches:
    """The clocks of a machine, and one timer."""

    def __init__(self) -> None:
        self.day, self.reading = datetime(2026, 1, 1, tzinfo=UTC), 1000.0
        self.ring: Callable[[], None] | None = None

    def now(self) -> datetime:
        return self.day

    def monotonic(self) -> Seconds:
        return self.reading

    def call_later(self, delay: Seconds, callback: Callable[[], None]) -> "Watches":
        assert delay == EVERY
        self.ring = callback
        return self

    def cancel(self) -> None:
        self.ring = None

    def move(self, day: Seconds, reading: Seconds) -> None:
        """Let so much time pass, by each clock, until the timer rings."""
        self.day += timedelta(seconds=day)
        self.reading += reading
        assert self.ring is not None
        self.ring()


@pytest.mark.parametrize(
    ("day", "reading", "slips"),
    [
        pytest.param(2.0, 2.0, [], id="all is well"),
        pytest.param(2.4, 2.4, [], id="a little late"),
        pytest.param(62.0, 62.0, [60], id="the process was stopped"),
        pytest.param(3602.0, 2.0, [3600], id="the machine slept, or its clock was set"),
        pytest.param(-3598.0, 2.0, [-3600], id="its clock was put back"),
    ],
)
async def test_time_in_which_nobody_listened_is_told_once(
    day: Seconds, reading: Seconds, slips: list[int]
) -> None:
    told: list[timedelta] = []
    watches = Watches()
    keeping = asyncio.ensure_future(Vigil(watches, told.append).run())
    await settle()

    watches.move(2.0, 2.0)
    watches.move(day, reading)
    watches.move(2.0, 2.0)

    assert told == [timedelta(seconds=each) for each in slips]
    keeping.cancel()
    await settle()
    assert watches.ring is None
