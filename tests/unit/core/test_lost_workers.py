import pytest

from jobferry.core import placement
from jobferry.core.steps import (
    ReadHub,
    Record,
    Rest,
    WriteStatus,
)
from jobferry.core.view import Worker
from jobferry.kinds.job import base as bases
from tests.unit.core.worlds import World, hub_job, lost, recorded, silent, up


class TestLostWorkers:
    def test_brief_drops_move_nothing(self) -> None:
        world = World(workers=[lost("east", minutes=1), up("west"), up("south")])
        world.place()

        step = world.next()

        assert isinstance(step, Rest)
        assert step.after == pytest.approx(14 * 60)

    def test_after_the_time_it_moves_with_what_it_earned(self) -> None:
        world = World(hub_job(completions=5), [lost("east", minutes=16), up("west")])
        world.place()
        world.mirror(active=1, succeeded=2, startTime="2026-01-02T11:00:00Z")
        world.is_live = False
        assert world.next() == ReadHub()
        world.is_live = True

        step = world.next()

        assert isinstance(step, Record)
        assert bases.read(step.placement.shards[0].base).succeeded == 2
        assert world.settle() == Rest("runs on west")

    def test_it_waits_for_ever_if_its_queue_says_so(self) -> None:
        world = World(
            workers=[lost("east", minutes=999), up("west")], policy={"lost_after": None}
        )
        world.place()

        assert isinstance(world.next(), Rest)

    def test_one_on_a_worker_that_is_silent_waits_whatever_its_queue_says(self) -> None:
        world = World(
            workers=[silent("east", seconds=6), up("west")], policy={"lost_after": 1.0}
        )
        world.place()

        assert isinstance(world.next(), Rest)

    @pytest.mark.parametrize(
        "east", [silent("east", seconds=6), lost("east", minutes=1), lost("east", minutes=0)]
    )
    def test_one_of_which_its_silent_worker_was_never_told_moves_at_once(
        self, east: Worker
    ) -> None:
        world = World(workers=[east, up("west")], policy={"lost_after": None})
        world.place()
        assert world.hub is not None
        world.untold = placement.read(world.hub)

        assert recorded(world) == ("west", 2)
        world.is_live = False
        assert world.next() == ReadHub()

    def test_one_of_which_it_was_told_before_is_not_taken_for_that(self) -> None:
        world = World(workers=[lost("east", minutes=1), up("west")])
        world.place(attempt=1)
        assert world.hub is not None
        world.untold = placement.read(world.hub)
        world.place(attempt=2)

        assert isinstance(world.next(), Rest)

    def test_if_most_are_lost_nothing_moves(self) -> None:
        world = World(workers=[lost("east", minutes=16), lost("west", minutes=16), up("south")])
        world.place()

        step = world.next()

        assert isinstance(step, Rest)
        assert "cut off" in step.why

    def test_one_with_nothing_left_to_do_is_ended_instead_of_moved(self) -> None:
        world = World(hub_job(backoffLimit=0), [lost("east", minutes=16), up("west")])
        world.place()
        world.mirror(failed=1, startTime="2026-01-02T11:00:00Z")

        step = world.next()

        assert isinstance(step, WriteStatus)
        assert step.end == "Failed"

    @pytest.mark.parametrize("workers", [[up("west")], [up("west"), up("east")]])
    def test_a_worker_that_is_no_more_or_another_cluster_by_now_has_lost_it(
        self, workers: list[object]
    ) -> None:
        world = World()
        world.place()
        assert world.hub is not None
        note = world.hub["metadata"]["annotations"]
        status = world.hub["status"]
        if len(workers) > 1:
            for text in (note, status["conditions"][0]):
                for key, value in text.items():
                    text[key] = str(value).replace("east-uid", "the-cluster-before")
        world.workers = workers  # type: ignore[assignment]

        step = world.next()

        assert isinstance(step, Record)
        assert step.placement.attempt == 2
