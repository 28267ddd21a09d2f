"""The record of a placement, on the workload itself or in an object beside it."""

from dataclasses import replace
from typing import Any

import pytest

from jobferry.core import adopt, placement, placement_object, records
from jobferry.core.kind import Earned
from jobferry.core.placement import Placement, Shard
from jobferry.core.placement_object import Content
from jobferry.core.steps import CreateMirror, Into, ReadHub, Record, Rest, Store
from jobferry.kinds.job import base as bases
from jobferry.kinds.job.adapter import JOB
from jobferry.kinds.job.base import Base
from jobferry.objects import Obj, merge_patch
from tests.unit.core.toys import TOY, toy
from tests.unit.core.worlds import World, hub_job, up

LARGE: Earned = f'{{"completedIndexes":"{"0," * 150_000}1"}}'
SMALL: Earned = '{"succeeded":3}'


def decision(base: Earned = "", attempt: int = 2, worker: str = "east") -> Placement:
    return Placement("uid-1", attempt, (Shard(worker, f"{worker}-uid", base),))


def toys(**facts: Any) -> World:
    return World(hub=toy(), kind=TOY, **facts)


def hub(world: World) -> Obj:
    assert world.hub is not None
    return world.hub


def write(world: World, decided: Placement) -> list[Record | Store]:
    """Write a record, in as many steps as that takes."""
    taken: list[Record | Store] = []
    while not any(isinstance(each, Record) for each in taken):
        step = records.write(world.view(), world.kind, hub(world), decided)
        assert step is not None
        world.keep(step)
        taken.append(step)
    return taken


def read(world: World) -> Placement | None:
    return records.read(world.kind, hub(world), world.record)


class TestObject:
    """What a workload cannot carry."""

    def test_it_is_one_write_that_a_second_dispatcher_loses(self) -> None:
        world = toys()

        [step] = write(world, decision())

        assert isinstance(step, Record)
        assert step.into is Into.NEW  # that there is one is a conflict
        assert read(world) == decision()

    def test_it_is_named_after_the_workload_and_owned_by_it(self) -> None:
        world = toys()
        write(world, decision(SMALL))

        assert world.record == {
            "apiVersion": "jobferry.io/v1alpha1",
            "kind": "Placement",
            "metadata": {
                "name": "uid-1",
                "namespace": "ns",
                "resourceVersion": "1",
                "ownerReferences": [
                    {
                        "apiVersion": "toys.example.com/v1",
                        "kind": "Toy",
                        "name": "a",
                        "uid": "uid-1",
                        "controller": False,
                        "blockOwnerDeletion": False,
                    }
                ],
            },
            "spec": {
                "workload": {
                    "apiVersion": "toys.example.com/v1",
                    "kind": "Toy",
                    "name": "a",
                    "uid": "uid-1",
                },
                "attempt": 2,
                "shards": [{"worker": "east", "cluster": "east-uid", "base": SMALL}],
            },
        }

    def test_the_next_one_is_guarded_by_the_version_it_was_decided_on(self) -> None:
        world = toys()
        write(world, decision())

        [step] = write(world, decision(SMALL, attempt=3, worker="west"))

        assert step.into is Into.OBJECT
        assert step.body["metadata"]["resourceVersion"] == "1"
        assert world.record is not None
        assert "before" not in world.record["spec"]
        assert read(world) == decision(SMALL, attempt=3, worker="west")

    def test_what_the_last_attempt_had_is_gone_from_the_next(self) -> None:
        world = toys()
        write(world, replace(decision(SMALL), shards=(Shard("east", "e", SMALL, "Drained"),)))

        write(world, decision(attempt=3))

        assert read(world) == decision(attempt=3)

    @pytest.mark.parametrize(
        "forged",
        [
            {"metadata": {"namespace": "other"}},
            {"metadata": {"name": "uid-2"}},
            {"spec": {"workload": {"uid": "uid-2"}}},
            {"spec": {"workload": None}},
            {"spec": {"shards": None}},
            {"spec": {"shards": []}},
            {"spec": {"shards": [{"cluster": "east-uid"}]}},
            {"spec": {"shards": ["east"]}},
            {"spec": {"attempt": None}},
            {"spec": {"attempt": "many"}},
            {"spec": None},
        ],
    )
    def test_one_of_another_workload_or_of_none_does_not_count(self, forged: Obj) -> None:
        world = toys()
        write(world, decision())

        record = merge_patch.apply(world.record, forged)

        assert records.read(TOY, hub(world), record) is None
        assert records.last_attempt(TOY, hub(world), record) == 0

    def test_one_that_says_nonsense_is_written_over(self) -> None:
        world = toys()
        write(world, decision())
        world.record = merge_patch.apply(world.record, {"spec": {"workload": {"uid": "uid-2"}}})

        [step] = write(world, decision())

        assert step.into is Into.OBJECT
        assert read(world) == decision()

    def test_whatever_is_on_the_workload_changes_nothing(self) -> None:
        world = toys()
        world.write(
            placement.patch(hub(world), decision(SMALL, worker="west"), world.view().now)
        )
        assert read(world) is None

        write(world, decision(attempt=1))

        assert read(world) == decision(attempt=1)
        assert records.last_attempt(TOY, hub(world), world.record) == 1

    def test_it_is_read_with_the_workload(self) -> None:
        assert records.has_object(TOY, toy())
        assert not records.has_object(JOB, hub_job())


