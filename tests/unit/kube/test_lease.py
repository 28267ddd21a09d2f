import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest

from jobferry.clock import sleep
from jobferry.errors import BadInput
from jobferry.kube.leadership import TERMS
from jobferry.kube.lease import LeadershipLost
from jobferry.testing.clock import settle
from tests.unit.kube.lease_world import (
    World,
    leader_and_standby,
)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    world = World()
    yield world
    await world.close()


# Taking, keeping, giving up


async def test_who_comes_first_leads_and_the_other_stands_by(world: World) -> None:
    leader, standby = await leader_and_standby(world)

    assert leader.candidate.is_leading
    assert not standby.candidate.is_leading
    assert leader.candidate.holder == standby.candidate.holder == "ann"


async def test_the_lease_says_who_leads_since_when_and_for_how_long(world: World) -> None:
    world.join("ann").start()

    await settle()

    assert world.server.lease is not None
    assert world.server.lease["spec"] == {
        "holderIdentity": "ann",
        "leaseDurationSeconds": 15,
        "leaseTransitions": 0,
        "acquireTime": "2026-01-01T00:00:00.000000Z",
        "renewTime": "2026-01-01T00:00:00.000000Z",
    }


async def test_a_leader_renews_every_two_seconds_and_leads_on(world: World) -> None:
    await leader_and_standby(world)
    before = world.server.version

    await world.pass_time(100)

    assert world.at_work == ["ann"]
    assert world.server.version - before == 50
    assert world.server.lease is not None
    assert world.server.lease["spec"]["renewTime"] == "2026-01-01T00:01:40.000000Z"
    assert world.server.lease["spec"]["acquireTime"] == "2026-01-01T00:00:00.000000Z"


async def test_a_released_lease_is_taken_without_any_time_passing(world: World) -> None:
    leader, _ = await leader_and_standby(world)

    await leader.stop()

    assert world.at_work == ["bob"]
    assert world.server.holder == "bob"
    assert world.server.lease is not None
    assert world.server.lease["spec"]["leaseTransitions"] == 1


async def test_work_that_ends_by_itself_gives_the_lease_up(world: World) -> None:
    leader, standby = world.join("ann"), world.join("bob")
    task = leader.start()
    await settle()

    leader.ending.set()
    await settle()

    assert task.done()
    assert task.exception() is None
    assert world.server.holder == ""
    assert not standby.candidate.is_leading


async def test_work_that_fails_gives_the_lease_up_and_its_error_is_raised(world: World) -> None:
    async def fail() -> None:
        raise BadInput("the work is bad")

    with pytest.raises(BadInput, match="the work is bad"):
        await world.join("ann").candidate.lead(fail)

    assert world.server.holder == ""


async def test_the_lease_is_kept_until_the_work_has_cleaned_up(world: World) -> None:
    leader, standby = world.join("ann"), world.join("bob")

    async def tidy() -> None:
        world.begin("ann")
        try:
            await asyncio.Event().wait()
        finally:
            await sleep(world.clock, 60)
            world.end("ann")

    task = asyncio.create_task(leader.candidate.lead(tidy))
    await settle()
    standby.start()
    await settle()

    task.cancel()
    await world.pass_time(59)
    during = list(world.at_work)
    await world.pass_time(2)

    assert (during, world.at_work) == (["ann"], ["bob"])


async def test_one_who_led_once_can_lead_again(world: World) -> None:
    leader, standby = await leader_and_standby(world)
    await leader.stop()

    leader.start()
    await settle()
    await standby.stop()

    assert world.at_work == ["ann"]


async def test_many_compete_and_one_leads(world: World) -> None:
    leader, _ = await leader_and_standby(world)
    for name in ("cid", "dan", "eve"):
        world.join(name).start()
    await settle()

    await leader.stop()
    await world.pass_time(30)

    assert len(world.at_work) == 1
    assert world.most_at_work == 1


# Losing it


async def test_a_leader_that_is_cut_off_stops_before_the_standby_takes_over(
    world: World,
) -> None:
    leader, _ = await leader_and_standby(world)
    await world.pass_time(1)

    leader.line.cut()
    await world.pass_time(8.9)
    still = list(world.at_work)
    await world.pass_time(0.2)
    nobody = list(world.at_work)
    await world.pass_time(4.7)
    not_yet = list(world.at_work)
    await world.pass_time(0.5)

    assert still == ["ann"]  # renewed at 0, the deadline is at 10
    assert nobody == []
    assert not_yet == []
    assert world.at_work == ["bob"]  # seen at 0, the lease is over at 15, and a little chance


