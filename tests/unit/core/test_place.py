from datetime import timedelta
from itertools import chain

import pytest

from jobferry.core import placement
from jobferry.core.marks import VACATING
from jobferry.core.place import TOO_LARGE
from jobferry.core.steps import EditMirror, Notice, ReadHub, Record, Rest, Store, WriteStatus
from jobferry.core.view import Worker
from jobferry.kinds.job import base as bases
from jobferry.kinds.job.base import Base
from jobferry.kinds.job.status import end
from jobferry.objects import Obj
from jobferry.objects.times import timestamp
from tests.unit.core.worlds import NOW, World, condition, hub_job, lost, up

FULL = [up("east", refuses="it is drained")]
WAITS = Notice("NoWorker", "No worker can take it: east: it is drained")


def test_people_are_told_why_no_worker_can_take_it() -> None:
    assert World(workers=FULL).settle() == Rest(
        "no worker can take it: east: it is drained", notices=(WAITS,)
    )


class TestWithoutAQueue:
    """It vanished, or several claim the workload."""

    GONE = "there is no Queue q"
    WAITS = Rest(f"no worker can take it: {GONE}", notices=(Notice("NoQueue", GONE),))

    def world(self) -> World:
        return World(policy={"missing": self.GONE, "give_up_after": 60.0})

    def test_nothing_is_placed_nor_given_up(self) -> None:
        assert self.world().settle() == self.WAITS

    def test_what_runs_is_followed_to_its_end(self) -> None:
        world = self.world()
        world.place()
        world.mirror(active=1, ready=1, startTime="2026-01-02T11:00:00Z")
        assert world.settle() == Rest("runs on east")

        done = [condition("SuccessCriteriaMet"), condition("Complete")]
        world.mirror(succeeded=1, conditions=done, startTime="2026-01-02T11:00:00Z")
        assert world.settle() == Rest("finished")

    def test_what_is_to_leave_its_worker_waits(self) -> None:
        world = self.world()
        world.workers = [lost("east", minutes=20), up("west")]
        world.place()

        assert world.settle() == self.WAITS

    def test_what_is_on_a_drained_worker_stays(self) -> None:
        world = self.world()
        world.workers = [up("east", moves_away=True, refuses="drained"), up("west")]
        world.place()
        world.mirror(active=1, ready=1, startTime="2026-01-02T11:00:00Z")

        assert world.settle() == Rest("runs on east")


def test_the_time_to_give_up_runs_from_the_creation() -> None:
    world = World(workers=FULL, policy={"give_up_after": 5400.0})

    assert world.settle() == Rest(
        "no worker can take it: east: it is drained", 1800.0, (WAITS,)
    )


def test_a_workload_that_was_suspended_has_all_its_time_again() -> None:
    world = World(workers=FULL, policy={"give_up_after": 60.0})
    world.write({"status": {"conditions": [condition("Suspended")]}})

    step = world.settle()

    assert isinstance(step, Rest)
    assert step.after == 60.0


def test_a_workload_that_was_resumed_long_ago_fails() -> None:
    world = World(workers=FULL, policy={"give_up_after": 60.0})
    resumed = condition("Suspended", status="False", lastTransitionTime=timestamp(NOW))
    world.write({"status": {"conditions": [resumed]}})
    assert world.settle() == Rest("no worker can take it: east: it is drained", 60.0, (WAITS,))

    resumed["lastTransitionTime"] = timestamp(NOW - timedelta(seconds=60))
    world.write({"status": {"conditions": [resumed]}})
    world.settle()

    assert world.hub is not None
    assert (end(world.hub["status"]) or {})["reason"] == "NoWorker"


@pytest.mark.parametrize("last", [[], [lost("east", minutes=20)]])
def test_a_workload_whose_mirror_may_run_is_never_given_up(last: list[Worker]) -> None:
    world = World(policy={"give_up_after": 60.0})
    world.place("east")
    world.workers = [*last, up("west", refuses="it is drained")]

    step = world.settle()

    assert isinstance(step, Rest)
    assert [notice.reason for notice in step.notices] == ["NoWorker"]


def test_a_workload_that_its_only_worker_refused_is_given_up() -> None:
    world = World(
        workers=[up("east")], refusals={"east": "quota"}, policy={"give_up_after": 60.0}
    )
    world.place("east")

    world.settle()

    assert world.hub is not None
    assert (end(world.hub["status"]) or {})["reason"] == "NoWorker"


