import pytest

from jobferry.core import placement
from jobferry.core.decide import ASK_EVERY
from jobferry.core.marks import HUB_UID
from jobferry.core.steps import (
    CreateMirror,
    DeleteMirror,
    EditMirror,
    ReadHub,
    Rest,
    WriteStatus,
)
from jobferry.kinds.job.base import Base
from jobferry.objects import Obj
from tests.unit.core.worlds import World, condition, hub_job, looks_at, lost, recorded, up


class TestFromTheBeginning:
    def test_a_new_workload_is_placed_then_created_then_rests(self) -> None:
        world = World()

        assert recorded(world) == ("east", 1)
        assert world.settle() == Rest("runs on east")
        assert set(world.mirrors) == {"east"}

    def test_nothing_is_placed_while_no_worker_takes_it(self) -> None:
        world = World(workers=[lost("east", minutes=1), up("west", refuses="it is drained")])

        step = world.next()

        assert isinstance(step, Rest)
        assert "east: not connected; west: it is drained" in step.why

    def test_one_that_nobody_takes_is_given_up_in_time_if_so_wished(self) -> None:
        world = World(workers=[], policy={"give_up_after": 3700.0})
        waiting = world.next()
        world.policy = {"give_up_after": 3500.0}
        step = world.next()

        assert isinstance(waiting, Rest)
        assert waiting.after == pytest.approx(100)
        assert isinstance(step, WriteStatus)
        assert step.end == "Failed"

    def test_a_suspended_one_is_not_placed_but_said_to_be_suspended(self) -> None:
        world = World(hub_job(suspend=True))

        assert isinstance(world.next(), WriteStatus)
        assert world.settle() == Rest("suspended before it was placed")

    def test_a_worker_that_refused_it_is_passed_over(self) -> None:
        world = World(refusals={"east": "quota"})

        assert recorded(world)[0] == "west"

    def test_one_that_is_refused_after_it_was_placed_goes_elsewhere(self) -> None:
        world = World(refusals={"east": "quota"})
        world.place("east")

        assert recorded(world) == ("west", 2)

    def test_one_whose_namespace_was_refused_meanwhile_is_looked_for_before_it_goes_elsewhere(
        self,
    ) -> None:
        world = World(refusals={"east": "no right to create"}, seen=set())
        world.place("east")

        assert looks_at(world.next()) == "east"


class TestStatus:
    def test_what_the_mirror_shows_is_written_once(self) -> None:
        world = World()
        world.place()
        world.mirror(active=1, ready=1, startTime="2026-01-02T11:00:00Z")

        step = world.next()

        assert isinstance(step, WriteStatus)
        assert step.end is None
        assert world.settle() == Rest("runs on east")

    def test_an_end_is_told_as_one(self) -> None:
        world = World()
        world.place()
        done = [condition("SuccessCriteriaMet"), condition("Complete")]
        started, ended = "2026-01-02T11:00:00Z", "2026-01-02T11:30:00Z"
        world.mirror(succeeded=1, conditions=done, startTime=started, completionTime=ended)

        step = world.next()

        assert isinstance(step, WriteStatus)
        assert step.end == "Complete"
        assert world.settle() == Rest("finished")

    def test_a_change_on_the_hub_is_forwarded(self) -> None:
        world = World()
        world.place()
        world.mirror()
        world.write({"metadata": {"generation": 2}, "spec": {"parallelism": 3}})

        step = world.next()

        assert isinstance(step, EditMirror)
        assert step.patch["spec"] == {"parallelism": 3}


class TestTheEnd:
    @pytest.mark.parametrize("keep", [None, 7200.0])
    def test_the_mirror_of_a_finished_one_stays(self, keep: float | None) -> None:
        world = finished({"keep_finished": keep})

        step = world.next()

        assert isinstance(step, Rest)
        assert (step.after is None) == (keep is None)

    def test_a_mirror_that_still_runs_is_stopped_after_a_look(self) -> None:
        world = finished({})
        world.mirror(active=1)
        world.is_live = False
        assert world.next() == ReadHub()
        world.is_live = True

        step = world.next()

        assert isinstance(step, DeleteMirror)
        # Our cache may be late: one that has ended meanwhile is to stay for its logs.
        assert step.only_as_seen
        world.workers = [lost("east", minutes=1), up("west")]
        assert isinstance(world.next(), Rest)

    def test_and_goes_when_its_time_is_over(self) -> None:
        assert isinstance(finished({"keep_finished": 60.0}).next(), DeleteMirror)

    def test_the_mirror_of_one_that_is_gone_is_deleted_after_a_look(self) -> None:
        world = World()
        world.place()
        world.mirror()
        world.hub, world.is_live = None, False

        assert world.next() == ReadHub()
        world.is_live = True
        assert isinstance(world.next(), DeleteMirror)

    def test_the_mirror_of_one_whose_deletion_was_seen_is_deleted_at_once(self) -> None:
        world = World(is_live=False)
        world.place()
        world.mirror()
        world.hub, world.buried = None, "uid-1"
        assert isinstance(world.next(), DeleteMirror)

        world.buried = "uid-0"
        assert world.next() == ReadHub()

    @pytest.mark.parametrize("is_live", [True, False])
    def test_the_mirror_of_one_that_is_there_but_not_claimed_any_more_is_left_alone(
        self, is_live: bool
    ) -> None:
        world = World(is_live=is_live)
        world.place()
        world.mirror()
        world.hub, world.unclaimed = None, "uid-1"

        step = world.next()

        assert isinstance(step, Rest)
        assert step.after == ASK_EVERY
        assert [notice.reason for notice in step.notices] == ["NotClaimed"]

    def test_the_mirror_of_another_object_of_an_unclaimed_name_is_deleted(self) -> None:
        world = World()
        world.place()
        world.mirror()
        world.hub, world.unclaimed = None, "uid-2"

        assert isinstance(world.next(), DeleteMirror)

    def test_a_mirror_that_says_of_nothing_that_it_is_its_mirror_is_deleted_after_a_look(
        self,
    ) -> None:
        world = World(is_live=False)
        world.place()
        world.mirror()
        world.mirrors["east"]["metadata"]["labels"][HUB_UID] = ""
        world.hub = None

        assert world.next() == ReadHub()

    def test_one_that_is_being_deleted_counts_as_gone(self) -> None:
        world = World()
        world.place()
        world.mirror()
        world.write({"metadata": {"deletionTimestamp": "2026-01-02T11:59:00Z"}})

        assert isinstance(world.next(), DeleteMirror)

    def test_a_worker_out_of_reach_is_left_alone(self) -> None:
        world = World()
        world.mirror()
        world.hub, world.workers = None, [lost("east", minutes=1)]

        assert world.next() == Rest("it is gone")


