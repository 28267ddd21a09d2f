from datetime import timedelta

from jobferry.core.steps import DeleteMirror, EditMirror, Rest
from jobferry.objects import Obj
from jobferry.objects.times import timestamp
from tests.unit.core.worlds import NOW, World, condition, hub_job, up


def suspended(mirror: Obj, patch: Obj, active: int = 0) -> Obj:
    metadata = {**mirror["metadata"], "annotations": patch["metadata"]["annotations"]}
    metadata["annotations"] |= {
        k: v
        for k, v in mirror["metadata"]["annotations"].items()
        if k not in metadata["annotations"]
    }
    status = {**mirror["status"], "active": active, "conditions": [condition("Suspended")]}
    return {
        **mirror,
        "metadata": metadata,
        "spec": {**mirror["spec"], "suspend": True},
        "status": status,
    }


class TestDrain:
    def test_a_drained_worker_is_vacated_without_overlap(self) -> None:
        world = World(workers=[up("east", moves_away=True, refuses="drained"), up("west")])
        world.place()
        world.mirror(active=1, startTime="2026-01-02T11:00:00Z")
        stop = world.settle()
        assert isinstance(stop, EditMirror)
        assert stop.patch["spec"] == {"suspend": True}

        world.mirrors["east"] = suspended(world.mirrors["east"], stop.patch, active=1)
        assert "waits until its pods have ended" in str(world.settle())
        world.mirrors["east"] = suspended(world.mirrors["east"], stop.patch)
        assert isinstance(world.settle(), DeleteMirror)
        del world.mirrors["east"]

        assert world.settle() == Rest("runs on west")

    def test_a_worker_that_counts_late_is_given_time_to_count(self) -> None:
        drained = up("east", moves_away=True, refuses="drained", counts_late=True)
        world = World(workers=[drained, up("west")])
        world.place()
        world.mirror(active=1, startTime="2026-01-02T11:00:00Z")
        stop = world.settle()
        assert isinstance(stop, EditMirror)
        world.mirrors["east"] = suspended(world.mirrors["east"], stop.patch)
        [since] = world.mirrors["east"]["status"]["conditions"]

        since["lastTransitionTime"] = timestamp(NOW - timedelta(seconds=4))
        assert world.settle() == Rest(
            "leaves east: not all of its pods may be counted yet", 1.0
        )
        since["lastTransitionTime"] = timestamp(NOW - timedelta(seconds=5))
        assert isinstance(world.settle(), DeleteMirror)

    def test_a_drain_that_is_called_off_lets_it_go_on(self) -> None:
        world = World(workers=[up("east", moves_away=True, refuses="drained"), up("west")])
        world.place()
        world.mirror(active=1)
        stop = world.settle()
        assert isinstance(stop, EditMirror)
        world.mirrors["east"] = suspended(world.mirrors["east"], stop.patch)
        world.workers = [up("east"), up("west")]

        step = world.settle()

        assert isinstance(step, EditMirror)
        assert step.patch["spec"] == {"suspend": False}

    def test_one_that_goes_on_has_its_deadline_anew(self) -> None:
        """Though the old one has passed: else it would fail before it is resumed."""
        world = World(hub_job(activeDeadlineSeconds=600))
        world.workers = [up("east", moves_away=True, refuses="drained"), up("west")]
        world.place()
        world.mirror(active=1, startTime="2026-01-02T11:00:00Z")  # an hour ago
        world.edit(world.settle(), active=1)
        assert "waits until its pods have ended" in str(world.settle())
        world.workers = [up("east"), up("west")]

        world.edit(world.settle())
        mirror = world.mirrors["east"]
        assert mirror["spec"]["suspend"] is False
        assert mirror["spec"]["activeDeadlineSeconds"] > 3600
        assert world.settle() == Rest("runs on east")  # it is not told as a change of others

        mirror["status"] = {"active": 1, "ready": 1, "startTime": timestamp(NOW)}
        world.edit(world.settle())
        assert world.mirrors["east"]["spec"]["activeDeadlineSeconds"] == 600
        assert world.settle() == Rest("runs on east")

    def test_one_that_is_just_being_resumed_is_not_stopped_before_that_is_said(self) -> None:
        """What its status says is of the time before: its pods may be made this very moment."""
        drained = [up("east", moves_away=True, refuses="drained"), up("west")]
        world = World(workers=drained)
        world.place()
        world.mirror(active=1, startTime="2026-01-02T11:00:00Z")
        world.edit(world.settle(), active=1)
        world.workers = [up("east"), up("west")]
        world.edit(world.settle(), active=0)
        world.workers = drained

        step = world.settle()

        assert isinstance(step, Rest)
        assert "waits until it is said there that it was resumed" in step.why
        world.mirrors["east"]["status"] = {"active": 1, "startTime": timestamp(NOW)}
        assert isinstance(world.settle(), EditMirror)

    def test_without_another_worker_it_stays(self) -> None:
        world = World(workers=[up("east", moves_away=True, refuses="drained")])
        world.place()
        world.mirror(active=1)

        assert world.settle() == Rest("runs on east")


class TestRemoval:
    """Of a Worker that can be reached; one that cannot is lost."""

    LEAVING = (up("east", is_being_removed=True, refuses="it is being removed"), up("west"))

    def test_what_runs_there_leaves_as_by_a_drain(self) -> None:
        world = World(workers=[*self.LEAVING])
        world.place()
        world.mirror(active=1, startTime="2026-01-02T11:00:00Z")

        stop = world.settle()

        assert isinstance(stop, EditMirror)
        assert stop.patch["spec"] == {"suspend": True}

    def test_it_is_waited_for_if_the_queue_says_so(self) -> None:
        world = World(workers=[*self.LEAVING], policy={"lost_after": None})
        world.place()
        world.mirror(active=1, ready=1, startTime="2026-01-02T11:00:00Z")

        assert world.settle() == Rest("runs on east")

    def test_what_was_never_there_goes_elsewhere_whatever_the_queue_says(self) -> None:
        world = World(workers=[*self.LEAVING], policy={"lost_after": None})
        world.place()

        assert world.settle() == Rest("runs on west")