async def test_a_frozen_server_makes_the_leader_stop_at_its_deadline(world: World) -> None:
    leader, standby = await leader_and_standby(world)
    task = leader.task
    assert task is not None

    leader.line.cut()
    standby.line.cut()
    await world.pass_time(9.9)
    assert leader.candidate.is_leading
    await world.pass_time(0.2)

    assert not leader.candidate.is_leading
    assert world.at_work == []
    with pytest.raises(LeadershipLost, match="could not be renewed within 10 s: no answer"):
        await task


async def test_the_deadline_counts_from_when_the_renewal_was_sent(world: World) -> None:
    leader, _ = await leader_and_standby(world)
    leader.line.back = lambda: 4.0  # renewed at 2, heard of at 6
    await world.pass_time(6)

    leader.line.cut()
    await world.pass_time(5.9)
    still = list(world.at_work)
    await world.pass_time(0.2)

    assert (still, world.at_work) == (["ann"], [])


async def test_one_answer_that_never_comes_does_not_cost_the_leadership(world: World) -> None:
    leader, _ = await leader_and_standby(world)
    answers = iter([True])

    leader.line.loses_answer = lambda: next(answers, False)
    await world.pass_time(60)

    assert next(answers, None) is None
    assert world.at_work == ["ann"]


async def test_it_knows_that_it_must_not_act_even_before_it_was_cancelled(world: World) -> None:
    leader, _ = await leader_and_standby(world)

    world.clock.advance(11)  # as after SIGSTOP: no task has run yet

    assert world.at_work == ["ann"]
    assert not leader.candidate.is_leading


async def test_a_leader_that_sees_another_name_in_the_lease_stops_at_once(world: World) -> None:
    leader, _ = await leader_and_standby(world)

    world.server.touch({"holderIdentity": "mallory"})
    await settle()

    assert world.at_work == []
    assert leader.task is not None
    with pytest.raises(LeadershipLost, match="lost the lease jobferry/dispatcher: mallory"):
        await leader.task


@pytest.mark.parametrize("watch_works", [True, False])
async def test_a_leader_whose_lease_was_deleted_stops(watch_works: bool, world: World) -> None:
    leader = world.join("ann")
    leader.line.watch_works = watch_works
    task = leader.start()
    await settle()

    world.server.delete()
    await world.pass_time(0 if watch_works else TERMS.retry)

    with pytest.raises(LeadershipLost, match="it was deleted"):
        await task


async def test_after_a_deletion_the_standby_waits_until_the_leader_must_have_noticed(
    world: World,
) -> None:
    leader, _ = await leader_and_standby(world)
    leader.line.cut()

    world.server.delete()
    await world.pass_time(9.9)
    cut_off = list(world.at_work)
    await world.pass_time(5.5)

    assert cut_off == ["ann"]
    assert world.at_work == ["bob"]
    assert world.most_at_work == 1


async def test_a_change_by_somebody_else_does_not_cost_the_leadership(world: World) -> None:
    await leader_and_standby(world, leader_watches=False)

    world.server.touch({"strategy": "none of our business"})
    await world.pass_time(60)

    assert world.at_work == ["ann"]
    assert world.server.lease is not None
    assert world.server.lease["spec"]["strategy"] == "none of our business"


async def test_a_leader_without_its_rights_tries_on_until_its_deadline(world: World) -> None:
    leader, _ = await leader_and_standby(world)
    await world.pass_time(1)

    world.server.refuses = 403
    await world.pass_time(6.5)
    world.server.refuses = None
    await world.pass_time(30)

    assert world.at_work == ["ann"]
    assert leader.candidate.is_leading


async def test_work_that_ignores_its_cancellation_still_ends_in_the_loss(world: World) -> None:
    leader = world.join("ann")

    async def deaf() -> None:
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()

    task = asyncio.create_task(leader.candidate.lead(deaf))
    await settle()
    leader.line.cut()
    await world.pass_time(11)

    with pytest.raises(LeadershipLost):
        await task
