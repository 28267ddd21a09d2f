"""One loop for all that the server does by itself: each key in turn, again later, again if it fails."""

import pytest

from jobferry.clock import Seconds
from jobferry.localkube.apiserver import status
from jobferry.localkube.apiserver.storage.errors import CommitFailed
from jobferry.localkube.apiserver.upkeep import LAST_RETRY, Upkeep
from jobferry.testing.clock import ManualClock, settle


class Seen:
    """Notes what is looked at and when; fails or asks to come back as it is told."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.begun = self.clock.monotonic()
        self.looks: list[tuple[str, Seconds]] = []
        self.failing: dict[str, Exception] = {}
        self.again: dict[str, Seconds] = {}
        self.upkeep = Upkeep(self.look, self.clock, failure="It went wrong")

    async def look(self, key: str) -> Seconds | None:
        self.looks.append((key, self.clock.monotonic() - self.begun))
        if key in self.failing:
            raise self.failing[key]
        return self.again.pop(key, None)

    def times(self, key: str) -> list[Seconds]:
        return [when for each, when in self.looks if each == key]


async def test_what_is_asked_for_is_looked_at_once_in_turn() -> None:
    seen = Seen()
    for key in ("b", "a", "b"):
        seen.upkeep.ask(key)
    async with seen.upkeep.running():
        await settle()
        seen.upkeep.ask("a")
        await settle()

    assert [key for key, _ in seen.looks] == ["b", "a", "a"]


async def test_a_look_can_ask_for_another_one_later_and_a_question_comes_before_it() -> None:
    seen = Seen()
    seen.again["a"] = 10
    async with seen.upkeep.running():
        seen.upkeep.ask("a")
        await seen.clock.pass_time(10)
        assert seen.times("a") == [0, 10]

        seen.again["a"] = 10
        seen.upkeep.ask("a")
        await seen.clock.pass_time(5)
        seen.upkeep.ask("a")
        await seen.clock.pass_time(20)

    assert seen.times("a") == [0, 10, 10, 15]


async def test_what_fails_is_tried_again_ever_more_seldom_and_holds_up_nothing_else(
    caplog: pytest.LogCaptureFixture,
) -> None:
    seen = Seen()
    seen.failing["a"] = CommitFailed("no room")
    async with seen.upkeep.running():
        seen.upkeep.ask("a")
        seen.upkeep.ask("b")
        await seen.clock.pass_time(16)
        assert seen.times("a") == [0, 1, 3, 7, 15]
        assert seen.times("b") == [0]

        await seen.clock.pass_time(1000)
        assert seen.times("a")[-1] - seen.times("a")[-2] == LAST_RETRY
        del seen.failing["a"]
        await seen.clock.pass_time(LAST_RETRY)
        looks = len(seen.looks)
        await seen.clock.pass_time(LAST_RETRY * 2)
        assert len(seen.looks) == looks
        seen.failing["a"] = ZeroDivisionError()
        seen.upkeep.ask("a")
        await seen.clock.pass_time(1)

    assert seen.times("a")[-1] - seen.times("a")[-2] == 1
    assert set(caplog.messages) == {"It went wrong"}


@pytest.mark.parametrize(("error", "lines"), [("conflict", 0), ("refusal", 1)])
async def test_what_is_refused_waits_for_a_change(
    error: str, lines: int, caplog: pytest.LogCaptureFixture
) -> None:
    seen = Seen()
    seen.failing["a"] = {
        "conflict": status.changed("", "pods", "p"),
        "refusal": status.forbidden("", "pods", "p", "no"),
    }[error]
    async with seen.upkeep.running():
        seen.upkeep.ask("a")
        await seen.clock.pass_time(1000)

    assert seen.times("a") == [0]
    assert len(caplog.messages) == lines


async def test_nothing_is_left_when_it_ends() -> None:
    seen = Seen()
    seen.again["a"] = 10
    async with seen.upkeep.running():
        seen.upkeep.ask("a")
        await settle()
        assert seen.clock.waiting == 1

    assert seen.clock.waiting == 0
