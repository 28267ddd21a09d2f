"""Workloads that cannot be stopped, or not for certain, leave their worker by deletion of their mirrors: here toys."""

from datetime import datetime

from jobferry.core.decide import decide
from jobferry.core.kind import Earned, Stillness
from jobferry.core.placement import Placement, Shard
from jobferry.core.steps import (
    DeleteMirror,
    EditMirror,
    ReadHub,
    ReadMirror,
    Record,
    Rest,
    Store,
    WriteStatus,
)
from jobferry.objects import Obj
from tests.unit.core.toy_worlds import DRAINED, running, toys
from tests.unit.core.toys import TOY, ToyKind
from tests.unit.core.worlds import World, recorded, up


class PausedKind(ToyKind):
    """Toys that can be paused, and say that they are while something of them may still move."""

    def stop(self, mirror: Obj) -> Obj | None:
        return {"plan": {"pause": True}}

    def stillness(self, mirror: Obj) -> Stillness:
        is_paused = mirror["status"].get("phase") == "Paused"
        return Stillness.QUIET if is_paused else Stillness.RUNS

    def resume(self, hub: Obj, mirror: Obj, base: Earned, now: datetime) -> Obj:
        return {"plan": {"pause": None}}


PAUSED = PausedKind()


def test_it_is_noted_and_deleted_and_placed_elsewhere_once_it_is_gone() -> None:
    world = running(workers=DRAINED)
    note = world.next()
    assert isinstance(note, Store)
    world.keep(note)
    assert world.record is not None
    assert world.record["spec"]["shards"][0]["leaving"] == "Drained"
    assert world.record["spec"]["attempt"] == 1

    delete = world.next()
    assert isinstance(delete, DeleteMirror)
    assert delete.waits
    world.let_go(finalizers=["toys.example.com/tidy", "foregroundDeletion"])
    rest = world.next()
    assert isinstance(rest, Rest)
    assert rest.why == "leaves east: waits until it is gone"
    held = "because of toys.example.com/tidy, what it made"
    assert rest.notices[0].message.endswith(held)

    del world.mirrors["east"]
    step = world.next()
    assert isinstance(step, Record)
    assert step.why == "worker east gives its work away"
    assert step.placement == Placement("uid-1", 2, (Shard("west", "west-uid", '{"turns":2}'),))
    world.keep(step)
    assert world.settle() == Rest("runs on west")


def test_that_it_ends_because_it_is_deleted_is_not_its_end() -> None:
    world = running(workers=DRAINED)
    note = world.next()
    assert isinstance(note, Store)
    world.keep(note)
    delete = world.next()
    assert isinstance(delete, DeleteMirror)
    assert delete.only_as_seen  # as it ran
    world.mirrors["east"]["status"] = {"phase": "Broken", "turns": 2}
    world.let_go()

    step = world.next()

    assert isinstance(step, Rest)
    assert step.why == "leaves east: waits until it is gone"


def test_that_it_ended_before_it_was_deleted_is() -> None:
    world = running(workers=DRAINED)
    note = world.next()
    assert isinstance(note, Store)
    world.keep(note)
    world.mirrors["east"]["status"] = {"phase": "Done", "turns": 3}

    step = world.next()

    assert isinstance(step, WriteStatus)
    assert step.end == "Done"


def test_its_next_place_is_kept_for_it_meanwhile() -> None:
    world = running(workers=DRAINED)
    step = world.next()
    assert isinstance(step, Store)
    world.keep(step)
    world.let_go()

    step = decide(world.view(), TOY)

    assert isinstance(step, Rest)
    assert step.wants is not None
    assert step.wants.workers == ("west",)


def test_nothing_is_deleted_before_there_is_room_elsewhere() -> None:
    full = up("west", max_load=0)

    assert running(workers=[DRAINED[0], full]).settle() == Rest("runs on east")


def test_nor_on_the_word_of_a_cache() -> None:
    world = running(workers=DRAINED)
    world.is_live = False

    assert world.next() == ReadHub()


