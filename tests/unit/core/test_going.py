"""Mirrors that were deleted and are not gone yet."""

import pytest

from jobferry.core.placement import read
from jobferry.core.steps import (
    CreateMirror,
    DeleteMirror,
    Notice,
    ReadHub,
    Record,
    Rest,
    WriteStatus,
)
from jobferry.kinds.job import base as bases
from tests.unit.core.worlds import World, condition, hub_job, looks_at, lost, up

HELD = "On worker east its mirror was deleted and is not gone yet, because of example.com/hold"
HELD_ON_EAST = Notice("MirrorGoing", HELD)


def moved() -> World:
    """A workload that was moved from east to west, where the mirror before is still held."""
    world = World()
    world.mirror("east", attempt=1)
    world.let_go("east")
    world.place("west", attempt=2)
    return world


def test_an_earlier_mirror_that_is_going_is_not_deleted_again_and_keeps_nothing_waiting() -> (
    None
):
    world = moved()

    assert isinstance(world.next(), CreateMirror)
    assert world.settle() == Rest("runs on west", notices=(HELD_ON_EAST,))


def test_what_is_made_again_under_the_name_of_a_mirror_that_is_going_runs_elsewhere() -> None:
    world = World(hub_job(uid="old"), policy={"placement": "Ordered"})
    world.mirror("east")
    world.let_go("east")
    world.hub = hub_job(uid="new")

    step = world.next()

    assert isinstance(step, Record)
    assert step.placement.shards[0].worker == "west"


def test_or_waits_for_the_name_where_there_is_no_other_worker() -> None:
    world = World(hub_job(uid="old"), workers=[up("east")])
    world.mirror("east")
    world.let_go("east")
    world.hub = hub_job(uid="new")

    step = world.next()

    assert isinstance(step, Rest)
    assert "east: an earlier mirror of that name is not gone from there yet" in step.why
    assert HELD_ON_EAST in step.notices
    del world.mirrors["east"]
    assert isinstance(world.next(), Record)


class TestANameThatIsHeldWhereTheWorkloadWasPlaced:
    def world(self) -> World:
        world = World(seen=set())
        world.mirror("east", attempt=1)
        world.let_go("east")
        world.place("east", attempt=2)
        return world

    def test_it_goes_elsewhere_after_a_look_at_the_worker(self) -> None:
        world = self.world()
        assert looks_at(world.next()) == "east"
        world.seen, world.is_live = {"east"}, False
        assert world.next() == ReadHub()
        world.is_live = True

        step = world.next()

        assert isinstance(step, Record)
        assert (step.placement.shards[0].worker, step.placement.attempt) == ("west", 3)
        assert bases.read(step.placement.shards[0].base).succeeded == 0

    def test_it_waits_where_no_other_worker_can_take_it(self) -> None:
        world = self.world()
        world.workers = [up("east"), up("west", refuses="it is drained")]

        step = world.next()

        assert isinstance(step, Rest)
        assert "east: an earlier mirror of that name is not gone from there yet" in step.why
        assert HELD_ON_EAST in step.notices

    def test_it_is_created_once_the_name_is_free(self) -> None:
        world = self.world()
        del world.mirrors["east"]

        assert isinstance(world.next(), CreateMirror)


def test_what_an_earlier_mirror_did_counts_only_once() -> None:
    world = World(hub_job(completions=5), workers=[lost("east", minutes=20), up("west")])
    world.mirror("east", attempt=1, succeeded=2)
    world.let_go("east")
    world.place("east", attempt=2)

    step = world.next()

    assert isinstance(step, Record)
    assert bases.read(step.placement.shards[0].base).succeeded == 0


