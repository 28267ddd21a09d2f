from typing import Any

import pytest

from jobferry.core.marks import Marks, Verdict
from jobferry.core.steps import EditMirror, Notice, Record, Rest, WriteStatus
from jobferry.objects import Obj, merge_patch
from tests.unit.core.worlds import World, condition, up

LONG_AGO = "2026-01-02T11:00:00Z"
MOVES = {"moves_unstarted": True, "start_within": 60.0}


def stuck(**policy: Any) -> World:
    """A workload whose mirror has a pod that was never ready, an hour after it was started."""
    world = World(policy=policy)
    world.place()
    world.mirror(active=1, startTime=LONG_AGO)
    return world


def patched(mirror: Obj, step: EditMirror, **status: Any) -> Obj:
    """The mirror after an edit, as its worker then has it."""
    edited: Obj = merge_patch.apply(mirror, step.patch)
    return {**edited, "status": status}


def test_people_are_told_of_a_mirror_that_does_not_start() -> None:
    step = stuck().settle()

    message = "None of its pods became ready on worker east within 600 s"
    assert step == Rest("runs on east", None, (Notice("NotStarted", message),))


@pytest.mark.parametrize(
    ("policy", "left"), [({"start_within": 5400.0}, 1800.0), ({"start_within": None}, None)]
)
def test_nobody_is_told_before_its_time(policy: Obj, left: float | None) -> None:
    assert stuck(**policy).settle() == Rest("runs on east", left)


def test_a_mirror_that_does_not_start_is_stopped_and_placed_elsewhere() -> None:
    world = stuck(**MOVES)
    stop = world.settle()
    assert isinstance(stop, EditMirror)
    assert stop.patch["spec"] == {"suspend": True}
    stopped = [condition("Suspended")]
    world.mirrors["east"] = patched(world.mirrors["east"], stop, active=1, conditions=stopped)
    assert "waits until its pods have ended" in str(world.settle())

    world.mirrors["east"] = patched(world.mirrors["east"], stop, conditions=stopped)
    while isinstance(step := world.next(), WriteStatus):
        world.write(step.patch)

    assert isinstance(step, Record)
    assert [shard.worker for shard in step.placement.shards] == ["west"]
    assert step.why == "nothing of it ran on worker east"


def test_a_mirror_that_does_not_start_stays_where_no_other_worker_can_take_it() -> None:
    world = stuck(**MOVES)
    world.workers = [up("east"), up("west", refuses="it is drained")]

    assert "runs on east" in str(world.settle())


def test_a_mirror_that_was_to_leave_goes_on_if_the_other_worker_went() -> None:
    world = stuck(**MOVES)
    stop = world.settle()
    assert isinstance(stop, EditMirror)
    world.mirrors["east"] = patched(
        world.mirrors["east"], stop, conditions=[condition("Suspended")]
    )
    world.workers = [up("east")]

    step = world.settle()

    assert isinstance(step, EditMirror)
    assert step.patch["spec"] == {"suspend": False}


def test_people_are_told_what_somebody_changed_on_the_worker() -> None:
    world = World()
    world.place()
    world.mirror(active=1, ready=1)
    world.mirrors["east"] = merge_patch.apply(
        world.mirrors["east"], {"spec": {"parallelism": 5}}
    )

    message = "Changed on worker east, and left so: /spec/parallelism: nothing became 5"
    assert world.settle() == Rest("runs on east", None, (Notice("ChangedOnWorker", message),))


def test_people_are_told_what_cannot_be_forwarded() -> None:
    world = World()
    world.place()
    world.mirror(active=1, ready=1)
    pod = {"spec": {"nodeSelector": {"disk": "ssd"}}}
    world.write({"metadata": {"generation": 2}, "spec": {"template": pod}})

    step = world.settle()

    assert isinstance(step, Rest)
    assert [notice.reason for notice in step.notices] == ["NotForwarded"]
    assert "/spec/template/spec/nodeSelector/disk" in step.notices[0].message


def test_a_mirror_that_counts_is_judged_once_in_each_decision(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World()
    world.place()
    world.mirror(active=1, ready=1, startTime=LONG_AGO)
    world.settle()
    judged = []
    judge = Marks.judge

    def count(marks: Marks, obj: Obj) -> Verdict:
        judged.append(obj)
        return judge(marks, obj)

    monkeypatch.setattr(Marks, "judge", count)
    assert world.settle() == Rest("runs on east")
    assert len(judged) == 1