def test_a_drain_that_is_called_off_does_not_let_one_stay_whose_gang_has_gone() -> None:
    world = running(workers=DRAINED)
    step = world.next()
    assert isinstance(step, Store)
    world.keep(step)
    world.workers = [up("east"), up("west")]
    world.follows = True

    assert isinstance(world.next(), DeleteMirror)


def test_a_drain_that_is_called_off_lets_it_stay() -> None:
    world = running(workers=DRAINED)
    step = world.next()
    assert isinstance(step, Store)
    world.keep(step)
    world.workers = [up("east"), up("west")]

    step = world.next()

    assert isinstance(step, Store)
    world.keep(step)
    assert world.settle() == Rest("runs on east")
    assert world.record is not None
    assert "leaving" not in world.record["spec"]["shards"][0]


def test_one_called_off_too_late_is_placed_again_and_not_taken_for_lost() -> None:
    world = running(workers=DRAINED, policy={"fails_deleted": True})
    step = world.next()
    assert isinstance(step, Store)
    world.keep(step)
    del world.mirrors["east"]
    world.workers = [up("east"), up("west")]

    assert recorded(world)[1] == 2


def test_that_it_is_gone_is_not_believed_of_a_cache() -> None:
    world = running(workers=DRAINED)
    step = world.next()
    assert isinstance(step, Store)
    world.keep(step)
    del world.mirrors["east"]
    world.seen = set()

    assert isinstance(world.next(), ReadMirror)


def test_one_that_does_not_start_is_tried_elsewhere() -> None:
    moves = {"moves_unstarted": True, "start_within": 60.0}
    world = toys(policy=moves)
    world.place()
    world.mirror(queued="2026-01-02T11:00:00Z")
    step = world.settle()
    assert isinstance(step, DeleteMirror)
    del world.mirrors[step.worker]

    move = world.next()

    assert isinstance(move, Record)
    assert move.placement.shards[0].worker == "west"
    assert move.why == "nothing of it ran on worker east"


def test_one_that_others_deleted_is_not_taken_for_one_that_leaves() -> None:
    world = running(policy={"fails_deleted": True})
    del world.mirrors["east"]

    step = world.next()

    assert isinstance(step, WriteStatus)
    assert step.end == "Broken"


def rests(world: World) -> str:
    """Say what a workload waits for, once there is nothing to do about it."""
    step = world.settle()
    assert isinstance(step, Rest)
    return step.why


def paused() -> World:
    """A toy that was stopped to leave, and says that it has."""
    world = running(workers=DRAINED, kind=PAUSED)
    stop = world.next()
    assert isinstance(stop, EditMirror)
    world.edit(stop)
    assert rests(world) == "leaves east: waits until its pods have ended"
    world.mirrors["east"]["status"] = {"phase": "Paused", "turns": 2}
    told = world.next()
    assert isinstance(told, WriteStatus)
    world.write(told.patch)
    return world


def test_one_that_may_still_move_though_it_says_that_it_stopped_is_deleted_and_waited_for() -> (
    None
):
    world = paused()
    note = world.next()
    assert isinstance(note, Store)
    world.keep(note)

    delete = world.next()

    assert isinstance(delete, DeleteMirror)
    assert delete.waits
    assert delete.only_as_seen
    world.let_go()
    assert rests(world) == "leaves east: waits until it is gone"
    del world.mirrors["east"]
    assert recorded(world)[1] == 2


def test_until_then_a_drain_that_is_called_off_lets_it_go_on() -> None:
    world = paused()
    note = world.next()
    assert isinstance(note, Store)
    world.keep(note)
    world.workers = [up("east"), up("west")]

    stays = world.next()
    assert isinstance(stays, Store)
    world.keep(stays)
    resume = world.next()

    assert isinstance(resume, EditMirror)
    assert resume.patch["plan"] == {"pause": None}


def test_one_that_others_deleted_is_waited_for_as_well() -> None:
    world = running(kind=PAUSED)
    world.mirrors["east"]["status"] = {"phase": "Paused", "turns": 2}
    world.let_go()

    assert rests(world) == "was deleted on east: waits until it is gone"