class TestTheMirrorThatCounts:
    """Somebody deleted it on its worker."""

    def world(self, **policy: bool) -> World:
        world = World(hub_job(completions=3), policy=policy)
        world.place()
        world.mirror(active=1, ready=1, startTime="2026-01-02T11:00:00Z")
        world.let_go()
        return world

    def test_its_status_is_followed_and_nothing_is_forwarded(self) -> None:
        world = self.world()
        world.write({"metadata": {"generation": 2}, "spec": {"parallelism": 3}})
        assert isinstance(world.next(), WriteStatus)

        why = "was deleted on east: waits until it is gone"
        assert world.settle() == Rest(why, notices=(HELD_ON_EAST,))

    def test_it_may_still_end_well(self) -> None:
        world = self.world()
        done = [condition("SuccessCriteriaMet"), condition("Complete")]
        world.mirrors["east"]["status"] = {"succeeded": 3, "conditions": done}

        assert world.settle() == Rest("finished", notices=(HELD_ON_EAST,))

    def test_it_is_not_stopped_by_a_drain(self) -> None:
        world = self.world()
        world.workers = [up("east", moves_away=True, refuses="drained"), up("west")]

        assert isinstance(world.settle(), Rest)

    def test_the_workload_goes_elsewhere_when_nothing_of_it_runs_any_more(self) -> None:
        world = self.world()
        world.settle()
        world.mirrors["east"]["status"] = {"succeeded": 1, "terminating": 1}
        assert isinstance(world.settle(), Rest)
        assert world.hub is not None
        world.mirrors["east"]["status"] = {"succeeded": 1}

        assert world.settle() == Rest("runs on west", notices=(HELD_ON_EAST,))
        placed = read(world.hub)
        assert placed is not None
        assert bases.read(placed.shards[0].base).succeeded == 1

    def test_but_not_before_its_worker_has_counted(self) -> None:
        world = self.world()
        world.mirrors["east"]["status"] = {"startTime": "2026-01-02T11:00:00Z"}
        world.let_go(deletionTimestamp="2026-01-02T11:59:57Z")

        step = world.settle()

        assert isinstance(step, Rest)
        assert step.after == 2.0

    def test_or_fails_if_its_queue_says_so(self) -> None:
        world = self.world(fails_deleted=True)
        world.mirrors["east"]["status"] = {"failed": 1, "startTime": "2026-01-02T11:00:00Z"}

        assert "finished" in str(world.settle())


class TestCleaningUp:
    def test_a_mirror_that_is_going_is_waited_for_when_its_workload_is_gone(self) -> None:
        world = World()
        world.place()
        world.mirror("east")
        world.mirror("west")
        world.let_go("east")
        world.hub = None

        step = world.next()
        assert isinstance(step, DeleteMirror)
        assert step.worker == "west"
        del world.mirrors["west"]
        assert world.next() == Rest("it is gone", notices=(HELD_ON_EAST,))

    @pytest.mark.parametrize("is_being_removed", [True, False])
    def test_and_when_its_workload_is_finished(self, is_being_removed: bool) -> None:
        world = World(policy={"keep_finished": 0.0})
        world.workers = [up("east", is_being_removed=is_being_removed), up("west")]
        world.place()
        world.mirror()
        assert world.hub is not None
        ended = [*world.hub["status"]["conditions"], condition("Complete")]
        world.write({"status": {"conditions": ended}})
        assert isinstance(world.next(), DeleteMirror)
        world.let_go()

        assert world.next() == Rest("finished", notices=(HELD_ON_EAST,))


@pytest.mark.parametrize("gives_away", [True, False])
def test_nothing_is_placed_anew_because_a_cache_shows_no_mirror(gives_away: bool) -> None:
    world = World(seen=set())
    world.workers = [up("east", moves_away=gives_away, refuses="drained"), up("west")]
    world.place()
    if not gives_away:
        world.write({"status": {"ready": 1, "active": 1, "startTime": "2026-01-02T11:00:00Z"}})

    assert looks_at(world.next()) == "east"
    world.seen = {"east"}
    assert isinstance(world.next(), Record)


class TestAMirrorThatItsWorkerDoesNotLetUsDelete:
    KEPT = Notice("MirrorKept", "Worker east does not let us delete its mirror there: no right")

    def test_holds_up_no_later_attempt(self) -> None:
        world = World(kept={"east": "no right"})
        world.mirror("east", attempt=1)
        world.place("west", attempt=2)

        assert isinstance(world.next(), CreateMirror)
        assert world.settle() == Rest("runs on west", notices=(self.KEPT,))

    def test_nor_what_is_left_elsewhere_of_a_workload_that_is_gone(self) -> None:
        world = World(kept={"east": "no right"})
        world.mirror("east", attempt=1)
        world.mirror("west", attempt=2)
        world.hub = None

        step = world.next()

        assert isinstance(step, DeleteMirror)
        assert step.worker == "west"

    def test_keeps_its_name_from_what_is_made_again_under_it(self) -> None:
        world = World(hub_job(uid="old"), kept={"east": "no right"})
        world.mirror("east")
        world.hub = hub_job(uid="new")

        step = world.next()

        assert isinstance(step, Record)
        assert step.placement.shards[0].worker == "west"