class TestTooLarge:
    """What a workload that carries its record has no room for."""

    def test_it_is_stored_first_and_one_write_decides(self) -> None:
        world = World()

        store, record = write(world, decision(LARGE))

        assert (type(store), store.into) == (Store, Into.NEW)
        assert (type(record), record.into) == (Record, Into.STATUS)
        assert isinstance(record, Record)
        assert record.placement == decision(LARGE)
        assert read(world) == decision(LARGE)
        assert records.has_object(JOB, hub(world))

    def test_nothing_is_placed_as_long_as_it_is_only_stored(self) -> None:
        world = World()
        step = records.write(world.view(), JOB, hub(world), decision(LARGE))
        assert isinstance(step, Store)
        world.keep(step)

        assert read(world) is None
        assert records.last_attempt(JOB, hub(world), world.record) == 0

    def test_what_is_stored_does_not_hang_on_the_second_it_is_recorded_in(self) -> None:
        world = World()
        step = records.write(world.view(), JOB, hub(world), decision(LARGE))
        assert isinstance(step, Store)
        world.keep(step)
        later = decision(f'{LARGE[:-1]},"seconds":1}}')

        [record] = write(world, later)

        assert isinstance(record, Record)
        assert record.placement == decision(LARGE)

    def test_but_is_stored_anew_for_a_workload_that_has_changed(self) -> None:
        world = World()
        step = records.write(world.view(), JOB, hub(world), decision(LARGE))
        assert isinstance(step, Store)
        world.keep(step)
        world.write({"metadata": {"resourceVersion": "2"}})
        later = decision(f'{LARGE[:-1]},"seconds":1}}')

        store, _ = write(world, later)

        assert store.into is Into.OBJECT
        assert read(world) == later

    def test_a_small_record_takes_no_notice_of_what_was_stored(self) -> None:
        world = World()
        write(world, decision(LARGE))

        [step] = write(world, decision(SMALL, attempt=3))

        assert step.into is Into.STATUS
        assert read(world) == decision(SMALL, attempt=3)

    def test_what_is_stored_for_the_next_leaves_what_counts_until_then(self) -> None:
        world = World()
        write(world, decision(LARGE))
        larger = decision(LARGE.replace("1", "2"), attempt=3, worker="west")

        step = records.write(world.view(), JOB, hub(world), larger)

        assert isinstance(step, Store)
        world.keep(step)
        assert read(world) == decision(LARGE)
        write(world, larger)
        assert read(world) == larger

    def test_an_annotation_that_was_lost_is_written_again(self) -> None:
        world = World()
        write(world, decision(LARGE))
        world.write({"metadata": {"annotations": {placement.ANNOTATION: None}}})
        assert read(world) is None

        step = world.next()

        assert isinstance(step, Record)
        assert step.placement == decision(LARGE)
        world.keep(step)
        assert read(world) == decision(LARGE)

    def test_what_is_stored_counts_only_as_it_was_recorded(self) -> None:
        world = World()
        write(world, decision(LARGE))
        other = placement_object.new(JOB, hub(world), Content(decision(SMALL, worker="west")))

        for record in (None, other):
            known = records.read(JOB, hub(world), record)

            assert known is not None
            assert (known.attempt, known.shards[0].worker) == (2, "east")
            assert records.is_torn(known)
            assert bases.read(known.shards[0].base) == Base()


