"""The core decides about workloads of any kind: here of one that has nothing in common with Jobs."""

import ast
from pathlib import Path

import pytest

from jobferry import core
from jobferry.core import placement_object, records
from jobferry.core.decide import ASK_EVERY
from jobferry.core.placement import Placement, Shard
from jobferry.core.steps import (
    CreateMirror,
    DeleteMirror,
    DeleteRecord,
    EditMirror,
    Into,
    Notice,
    ReadHub,
    ReadKind,
    Record,
    Rest,
    WriteStatus,
)
from jobferry.objects import Obj, merge_patch
from jobferry.objects.quantities import parse
from tests.unit.core.toy_worlds import running, toys
from tests.unit.core.toys import TOY, toy
from tests.unit.core.worlds import World, lost, recorded, up


def test_a_toy_goes_its_whole_way() -> None:
    world = toys()
    first = world.next()
    assert isinstance(first, Record)
    assert first.into is Into.NEW
    world.keep(first)

    made = world.next()
    assert isinstance(made, CreateMirror)
    assert made.obj["plan"] == {"size": 3, "after": 0}
    world.mirrors[made.worker] = made.obj
    assert world.settle() == Rest("runs on east")

    world.mirrors["east"]["status"] = {"phase": "Done", "turns": 4}
    last = world.next()
    assert isinstance(last, WriteStatus)
    assert last.end == "Done"
    world.write(last.patch)
    assert world.settle() == Rest("finished")


def test_its_edits_are_forwarded() -> None:
    world = running()
    world.write({"plan": {"size": 5}})

    step = world.settle()

    assert isinstance(step, EditMirror)
    assert step.patch == {"plan": {"size": 5, "after": 0}}


def test_one_that_is_to_wait_is_not_placed() -> None:
    assert toys(hub=toy(hold=True)).settle() == Rest("suspended before it was placed")


def test_one_that_can_run_nowhere_is_not_placed_and_says_why() -> None:
    why = "it is too large for any cluster"

    assert toys(hub=toy(size=100)).settle() == Rest(why, notices=(Notice("NotSupported", why),))


def test_it_needs_what_its_kind_says() -> None:
    small, large = (
        up(name, capacity={"cpu": parse(cpu)}) for name, cpu in (("east", "2"), ("west", "3"))
    )

    assert recorded(toys(workers=[small, large])) == ("west", 1)


def test_one_that_nobody_takes_fails_as_its_kind_does() -> None:
    world = toys(workers=[up("east", refuses="full")], policy={"give_up_after": 60.0})

    world.settle()

    assert world.hub is not None
    assert world.hub["status"]["phase"] == "Broken"
    assert world.hub["status"]["why"].startswith("NoWorker: ")


def test_one_whose_worker_is_lost_moves_with_what_it_earned() -> None:
    world = running(workers=[lost("east", minutes=20), up("west")])

    step = world.next()

    assert isinstance(step, Record)
    assert step.into is Into.OBJECT
    assert step.placement == Placement("uid-1", 2, (Shard("west", "west-uid", '{"turns":2}'),))
    world.keep(step)
    made = world.next()
    assert isinstance(made, CreateMirror)
    assert made.obj["plan"]["after"] == 2


def test_one_with_nothing_left_to_do_ends_instead() -> None:
    world = running(hub=toy(turns=2), workers=[lost("east", minutes=20), up("west")])

    step = world.next()

    assert isinstance(step, WriteStatus)
    assert step.end == "Done"


def test_one_whose_record_was_lost_is_found_again() -> None:
    world = running()
    world.mirrors["east"]["plan"]["after"] = 7
    world.mirrors["east"]["metadata"]["labels"]["jobferry.io/attempt"] = "2"
    world.record = None

    step = world.next()

    assert isinstance(step, Record)
    assert step.into is Into.NEW
    assert step.placement.attempt == 2
    assert step.placement.shards[0].base == '{"turns":7}'


class TestWorkersThatLackAKind:
    def test_one_is_no_candidate_and_says_why(self) -> None:
        lacking = up("east", kinds=frozenset({"Job.batch"}))

        assert recorded(toys(workers=[lacking, up("west", kinds=frozenset({TOY.name}))])) == (
            "west",
            1,
        )
        assert toys(workers=[lacking]).settle() == Rest(
            "no worker can take it: east: does not serve Toy.toys.example.com",
            notices=(
                Notice(
                    "NoWorker",
                    "No worker can take it: east: does not serve Toy.toys.example.com",
                ),
            ),
        )

    def test_one_that_serves_it_but_does_not_show_it_says_that(self) -> None:
        blind = up("east", kinds=frozenset({"Job.batch"}), hidden={TOY.name: "no rights"})
        why = "does not show us Toy.toys.example.com: no rights"

        step = toys(workers=[blind]).settle()
        assert isinstance(step, Rest)
        assert step.why == f"no worker can take it: east: {why}"

        world = running()
        world.workers = [blind, up("west")]
        step = world.next()
        assert isinstance(step, Rest)
        assert step.why == f"Worker east {why}; how it fares there is not known"

    def test_where_nobody_knows_it_is_tried(self) -> None:
        assert recorded(toys(workers=[up("east")])) == ("east", 1)

    def test_jobs_go_there_all_the_same(self) -> None:
        lacking = up("east", kinds=frozenset({"Job.batch"}))

        assert recorded(World(workers=[lacking])) == ("east", 1)

    def test_what_runs_where_its_kind_is_not_seen_any_more_is_neither_made_nor_moved(
        self,
    ) -> None:
        for world in unserved(lost=False), unserved(hidden={TOY.name: "we have no rights"}):
            step = world.next()

            assert isinstance(step, Rest)
            assert step.after == ASK_EVERY
            assert [notice.reason for notice in step.notices] == ["KindNotServed"]

    def test_that_it_has_gone_with_its_kind_is_asked_of_its_worker(self) -> None:
        step = unserved().next()

        assert isinstance(step, ReadKind)
        assert step.marks.worker == "east"

    def test_what_has_gone_with_its_kind_is_placed_elsewhere(self) -> None:
        assert recorded(unserved(lost=True)) == ("west", 2)

    def test_or_fails_if_what_was_deleted_on_its_worker_does(self) -> None:
        world = unserved(lost=True)
        world.policy = {"fails_deleted": True}

        step = world.next()

        assert isinstance(step, WriteStatus)
        assert step.end == "Broken"

    def test_what_never_ran_there_is_placed_elsewhere_whatever_the_queue_says(self) -> None:
        world = toys(policy={"fails_deleted": True}, lost_kinds={"east": True})
        world.place()
        world.workers = [up("east", kinds=frozenset()), up("west")]

        step = world.next()

        assert isinstance(step, Record)
        assert step.placement.shards[0].worker == "west"
        assert step.why == "worker east does not serve Toy.toys.example.com any more"