class TestIdentity:
    def test_the_mirror_of_an_earlier_object_of_that_name_goes_first(self) -> None:
        world = World(hub_job(uid="old"))
        world.place()
        world.mirror()
        world.hub = hub_job(uid="new")

        step = world.next()

        assert isinstance(step, DeleteMirror)
        assert "another object of this name" in step.why

    def test_the_mirror_of_an_earlier_attempt_goes_first(self) -> None:
        world = World()
        world.mirror("east", attempt=1)
        world.place("west", attempt=2)

        step = world.next()

        assert isinstance(step, DeleteMirror)
        assert step.worker == "east"

    def test_what_only_looks_like_a_mirror_is_left_alone(self) -> None:
        world = World()
        world.place("west")
        world.mirror("west")
        world.mirror("east")
        world.mirrors["east"]["metadata"]["name"] = "a-copy-that-somebody-made"

        assert world.settle() == Rest("runs on west")

    def test_a_forged_placement_does_not_count(self) -> None:
        world = World()
        forged = World()
        forged.place("west")
        assert forged.hub is not None
        note = forged.hub["metadata"]["annotations"]
        world.write({"metadata": {"annotations": note}})

        assert recorded(world) == ("east", 1)

    def test_a_lost_annotation_is_restored_from_the_condition(self) -> None:
        world = World()
        world.place("west", attempt=3)
        world.write({"metadata": {"annotations": {placement.ANNOTATION: None}}})

        assert recorded(world) == ("west", 3)
        world.settle()
        assert set(world.mirrors) == {"west"}


class TestVanishedMirrors:
    def test_one_that_never_ran_is_created_again(self) -> None:
        world = World()
        world.place()
        world.write({"status": {"active": 1, "startTime": "2026-01-02T11:00:00Z"}})

        assert isinstance(world.next(), CreateMirror)

    def test_one_is_created_again_only_after_a_look_at_the_hub(self) -> None:
        world = World(is_live=False)
        world.place()

        assert world.next() == ReadHub()
        world.is_live = True
        assert isinstance(world.next(), CreateMirror)

    @pytest.mark.parametrize(
        "shown", [{"ready": 1, "active": 1}, {"succeeded": 1}, {"failed": 1}]
    )
    def test_one_that_ran_is_placed_again_once(self, shown: Obj) -> None:
        world = World(hub_job(completions=3, backoffLimit=6))
        world.place()
        world.write({"status": {"startTime": "2026-01-02T11:00:00Z", **shown}})

        assert recorded(world)[1] == 2
        assert isinstance(world.settle(), Rest)
        assert world.hub is not None
        assert placement.last_attempt(world.hub) == 2


def finished(policy: Obj) -> World:
    world = World(policy=policy)
    world.place()
    world.mirror(conditions=[condition("Complete")])
    assert world.hub is not None
    ended = [*world.hub["status"]["conditions"], condition("Complete")]
    world.write({"status": {"conditions": ended}})
    return world


def test_what_was_earned_before_is_no_sign_that_a_new_attempt_ran() -> None:
    world = World(hub_job(completions=5))
    world.write({"status": {"succeeded": 2, "startTime": "2026-01-02T11:00:00Z"}})
    world.place("west", attempt=2, base=Base(succeeded=2))

    assert isinstance(world.next(), CreateMirror)


def test_the_mirror_of_what_is_finished_goes_at_once_from_a_worker_that_is_removed() -> None:
    world = finished({})
    assert isinstance(world.next(), Rest)
    world.workers = [up("east", is_being_removed=True), up("west")]

    step = world.next()

    assert isinstance(step, DeleteMirror)
    world.workers = [lost("east", minutes=1), up("west")]
    assert isinstance(world.next(), Rest)
