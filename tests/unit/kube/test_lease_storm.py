import asyncio
from collections.abc import Callable, Iterable
from functools import partial
from random import Random

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from jobferry.clock import Seconds
from tests.unit.kube.lease_world import (
    Member,
    World,
)


class Storm(World):
    """Three candidates with clocks that differ, on lines that are slow and lose answers."""

    def __init__(self, seed: int, rates: Iterable[float], slowest: Seconds) -> None:
        super().__init__()
        self.random = Random(seed)
        for number, rate in enumerate(rates):
            ahead = self.random.uniform(-1e4, 1e4)
            member = self.join(f"m{number}", ahead=ahead, rate=rate)
            member.line.there = member.line.back = lambda: self.random.random() ** 3 * slowest
            member.line.loses_answer = lambda: self.random.random() < 0.1
            member.start_for_good()

    async def suffer(self, what: str, member: Member, duration: Seconds) -> None:
        match what:
            case "cut":
                member.line.cut()
            case "mend":
                member.line.mend()
            case "stop":
                await member.stop()
            case "start":
                member.start_for_good()
        await self.pass_time(duration)
        assert sum(each.candidate.is_leading for each in self.members) <= 1

    async def calm_down(self) -> None:
        for member in self.members:
            member.line.there = member.line.back = lambda: 0.0
            member.line.loses_answer = lambda: False
            member.line.mend()
        await self.pass_time(10)
        self.members[0].start_for_good()
        await self.pass_time(60)


async def weather(steps: list[tuple[str, int, Seconds]], storm: Callable[[], Storm]) -> None:
    world = storm()
    for what, number, duration in steps:
        await world.suffer(what, world.members[number], duration)
    await world.calm_down()

    assert world.most_at_work == 1
    assert len(world.at_work) == 1
    await world.close()


STEP = st.tuples(
    st.sampled_from(["cut", "mend", "stop", "start", "pass"]),
    st.integers(0, 2),
    st.floats(0.1, 12),
)
STEPS = st.lists(STEP, min_size=5, max_size=15)
STORMS = st.builds(
    partial,
    st.just(Storm),
    st.integers(0, 2**32),
    st.tuples(*[st.floats(0.85, 1.15)] * 3),
    st.sampled_from([0.0, 0.5, 4.0, 8.0]),
)


# Shrinking a failure takes minutes; `make soak` does it.
@settings(max_examples=6, deadline=None, derandomize=True, phases=[Phase.generate])
@given(STEPS, STORMS)
def test_no_two_ever_lead_at_once_and_in_the_end_one_does(
    steps: list[tuple[str, int, Seconds]], storm: Callable[[], Storm]
) -> None:
    asyncio.run(weather(steps, storm))


@pytest.mark.soak
@pytest.mark.timeout(3600)
@settings(max_examples=5000, deadline=None)
@given(STEPS, STORMS)
def test_no_two_ever_lead_at_once_in_thousands_of_storms(
    steps: list[tuple[str, int, Seconds]], storm: Callable[[], Storm]
) -> None:
    asyncio.run(weather(steps, storm))