def unserved(*, lost: bool | None = None, hidden: dict[str, str] | None = None) -> World:
    """A toy that ran on a worker which does not serve toys; `lost` is what it said when it was asked."""
    world = running()
    world.mirrors.clear()
    world.workers = [up("east", kinds=frozenset(), hidden=hidden or {}), up("west")]
    world.lost_kinds = {} if lost is None else {"east": lost}
    return world


class TestOfRecordsThatNobodyOwns:
    def test_what_a_workload_left_behind_is_deleted(self) -> None:
        for world in toys(hub=None), toys(hub=toy("uid-2", hold=True)):
            world.ownerless = (left := record_of("uid-1"),)

            assert world.next() == DeleteRecord(left)

    def test_but_not_on_the_word_of_a_cache(self) -> None:
        world = toys(hub=None, is_live=False, ownerless=(record_of("uid-1"),))

        assert world.next() == ReadHub()

    def test_what_is_of_a_workload_that_is_there_stays(self) -> None:
        claimed = toys(hub=toy(hold=True), ownerless=(record_of("uid-1"),))
        unclaimed = toys(hub=None, unclaimed="uid-1", ownerless=(record_of("uid-1"),))

        assert isinstance(claimed.next(), Rest)
        assert isinstance(unclaimed.next(), Rest)

    def test_its_mirrors_go_first(self) -> None:
        world = running()
        world.hub, world.ownerless = None, (record_of("uid-1"),)

        assert isinstance(world.next(), DeleteMirror)


def record_of(uid: str) -> Obj:
    return {"metadata": {"name": uid, "namespace": "ns", "uid": f"record-of-{uid}"}}


# -- that nothing of a kind is in the core --------------------------------------------------------------

OF_JOBS = {
    "active",
    "activeDeadlineSeconds",
    "backoffLimit",
    "batch",
    "batch/v1",
    "Complete",
    "completedIndexes",
    "completions",
    "completionTime",
    "Failed",
    "failed",
    "failedIndexes",
    "FailureTarget",
    "Job",
    "jobs",
    "managedBy",
    "parallelism",
    "ready",
    "startTime",
    "succeeded",
    "SuccessCriteriaMet",
    "suspend",
    "Suspended",
    "template",
    "terminating",
    "uncountedTerminatedPods",
}
SOURCES = sorted(Path(next(iter(core.__path__))).glob("*.py"))


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_the_core_names_nothing_of_jobs(source: Path) -> None:
    """What it imports is import-linter's business; this is about what it spells out."""
    tree = ast.parse(source.read_text())
    texts = {each.value for each in ast.walk(tree) if isinstance(each, ast.Constant)}

    assert not texts & OF_JOBS


def test_what_names_something_of_jobs_would_be_found() -> None:
    tree = ast.parse('hub["spec"].get("suspend")')
    texts = {each.value for each in ast.walk(tree) if isinstance(each, ast.Constant)}

    assert texts & OF_JOBS


def test_the_record_of_a_toy_is_its_own_object() -> None:
    world = toys()
    world.place()

    assert world.hub is not None
    assert records.read(TOY, world.hub, world.record) == placement_object.read(
        world.hub, world.record
    )
    assert "annotations" not in world.hub["metadata"]


class TestAHubThatKeepsNotAllOfAStatus:
    """Its CRD is older than that of the worker, say."""

    def written_in_vain(self) -> World:
        world = running()
        world.mirrors["east"]["status"] = {"phase": "Running", "turns": 3}
        step = world.next()
        assert isinstance(step, WriteStatus)
        world.vain = step.patch
        return world

    def test_is_not_told_the_same_again(self) -> None:
        step = self.written_in_vain().settle()

        assert isinstance(step, Rest)
        assert [each.reason for each in step.notices] == ["StatusNotKept"]
        assert "turns" in step.notices[0].message

    def test_is_told_what_is_new(self) -> None:
        world = self.written_in_vain()

        world.mirrors["east"]["status"] = {"phase": "Done", "turns": 4}

        assert isinstance(world.next(), WriteStatus)

    def test_keeps_no_edit_from_being_forwarded(self) -> None:
        world = self.written_in_vain()
        world.hub = merge_patch.apply(world.hub or {}, {"plan": {"size": 5}})

        assert isinstance(world.next(), EditMirror)
