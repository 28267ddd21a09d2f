"""Mirrors that run, though the hub has lost the record of them."""

from typing import Any

import pytest

from jobferry.core import placement
from jobferry.core.steps import DeleteMirror, Notice, ReadHub, Record, Rest
from jobferry.core.view import Worker
from jobferry.kinds.job import base as bases
from jobferry.kinds.job.adapter import JOB
from jobferry.kinds.job.base import Base
from tests.unit.core.worlds import World, condition, hub_job, lost, up

STARTED = "2026-01-02T11:00:00Z"


def running(worker: str = "west", attempt: int = 1, **spec: Any) -> World:
    world = World(hub_job(**spec))
    world.mirror(worker, attempt, active=1, ready=1, startTime=STARTED)
    return world


def adopted(world: World) -> tuple[str, int, Base]:
    step = world.next()
    assert isinstance(step, Record), step
    [shard] = step.placement.shards
    assert shard.cluster == f"{shard.worker}-uid"
    assert step.why == "its record was lost, and its mirror found there"
    assert step.is_found
    return shard.worker, step.placement.attempt, bases.read(shard.base)


@pytest.mark.parametrize("suspend", [True, False])
def test_a_mirror_that_nobody_knows_of_is_adopted_after_a_look(suspend: bool) -> None:
    world = running(suspend=suspend)
    world.is_live = False
    assert world.next() == ReadHub()
    world.is_live = True

    assert adopted(world) == ("west", 1, Base())
    assert not isinstance(world.settle(), DeleteMirror)
    assert set(world.mirrors) == {"west"}


def test_of_several_the_last_attempt_is_adopted_and_the_others_go() -> None:
    world = running("east", attempt=2)
    world.mirror("west", attempt=3)

    assert adopted(world)[:2] == ("west", 3)
    step = world.settle()
    assert isinstance(step, DeleteMirror)
    assert step.worker == "east"


def test_a_mirror_of_a_later_attempt_than_the_hub_knows_is_adopted() -> None:
    world = running("west", attempt=2)
    world.place("east", attempt=1)

    assert adopted(world)[:2] == ("west", 2)


def test_but_not_where_the_one_that_the_hub_knows_is_there() -> None:
    world = running("west", attempt=2)
    world.place("east", attempt=1)
    world.mirror("east", attempt=1)

    step = world.next()

    assert isinstance(step, DeleteMirror)
    assert step.worker == "west"


def test_what_is_no_mirror_of_this_very_workload_is_not_adopted() -> None:
    world = running("west")
    assert world.hub is not None
    world.hub["metadata"]["uid"] = "uid-2"

    assert isinstance(world.next(), DeleteMirror)


def test_a_finished_workload_keeps_its_mirror_though_its_record_was_lost() -> None:
    world = running("west", attempt=2)
    world.mirrors["west"]["status"]["conditions"] = [condition("Complete")]
    world.write({"status": {"conditions": [condition("Complete")]}})

    assert world.settle() == Rest("finished")


class TestBase:
    """What earlier attempts earned."""

    EARNED = Base(succeeded=2, failed=1, seconds=30)

    def test_the_annotation_tells_if_it_is_left(self) -> None:
        world = World(hub_job(completions=5))
        world.place("west", attempt=2, base=self.EARNED)
        world.mirror("west", attempt=2)
        world.write({"status": {"conditions": None}})

        assert adopted(world) == ("west", 2, self.EARNED)

    def test_one_that_tells_of_another_placement_does_not_count(self) -> None:
        world = World(hub_job(completions=5))
        world.place("east", attempt=2, base=self.EARNED)
        world.mirror("west", attempt=2)
        world.write({"status": {"conditions": None}})

        assert adopted(world) == ("west", 2, Base())

    def test_the_first_attempt_has_none_whatever_an_annotation_says(self) -> None:
        world = World(hub_job(completions=5))
        world.place("west", attempt=1, base=self.EARNED)
        world.mirror("west", attempt=1)
        world.write({"status": {"conditions": None}})

        assert adopted(world) == ("west", 1, Base())

    def test_else_what_the_mirror_got_of_the_limits_tells(self) -> None:
        limits = {"completions": 5, "backoffLimit": 6, "activeDeadlineSeconds": 600}
        world = running("west", attempt=2, **limits)
        marks = world.view().marks("west", "uid-1", 2)
        assert world.hub is not None
        world.mirrors["west"]["spec"] = JOB.mirror(world.hub, marks, bases.write(self.EARNED))[
            "spec"
        ]

        assert adopted(world) == ("west", 2, self.EARNED)
        assert placement.ANNOTATION not in (world.hub["metadata"].get("annotations") or {})


class TestWorkersThatAreAway:
    """They may hold what nobody knows to be anywhere."""

    AWAY = "It ran before, and its record was lost: it may be on east, which cannot be reached"
    TOLD = (Notice("WorkerLost", AWAY),)

    def world(self, *workers: Worker, **policy: Any) -> World:
        world = World(workers=[*workers, up("west"), up("south")], policy=policy)
        world.write({"status": {"startTime": STARTED, "active": 1}})
        return world

    def test_one_that_is_not_connected_yet_is_waited_for(self) -> None:
        connecting = Worker(name="east", cluster="", is_up=False)

        assert self.world(connecting).settle() == Rest(self.AWAY, None, self.TOLD)

    def test_one_that_is_lost_is_waited_for_as_if_it_were_known_to_hold_it(self) -> None:
        east = lost("east", minutes=10)

        assert self.world(east).settle() == Rest(self.AWAY, 300.0, self.TOLD)
        assert self.world(east, lost_after=None).settle() == Rest(self.AWAY, None, self.TOLD)
        assert isinstance(self.world(east, lost_after=60.0).next(), Record)

    def test_what_never_ran_waits_for_nobody(self) -> None:
        assert isinstance(World(workers=[lost("east", minutes=1), up("west")]).next(), Record)