@pytest.mark.parametrize("is_gone", [True, False])
def test_a_move_says_why(is_gone: bool) -> None:
    world = World(workers=[up("west")] if is_gone else [lost("east", minutes=20), up("west")])
    world.place()

    step = world.next()

    assert isinstance(step, Record)
    expected = "there is no Worker east any more" if is_gone else "worker east is lost"
    assert step.why == expected


def test_what_was_earned_is_known_even_if_somebody_removed_the_record() -> None:
    world = World()
    world.place(attempt=2, base=Base(succeeded=2, failed=1))
    world.write({"metadata": {"annotations": {placement.ANNOTATION: None}}})

    step = world.next()

    assert isinstance(step, Record)
    assert step.placement.attempt == 2
    assert bases.read(step.placement.shards[0].base) == Base(succeeded=2, failed=1)


def test_a_workload_whose_mirror_was_deleted_fails_if_its_queue_says_so() -> None:
    world = World(policy={"fails_deleted": True}, is_live=False)
    world.place()
    world.write({"status": {"startTime": "2026-01-02T11:00:00Z", "ready": 1, "active": 1}})
    assert world.next() == ReadHub()
    world.is_live = True

    world.settle()

    assert world.hub is not None
    ended = end(world.hub["status"]) or {}
    assert (ended["reason"], ended["message"]) == (
        "MirrorDeleted",
        "Its mirror on worker east was deleted there",
    )


INDEXED: Obj = {"completionMode": "Indexed", "completions": 100_000, "parallelism": 2}
EVERY_SECOND = ",".join(map(str, range(0, 100_000, 2)))


def scattered(*workers: Worker) -> World:
    """An Indexed workload on east, of which every second index has ended."""
    world = World(hub_job(**INDEXED), workers=[*workers])
    world.place()
    indexes: Obj = {"completedIndexes": EVERY_SECOND, "succeeded": 50_000}
    world.mirror(active=2, ready=2, startTime="2026-01-02T11:00:00Z", **indexes)
    return world


def test_what_does_not_fit_into_annotations_is_stored_before_it_is_recorded() -> None:
    world = scattered(lost("east", minutes=20), up("west"))
    while isinstance(step := world.next(), WriteStatus):
        world.write(step.patch)

    assert isinstance(step, Store)
    world.keep(step)
    step = world.next()
    assert isinstance(step, Record)
    assert placement.fits(world.hub or {}, step.body)
    assert bases.read(step.placement.shards[0].base).succeeded == 50_000
    world.keep(step)
    assert world.settle() == Rest("runs on west")
    assert world.mirrors["west"]["spec"]["completions"] == 100_000


def test_so_it_is_stopped_by_a_drain() -> None:
    world = scattered(up("east", moves_away=True, refuses="drained"), up("west"))

    assert isinstance(world.settle(), EditMirror)


def crowded(*workers: Worker) -> World:
    """One that runs on east, and whose author leaves no room for another record on it."""
    world = scattered(*workers)
    assert world.hub is not None
    taken = len("".join(chain(*world.hub["metadata"]["annotations"].items())))
    applied = "kubectl.kubernetes.io/last-applied-configuration"
    room = placement.MOST_BYTES - taken - len(applied)
    world.write({"metadata": {"annotations": {applied: "-" * room}}})
    return world


def test_what_has_no_room_for_its_record_is_not_moved_and_says_so() -> None:
    step = crowded(lost("east", minutes=20), up("west")).settle()

    assert isinstance(step, Rest)
    assert [notice.reason for notice in step.notices] == ["RecordTooLarge"]
    assert "262144 bytes" in step.notices[0].message


def test_neither_is_it_stopped_by_a_drain() -> None:
    world = crowded(up("east", moves_away=True, refuses="drained"), up("west"))

    assert world.settle() == Rest("runs on east", notices=(TOO_LARGE,))


def test_what_has_no_room_any_more_once_it_was_stopped_goes_on() -> None:
    world = crowded(up("east", moves_away=True, refuses="drained"), up("west"))
    world.mirrors["east"]["metadata"]["annotations"][VACATING] = "Drained"

    step = world.settle()

    assert isinstance(step, EditMirror)
    assert step.patch["spec"] == {"suspend": False}


def test_what_would_fit_but_for_the_authors_own_annotations_is_not_placed() -> None:
    world = World()
    world.write({"metadata": {"annotations": {"example.com/much": "-" * 256 * 1023}}})

    assert isinstance(world.next(), Record)
    world.write({"metadata": {"annotations": {"example.com/more": "-" * 256}}})
    assert world.next() == Rest(
        "the record of its next placement is too large", notices=(TOO_LARGE,)
    )
