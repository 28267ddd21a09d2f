import asyncio
import logging
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest

from jobferry.kube import errors, lease
from jobferry.kube.leadership import TERMS
from jobferry.testing.clock import settle
from tests.unit.kube.lease_world import (
    Member,
    Skewed,
    World,
    leader_and_standby,
)

NOW = datetime(2026, 1, 2, 3, 4, 5, 678, UTC)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    world = World()
    yield world
    await world.close()


async def test_an_answer_that_was_lost_is_found_in_the_lease(world: World) -> None:
    member = world.join("ann")
    answers = iter([False, True])  # to the look, to the write
    member.line.loses_answer = lambda: next(answers, False)

    member.start()
    await settle()
    assert (world.server.holder, world.at_work) == ("ann", [])
    await world.pass_time(6)

    assert world.at_work == ["ann"]


async def test_a_lease_that_went_back_with_its_cluster_is_taken_for_what_it_is(
    world: World,
) -> None:
    world.join("ann").start_for_good()
    await world.pass_time(30)
    world.server.restore()
    world.server.asked = 0

    await world.pass_time(30)

    assert world.at_work == ["ann"]
    assert world.server.asked < 60  # a renewal takes up to three requests, not thousands


async def test_without_the_right_to_watch_the_standby_still_takes_over(world: World) -> None:
    leader, _ = await leader_and_standby(world, standby_watches=False)
    await world.pass_time(60)
    assert world.at_work == ["ann"]

    leader.line.cut()
    await world.pass_time(31)

    assert world.at_work == ["bob"]
    assert world.most_at_work == 1


async def test_a_release_finds_the_renewal_that_was_under_way(world: World) -> None:
    leader, _ = await leader_and_standby(world, leader_watches=False)
    delays = iter([0.5])
    leader.line.back = lambda: next(delays, 0.0)
    await world.pass_time(2.1)  # the renewal is written, its answer on the way

    await leader.stop()

    assert world.at_work == ["bob"]


@pytest.mark.parametrize("has_arrived", [True, False])
@pytest.mark.parametrize("is_first", [True, False])
async def test_a_claim_that_was_under_way_at_the_stop_does_not_make_the_next_one_wait(
    is_first: bool, has_arrived: bool, world: World
) -> None:
    if not is_first:
        before = world.join("eve")
        before.start()
        await settle()
        await before.stop()
    member = world.join("ann")
    member.line.watch_works = False
    delays = iter([0.0, 1.0])  # of the look, of the claim
    slow = "back" if has_arrived else "there"
    setattr(member.line, slow, lambda: next(delays, 0.0))
    member.start()
    await settle()
    assert (world.server.holder == "ann") == has_arrived
    assert world.at_work == []

    await member.stop()
    world.join("bob").start()
    await settle()
    assert world.at_work == ["bob"]

    await world.pass_time(60)
    assert world.server.holder == "bob"
    assert world.most_at_work == 1


async def test_one_that_stops_leaves_alone_whoever_was_faster_than_its_claim(
    world: World,
) -> None:
    late, fast = world.join("ann"), world.join("bob")
    delays = iter([0.0, 1.0])
    late.line.there = lambda: next(delays, 0.0)
    late.start()
    await settle()
    fast.start()
    await settle()
    version = world.server.version

    await late.stop()

    assert world.at_work == ["bob"]
    assert world.server.version == version


async def test_stopping_does_not_wait_for_a_frozen_server(world: World) -> None:
    leader, _ = await leader_and_standby(world)
    leader.line.cut()

    await leader.stop()
    await world.pass_time(TERMS.deadline / 2)

    assert leader.task is not None
    assert leader.task.cancelled()


async def test_a_standby_without_rights_says_so_and_ends(world: World) -> None:
    world.server.refuses = 403

    with pytest.raises(errors.Forbidden, match="GET /apis/coordination"):
        await world.join("ann").candidate.lead(asyncio.Event().wait)  # type: ignore[arg-type]


async def test_a_missing_namespace_is_said_and_not_tried_forever(world: World) -> None:
    world.server.refuses = 404

    with pytest.raises(errors.NotFound, match="POST /apis/coordination"):
        await world.join("ann").candidate.lead(asyncio.Event().wait)  # type: ignore[arg-type]


async def test_a_standby_outlives_a_failing_server_and_complains_once(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    world.server.refuses = 500
    world.join("ann").start()
    await world.pass_time(20)

    world.server.refuses = None
    await world.pass_time(3)

    assert world.at_work == ["ann"]
    complaints = [
        line.getMessage()
        for line in caplog.records
        if line.name == lease.__name__ and line.levelno >= logging.WARNING
    ]
    assert complaints == ["Lease out of reach"]


async def test_a_wall_clock_that_stands_still_does_not_hide_a_renewal(world: World) -> None:
    class Stuck(Skewed):
        def now(self) -> datetime:
            return NOW

    leader = Member(world, "ann", Stuck(world.clock, 0, 1), TERMS)
    leader.start()
    await settle()
    world.join("bob").start()

    await world.pass_time(60)

    assert world.at_work == ["ann"]
    assert world.most_at_work == 1