class TestTorn:
    """Somebody deleted the object that knew what was earned."""

    def world(self) -> World:
        world = World(hub_job(backoffLimit=6, completions=5), workers=[up("east"), up("west")])
        write(world, decision(LARGE))
        world.record = None
        return world

    def test_the_mirror_tells(self) -> None:
        world = self.world()
        world.mirror(attempt=2, active=1, ready=1)
        earned = bases.write(Base(succeeded=3, failed=2))
        made = JOB.mirror(hub(world), world.view().marks("east", "uid-1", 2), earned)
        world.mirrors["east"] |= {"spec": made["spec"]}
        world.mirrors["east"]["metadata"] |= {"annotations": made["metadata"]["annotations"]}
        world.is_live = False
        assert world.next() == ReadHub()
        world.is_live = True

        step = world.next()

        assert isinstance(step, Record)
        assert step.why == adopt.MENDED
        assert step.placement.attempt == 2
        assert bases.read(step.placement.shards[0].base) == Base(succeeded=3, failed=2)
        world.keep(step)
        assert world.settle() == Rest("runs on east")

    def test_else_the_hub_does(self) -> None:
        world = self.world()
        world.write({"status": {"succeeded": 3, "failed": 2}})

        step = world.next()

        assert isinstance(step, Record)
        assert step.placement.attempt == 3
        assert bases.read(step.placement.shards[0].base) == Base(succeeded=3, failed=2)

    def test_where_nothing_was_shown_there_is_nothing_to_know(self) -> None:
        assert isinstance(self.world().next(), CreateMirror)


class TestOlderVersions:
    """Records that are on hubs."""

    NOTE = (
        '{"format":1,"uid":"uid-1","attempt":2,"shards":[{"worker":"east","cluster":"east-uid",'
        '"base":{"succeeded":2,"failed":1,"completedIndexes":"0,2","seconds":30}}]}'
    )
    FIRST = (
        '{"format":1,"uid":"uid-1","attempt":1,"shards":[{"worker":"east","cluster":"east-uid",'
        '"base":{}}]}'
    )
    SAID = (
        "attempt 2 on east (east-uid) after"
        ' {"succeeded":2,"failed":1,"completedIndexes":"0,2","seconds":30}'
    )
    EARNED = '{"succeeded":2,"failed":1,"completedIndexes":"0,2","seconds":30}'

    def test_they_are_understood(self) -> None:
        condition = {"type": "Placed", "status": "True", "message": self.SAID}
        job = merge_patch.apply(
            hub_job(),
            {
                "metadata": {"annotations": {placement.ANNOTATION: self.NOTE}},
                "status": {"conditions": [condition]},
            },
        )

        assert records.read(JOB, job, None) == decision(self.EARNED)

    def test_the_same_is_written(self) -> None:
        [step] = write(World(), decision(self.EARNED))
        [first] = write(World(), decision(attempt=1))

        assert step.body["metadata"]["annotations"] == {placement.ANNOTATION: self.NOTE}
        assert step.body["status"]["conditions"][0]["message"] == self.SAID
        assert first.body["metadata"]["annotations"] == {placement.ANNOTATION: self.FIRST}
